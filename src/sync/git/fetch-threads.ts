import { Worker } from 'node:worker_threads'
import { SyncError } from '../model/sync-error.ts'

/**
 * The pool of threads for fetches; each fetch has its own thread. A start takes as long as a small fetch, and a used
 * thread is faster because its code is compiled. So one thread stays for an hour after each fetch; after that, its
 * memory is worth more. After concurrent fetches, the other threads stay for a few seconds, until the next fetch.
 */
export class FetchThreads implements AsyncDisposable {
  readonly #keptMs: number
  /** The idle threads, newest last. */
  readonly #spares: Spare[] = []
  #isOver = false

  constructor(keptMs = HOUR_MS) {
    this.#keptMs = keptMs
  }

  /** Keeps one thread ready for the next fetch. */
  prepare(): void {
    if (this.#isOver) return
    const [spare] = this.#spares
    if (spare !== undefined) return void spare.timer.refresh()
    const started = startedIfItCan()
    if (started !== undefined) this.#keep(started)
  }

  /** Takes back an idle thread in its initial state. */
  async give(worker: Worker): Promise<void> {
    if (this.#isOver) await worker.terminate()
    else this.#keep(worker)
  }

  /** Returns an idle thread, or starts one. */
  take(): Worker {
    const spare = this.#spares.pop()
    if (spare === undefined) return startThread()
    clearTimeout(spare.timer)
    spare.worker.off('error', spare.forget).off('exit', spare.forget)
    spare.worker.ref()
    return spare.worker
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    const spares = this.#spares.splice(0)
    await Promise.all(spares.map(({ worker }) => worker.terminate()))
  }

  #keep(worker: Worker): void {
    const keptMs = this.#spares.length === 0 ? this.#keptMs : Math.min(this.#keptMs, BURST_MS)
    const forget = (): void => {
      clearTimeout(spare.timer)
      const at = this.#spares.indexOf(spare)
      if (at >= 0) this.#spares.splice(at, 1)
    }
    const drop = (): void => {
      // Removed from the pool first, because the termination takes a moment.
      forget()
      void worker.terminate()
    }
    const timer = setTimeout(drop, keptMs).unref()
    const spare = { worker, timer, forget }
    this.#spares[0]?.timer.refresh()
    // An idle thread must not keep the process alive.
    worker.unref()
    worker.once('error', forget).once('exit', forget)
    this.#spares.push(spare)
  }
}

interface Spare {
  readonly worker: Worker
  readonly timer: NodeJS.Timeout
  readonly forget: () => void
}

/** A caller that fetches sources one after the other starts the next fetch within this time. */
const BURST_MS = 10_000
const HOUR_MS = 3_600_000

/** `undefined` if no thread can be started. The fetch that needs one reports the error. */
function startedIfItCan(): Worker | undefined {
  try {
    return startThread()
  } catch (error) {
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** Starts a thread outside the pool. */
export function startThread(): Worker {
  try {
    return newThread()
  } catch (cause) {
    throw startFailure(cause) ?? cause
  }
}

/**
 * Returns the error for a thread that the system cannot start: no descriptors, no memory, or a limit of threads;
 * `undefined` for another cause. A thread can fail so after it was made, too.
 */
export function startFailure(cause: unknown): SyncError | undefined {
  if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ERR_WORKER_INIT_FAILED') return undefined
  const message = `Cannot fetch: the system starts no thread now: ${cause.message}`
  return new SyncError('source-unreachable', message, { cause })
}

function newThread(): Worker {
  return new Worker(new URL('./git-worker.js', import.meta.url), {
    name: 'git',
    // Only used with the git program, which then connects to both.
    stdin: true,
    stdout: true,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  })
}

/**
 * The heap limit for JavaScript objects: names and tables. Packs and files are outside the heap, and their reader
 * limits them.
 */
export const THREAD_HEAP_MB = 512
