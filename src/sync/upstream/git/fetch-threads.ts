import { Worker } from 'node:worker_threads'
import { SyncError } from '../../model/sync-error.ts'

/**
 * The threads that fetches run in, each in one of its own. To start one takes as long as a small fetch does, and one that has
 * fetched before is quicker for what it has compiled. So one stands ready for an hour after each fetch: where nothing comes for
 * longer, its memory is of more use. Of many fetches at once all stay for the few seconds until the next one.
 */
export class FetchThreads implements AsyncDisposable {
  readonly #keptMs: number
  /** Newest last. */
  readonly #spares: Spare[] = []
  #isOver = false

  constructor(keptMs = HOUR_MS) {
    this.#keptMs = keptMs
  }

  /** Has one ready for who comes next. */
  prepare(): void {
    if (this.#isOver) return
    const [spare] = this.#spares
    if (spare !== undefined) return void spare.timer.refresh()
    const started = startedIfItCan()
    if (started !== undefined) this.#keep(started)
  }

  /** Takes back a thread that has done what it was taken for, and is as it was before that. */
  async give(worker: Worker): Promise<void> {
    if (this.#isOver) await worker.terminate()
    else this.#keep(worker)
  }

  /** A thread that nothing runs in. */
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
      // It is nobody's from here on, though it takes a moment to end.
      forget()
      void worker.terminate()
    }
    const timer = setTimeout(drop, keptMs).unref()
    const spare = { worker, timer, forget }
    this.#spares[0]?.timer.refresh()
    // It waits for work that may never come: that keeps no process.
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

/** Who fetches one source after the other asks for the next within that time. */
const BURST_MS = 10_000
const HOUR_MS = 3_600_000

/** The fetch that needs a thread reports that there is none. */
function startedIfItCan(): Worker | undefined {
  try {
    return startThread()
  } catch (error) {
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** A thread for one fetch, by itself. */
export function startThread(): Worker {
  try {
    return newThread()
  } catch (cause) {
    // Without a descriptor, or memory, or below a limit of threads.
    if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ERR_WORKER_INIT_FAILED') throw cause
    throw new SyncError('source-unreachable', `Cannot fetch: the system starts no thread now: ${cause.message}`, {
      cause,
    })
  }
}

function newThread(): Worker {
  return new Worker(new URL('./git-worker.js', import.meta.url), {
    name: 'git',
    // Of use where a program has the objects; else nobody writes to either.
    stdin: true,
    stdout: true,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  })
}

/** Of what JavaScript holds: names and tables. Packs and files lie outside of it, and are bounded by their reader. */
export const THREAD_HEAP_MB = 512
