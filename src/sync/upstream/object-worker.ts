import type { Worker } from 'node:worker_threads'
import type { ChildGroup } from './child-group.ts'
import { SyncError } from '../model/sync-error.ts'
import { startThread, THREAD_HEAP_MB, type FetchThreads } from './fetch-threads.ts'
import { errorOf, type WorkerAnswer, type WorkerRequest, type WorkerTask } from './git-messages.ts'

type AnswerTo<Kind extends WorkerRequest['kind']> = Extract<WorkerAnswer, { kind: (typeof ANSWERS)[Kind] }>

/** The thread of one fetch, seen from outside. It answers one request after another; an abort ends it at once. */
export class ObjectWorker implements AsyncDisposable {
  readonly #worker: Worker
  readonly #threads: FetchThreads | undefined
  /** Those that wait, oldest first: answers come in the order of the requests. */
  readonly #waiting: PromiseWithResolvers<WorkerAnswer>[] = []
  #isEnded = false

  /** Without `threads`, a thread is started for it. */
  constructor(task: WorkerTask, threads?: FetchThreads) {
    this.#threads = threads
    this.#worker = threads?.take() ?? startThread()
    this.#worker.postMessage(task, [])
    this.#worker.on('message', (answer: WorkerAnswer) => this.#waiting.shift()?.resolve(answer))
    this.#worker.on('error', (cause) => this.#fail(explained(cause)))
    this.#worker.on('exit', () => this.#fail(new Error('The worker of a fetch has ended')))
  }

  /** Lets the worker read what a program prints, and write what it reads. */
  connect({ stdin, stdout }: ChildGroup['child']): void {
    if (this.#worker.stdin !== null) stdout.pipe(this.#worker.stdin)
    this.#worker.stdout.pipe(stdin)
  }

  async ask<Kind extends WorkerRequest['kind']>(
    request: Extract<WorkerRequest, { kind: Kind }>,
    signal: AbortSignal,
  ): Promise<AnswerTo<Kind>> {
    if (this.#isEnded) throw new Error('The worker of a fetch has ended')
    const waiting = Promise.withResolvers<WorkerAnswer>()
    const abort = () => waiting.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      signal.throwIfAborted()
      this.#waiting.push(waiting)
      this.#worker.postMessage(request, [])
      return expected(request.kind, await waiting.promise)
    } catch (cause) {
      // What it is in the middle of cannot be taken up again.
      if (signal.aborted) await this[Symbol.asyncDispose]()
      throw cause
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true
    await this.#worker.terminate()
    this.#threads?.prepare()
  }

  #fail(cause: Error): void {
    this.#isEnded = true
    for (const waiting of this.#waiting.splice(0)) waiting.reject(cause)
  }
}

const ANSWERS = { open: 'opened', take: 'taken', peel: 'peeled', relate: 'related' } as const

function expected<Kind extends WorkerRequest['kind']>(kind: Kind, answer: WorkerAnswer): AnswerTo<Kind> {
  if (answer.kind === 'failed') throw errorOf(answer.failure)
  if (isAnswerTo(kind, answer)) return answer
  throw new TypeError(`The worker answers "${kind}" with "${answer.kind}"`)
}

function isAnswerTo<Kind extends WorkerRequest['kind']>(kind: Kind, answer: WorkerAnswer): answer is AnswerTo<Kind> {
  return answer.kind === ANSWERS[kind]
}

function explained(cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    const message = `Cannot read what was sent: it takes more than ${THREAD_HEAP_MB} MB of memory`
    return new SyncError('limit-exceeded', message, { cause })
  }
  return cause instanceof Error ? cause : new Error(String(cause))
}
