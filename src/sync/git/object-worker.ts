import type { Worker } from 'node:worker_threads'
import { isSystemError, SyncError } from '../model/sync-error.ts'
import type { OnStored } from '../model/tree.ts'
import { startFailure, startThread, THREAD_HEAP_MB, type FetchThreads } from './fetch-threads.ts'
import type { GitReach } from './git-reach.ts'
import type { WorkerTask } from './objects/git-transport.ts'
import type { ProcessGroup } from './program/process-group.ts'
import {
  errorOf,
  type ReceivedBytes,
  type StoredBlobs,
  type WorkerAnswer,
  type WorkerRequest,
} from './worker-protocol.ts'

type AnswerTo<Kind extends WorkerRequest['kind']> = Extract<WorkerAnswer, { kind: (typeof ANSWERS)[Kind] }>

/**
 * The client of one fetch's thread. The thread answers one request after the other. An abort terminates it; otherwise
 * it may serve another fetch.
 */
export class ObjectWorker implements AsyncDisposable {
  readonly #worker: Worker
  readonly #threads: FetchThreads | undefined
  readonly #onReceived: GitReach['onReceived']
  readonly #isForOne: boolean
  /** The pending requests, oldest first: answers come in the order of the requests. */
  readonly #waiting: PendingRequest[] = []
  #isEnded = false
  #ending: Promise<void> | undefined

  /** Without `threads`, it starts a new thread. */
  constructor(task: WorkerTask, { threads, onReceived }: Pick<GitReach, 'threads' | 'onReceived'> = {}) {
    this.#threads = threads
    this.#onReceived = onReceived
    // A thread that was connected to a program has its output in its streams, and a reader of a disk keeps what it
    // read. So only a thread for a remote can be reused.
    this.#isForOne = task.place.kind !== 'remote'
    this.#worker = threads?.take() ?? startThread()
    this.#worker.postMessage(task, [])
    this.#worker.on('message', this.#answered).on('error', this.#broken).on('exit', this.#gone)
  }

  /** Connects the worker to a program: its output to the worker's input, and the reverse. */
  connect({ stdin, stdout }: ProcessGroup['child']): void {
    if (this.#worker.stdin !== null) stdout.pipe(this.#worker.stdin)
    this.#worker.stdout.pipe(stdin)
  }

  async ask<Kind extends WorkerRequest['kind']>(
    request: Extract<WorkerRequest, { kind: Kind }>,
    signal: AbortSignal,
    onStored?: OnStored,
  ): Promise<AnswerTo<Kind>> {
    if (this.#isEnded) throw new Error('The worker of a fetch has ended')
    const waiting = { ...Promise.withResolvers<WorkerAnswer>(), onStored }
    const abort = () => waiting.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      signal.throwIfAborted()
      this.#waiting.push(waiting)
      this.#worker.postMessage(request, [])
      return expectAnswer(request.kind, await waiting.promise)
    } catch (cause) {
      // Its interrupted work cannot be resumed.
      if (signal.aborted) await this[Symbol.asyncDispose]()
      throw cause
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /**
   * Runs once: an abort and the end of the fetch both call it, and a returned thread may already belong to another
   * fetch.
   */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<void> {
    if (await this.#isGivenBack()) return
    this.#isEnded = true
    await this.#worker.terminate()
    this.#threads?.prepare()
  }

  /** Returns the thread to the pool if it has answered all requests and holds little memory. */
  async #isGivenBack(): Promise<boolean> {
    if (this.#threads === undefined || this.#isForOne || this.#isEnded || this.#waiting.length > 0) return false
    const ended = await this.ask({ kind: 'end' }, NEVER).catch(() => undefined)
    if (ended?.isFit !== true) return false
    this.#isEnded = true
    this.#worker.off('message', this.#answered).off('error', this.#broken).off('exit', this.#gone)
    await this.#threads.give(this.#worker)
    return true
  }

  readonly #answered = (answer: WorkerAnswer | StoredBlobs | ReceivedBytes): void => {
    if (answer.kind === 'stored') this.#waiting[0]?.onStored?.(answer.blobs)
    else if (answer.kind === 'received') this.#onReceived?.(answer.bytes)
    else this.#waiting.shift()?.resolve(answer)
  }

  readonly #broken = (cause: unknown): void => this.#fail(explanationOf(cause))

  readonly #gone = (): void => this.#fail(new Error('The worker of a fetch has ended'))

  #fail(cause: Error): void {
    this.#isEnded = true
    for (const waiting of this.#waiting.splice(0)) waiting.reject(cause)
  }
}

interface PendingRequest extends PromiseWithResolvers<WorkerAnswer> {
  readonly onStored: OnStored | undefined
}

const ANSWERS = { open: 'opened', take: 'taken', peel: 'peeled', relate: 'related', end: 'ended' } as const
/** The request is sent only when the thread is idle. */
const NEVER = new AbortController().signal

function expectAnswer<Kind extends WorkerRequest['kind']>(kind: Kind, answer: WorkerAnswer): AnswerTo<Kind> {
  if (answer.kind === 'failed') throw errorOf(answer.failure)
  if (isAnswerTo(kind, answer)) return answer
  throw new TypeError(`The worker answers "${kind}" with "${answer.kind}"`)
}

function isAnswerTo<Kind extends WorkerRequest['kind']>(kind: Kind, answer: WorkerAnswer): answer is AnswerTo<Kind> {
  return answer.kind === ANSWERS[kind]
}

function explanationOf(cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    const message = `Cannot read what was sent: it needs more than ${THREAD_HEAP_MB} MB of memory`
    return new SyncError('limit-exceeded', message, { cause })
  }
  if (isSystemError(cause)) return new SyncError('store-failed', `Cannot fetch: ${cause.message}`, { cause })
  return startFailure(cause) ?? (cause instanceof Error ? cause : new Error(String(cause)))
}
