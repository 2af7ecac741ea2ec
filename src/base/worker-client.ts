import { Worker } from 'node:worker_threads'

/** What a thread may take. */
export interface ThreadLimits {
  /** For one answer, from when it is its turn. */
  readonly deadlineMs: number
  readonly heapMb: number
  /** Questions that wait; one more is not answered. */
  readonly waiting: number
  /** It is ended when nobody has asked for so long. */
  readonly idleMs?: number
}

/**
 * A thread for work that others decide the length of: it answers one question after another, and is ended when it takes too
 * long over one. It is started when it is first asked, and ends when nobody has asked for a while.
 */
export class SideThread<Question, Answer> implements AsyncDisposable {
  readonly #script: URL
  readonly #limits: ThreadLimits
  readonly #waiting: Waiting<Question, Answer>[] = []
  #worker: Worker | undefined
  #current: Waiting<Question, Answer> | undefined
  #timer: NodeJS.Timeout | undefined
  #isEnded = false

  constructor(script: URL, limits: ThreadLimits) {
    this.#script = script
    this.#limits = limits
  }

  /** Undefined where there is no answer: it took too long or too much, or too many were waiting. */
  async ask(question: Question): Promise<Answer | undefined> {
    const end = await this.put(question)
    return end.kind === 'answered' ? end.answer : undefined
  }

  /** The same, and why there is no answer where there is none. */
  async put(question: Question): Promise<End<Answer>> {
    if (this.#isEnded || this.#waiting.length >= this.#limits.waiting) return { kind: 'not-begun' }
    const { promise, resolve } = Promise.withResolvers<End<Answer>>()
    this.#waiting.push({ question, resolve })
    this.#next()
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: 'not-begun' })
    const worker = this.#worker
    this.#end()
    await worker?.terminate()
  }

  #next(): void {
    if (this.#current !== undefined) return
    this.#current = this.#waiting.shift()
    clearTimeout(this.#timer)
    if (this.#current === undefined) {
      this.#timer = setTimeout(() => this.#stop(), this.#limits.idleMs ?? IDLE_MS).unref()
      return
    }
    this.#worker ??= this.#startIfItCan()
    if (this.#worker === undefined) return this.#answered({ kind: 'not-begun' })
    this.#timer = setTimeout(() => this.#stop(), this.#limits.deadlineMs).unref()
    this.#worker.postMessage(this.#current.question, [])
  }

  /** Without a descriptor left, say, the system starts none: there is no answer, and the next question tries again. */
  #startIfItCan(): Worker | undefined {
    try {
      return this.#start()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED') return undefined
      throw error
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#script, {
      name: 'side',
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMb },
    })
    // It keeps no process alive: who waits for an answer does.
    worker.unref()
    worker.on('message', (answer: Answer) => {
      if (worker === this.#worker) this.#answered({ kind: 'answered', answer })
    })
    // It ran out of memory, or its script has a fault: nobody is given an answer, and the next one starts it anew.
    worker.on('error', () => {})
    worker.on('exit', () => {
      if (worker === this.#worker) this.#end()
    })
    return worker
  }

  #stop(): void {
    const worker = this.#worker
    this.#end()
    void worker?.terminate()
  }

  #end(): void {
    this.#worker = undefined
    this.#answered({ kind: 'unanswered' })
  }

  #answered(end: End<Answer>): void {
    clearTimeout(this.#timer)
    const current = this.#current
    this.#current = undefined
    current?.resolve(end)
    if (this.#worker !== undefined || this.#waiting.length > 0) this.#next()
  }
}

/** Starting one takes longer than most answers. */
const IDLE_MS = 30_000

/** `unanswered`: it took too long, or too much. `not-begun`: too many were waiting, or the system starts no thread. */
type End<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'unanswered' | 'not-begun' }

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly resolve: (end: End<Answer>) => void
}
