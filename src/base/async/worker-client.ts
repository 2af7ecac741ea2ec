import { Worker } from 'node:worker_threads'

/** The limits of a thread. */
export interface ThreadLimits {
  /** Time limit for one answer, from its turn. */
  readonly deadlineMs: number
  readonly heapMb: number
  /** Limit of waiting questions; a further one gets no answer. */
  readonly waiting: number
  /** The thread ends after this time without questions. */
  readonly idleMs?: number
}

/**
 * A thread for work whose duration foreign content controls. It answers one question after another, and is terminated
 * if one takes too long. It starts with the first question, and ends after a period without any.
 */
export class WorkerClient<Question, Answer> implements AsyncDisposable {
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

  /** Returns the answer; `undefined` if it took too long or too much memory, or if too many questions were waiting. */
  async ask(question: Question): Promise<Answer | undefined> {
    const end = await this.put(question)
    return end.kind === 'answered' ? end.answer : undefined
  }

  /** Works like `ask`, with the reason if there is no answer. */
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
    if (this.#worker === undefined) return this.#settle({ kind: 'not-begun' })
    this.#timer = setTimeout(() => this.#stop(), this.#limits.deadlineMs).unref()
    this.#worker.postMessage(this.#current.question, [])
  }

  /**
   * The system cannot start a thread, for example without free file descriptors. Then there is no answer, and the next
   * question tries again.
   */
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
    // The thread does not keep the process alive; callers that wait for an answer do.
    worker.unref()
    worker.on('message', (answer: Answer) => {
      if (worker === this.#worker) this.#settle({ kind: 'answered', answer })
    })
    // The thread ran out of memory, or its script failed. The question gets no answer, and the next one starts a new
    // thread.
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
    this.#settle({ kind: 'unanswered' })
  }

  #settle(end: End<Answer>): void {
    clearTimeout(this.#timer)
    const current = this.#current
    this.#current = undefined
    current?.resolve(end)
    if (this.#worker !== undefined || this.#waiting.length > 0) this.#next()
  }
}

/** Starting a thread takes longer than most answers. */
const IDLE_MS = 30_000

/**
 * `unanswered`: it took too long or too much memory. `not-begun`: too many questions were waiting, or the system cannot
 * start a thread.
 */
type End<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'unanswered' | 'not-begun' }

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly resolve: (end: End<Answer>) => void
}
