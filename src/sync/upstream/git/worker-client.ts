import type { Worker } from 'node:worker_threads'
import type { ChildGroup } from './program/process-group.ts'
import { isSystemError, SyncError } from '../../model/sync-error.ts'
import { startThread, THREAD_HEAP_MB, type FetchThreads } from './fetch-threads.ts'
import { errorOf, type WorkerAnswer, type WorkerRequest } from './worker-protocol.ts'
import { type WorkerTask } from './objects/git-transport.ts'

type AnswerTo<Kind extends WorkerRequest['kind']> = Extract<WorkerAnswer, { kind: (typeof ANSWERS)[Kind] }>

/** The thread of one fetch, seen from outside. It answers one request after another; an abort ends it at once, else it may fetch again. */
export class ObjectWorker implements AsyncDisposable {
  readonly #worker: Worker
  readonly #threads: FetchThreads | undefined
  readonly #isForOne: boolean
  /** Those that wait, oldest first: answers come in the order of the requests. */
  readonly #waiting: PromiseWithResolvers<WorkerAnswer>[] = []
  #isEnded = false
  #ending: Promise<void> | undefined

  /** Without `threads`, a thread is started for it. */
  constructor(task: WorkerTask, threads?: FetchThreads) {
    this.#threads = threads
    // What a program prints has passed through the others, and what reads a disk keeps what it has read.
    this.#isForOne = task.place.kind !== 'remote'
    this.#worker = threads?.take() ?? startThread()
    this.#worker.postMessage(task, [])
    this.#worker.on('message', this.#answered).on('error', this.#broken).on('exit', this.#gone)
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

  /** Once it was given back it is somebody else's: an abort and the end of the fetch both come here. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<void> {
    if (await this.#isGivenBack()) return
    this.#isEnded = true
    await this.#worker.terminate()
    this.#threads?.prepare()
  }

  /** To whom fetches next: where it has answered all that it was asked, and holds little. */
  async #isGivenBack(): Promise<boolean> {
    if (this.#threads === undefined || this.#isForOne || this.#isEnded || this.#waiting.length > 0) return false
    const ended = await this.ask({ kind: 'end' }, NEVER).catch(() => undefined)
    if (ended?.isFit !== true) return false
    this.#isEnded = true
    this.#worker.off('message', this.#answered).off('error', this.#broken).off('exit', this.#gone)
    await this.#threads.give(this.#worker)
    return true
  }

  readonly #answered = (answer: WorkerAnswer): void => this.#waiting.shift()?.resolve(answer)

  readonly #broken = (cause: unknown): void => this.#fail(explained(cause))

  readonly #gone = (): void => this.#fail(new Error('The worker of a fetch has ended'))

  #fail(cause: Error): void {
    this.#isEnded = true
    for (const waiting of this.#waiting.splice(0)) waiting.reject(cause)
  }
}

const ANSWERS = { open: 'opened', take: 'taken', peel: 'peeled', relate: 'related', end: 'ended' } as const
/** It is asked when it has nothing else to do. */
const NEVER = new AbortController().signal

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
  if (isSystemError(cause)) return new SyncError('store-failed', `Cannot fetch: ${cause.message}`, { cause })
  return cause instanceof Error ? cause : new Error(String(cause))
}
