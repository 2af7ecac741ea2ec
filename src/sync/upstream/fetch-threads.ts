import { Worker } from 'node:worker_threads'

/**
 * The threads that fetches run in, each of which ends with its fetch. To start one takes as long as a small fetch does, so one
 * more stands ready for an hour after each: where nothing comes for longer, its memory is of more use.
 */
export class FetchThreads implements AsyncDisposable {
  readonly #keptMs: number
  #spare: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(keptMs = HOUR_MS) {
    this.#keptMs = keptMs
  }

  /** Has one ready for who comes next. */
  prepare(): void {
    if (this.#isOver) return
    clearTimeout(this.#timer)
    // Whoever would wait for its end has none: nothing runs in it.
    this.#timer = setTimeout(() => void this.#drop(), this.#keptMs).unref()
    const spare = this.#spare === undefined ? startedIfItCan() : undefined
    if (spare === undefined) return
    // It waits for work that may never come: that keeps no process.
    spare.unref()
    const forget = (): void => {
      if (this.#spare === spare) this.#spare = undefined
    }
    spare.once('error', forget).once('exit', forget)
    this.#spare = spare
  }

  /** A thread that nothing has run in. */
  take(): Worker {
    const spare = this.#spare
    this.#spare = undefined
    spare?.ref()
    return spare ?? startThread()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#drop()
  }

  async #drop(): Promise<void> {
    const spare = this.#spare
    this.#spare = undefined
    await spare?.terminate()
  }
}

const HOUR_MS = 3_600_000

/** Where the system gives no more threads, the fetch that needs one tells that. */
function startedIfItCan(): Worker | undefined {
  try {
    return startThread()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED') return undefined
    throw error
  }
}

/** A thread for one fetch, by itself. */
export function startThread(): Worker {
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
