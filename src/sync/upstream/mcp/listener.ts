import { SyncError } from '../../model/sync-error.ts'
import type { McpConnection } from './connection.ts'
import type { Watch } from './watch.ts'

/** How long to wait is a matter of the process's clock. */
export interface Waits {
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export interface ListenerOptions {
  readonly connect: (signal: AbortSignal) => Promise<McpConnection>
  readonly clock: Waits
  /** Something changed, as was told; or may have, unheard. */
  readonly onNews: (how: 'told' | 'missed') => void
}

/** The document of older revisions, whose change says that the set of skills is another. */
const INDEX = 'skill://index.json'

/**
 * Hears what a server says of changes, once somebody wants to. A stream that is dropped is opened again after a while, and what
 * was said meanwhile is taken for news. Where a server cannot tell, nothing is lost: the schedule looks.
 */
export class Listener implements AsyncDisposable {
  readonly #options: ListenerOptions
  readonly #stop = new AbortController()
  #uris: readonly string[] = []
  /** Ends the stream, for one with other URIs. */
  #turn = new AbortController()
  #listening: Promise<void> | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  watch(uris: readonly string[]): void {
    const wanted = [...new Set([INDEX, ...uris])].toSorted()
    const isSame = wanted.length === this.#uris.length && wanted.every((uri, index) => uri === this.#uris[index])
    if (isSame && this.#listening !== undefined) return
    this.#uris = wanted
    this.#turn.abort()
    // It rejects only in a way that is to end the process.
    this.#listening ??= this.#keepListening()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#turn.abort()
    await this.#listening
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#stop
    const open = new OpenWatch()
    try {
      for (let failures = 0, isAfterLoss = false; !signal.aborted;) {
        const turn = (this.#turn = new AbortController())
        const watch = await this.#opened(isAfterLoss, open)
        await open.replace(watch)
        failures = watch === undefined ? failures + 1 : 0
        isAfterLoss = watch === undefined || !(await this.#endsBefore(turn.signal, watch))
        if (isAfterLoss) await this.#pause(failures, turn.signal)
      }
    } finally {
      await open.replace(undefined)
    }
  }

  /** Undefined where there is nobody, or nobody who tells. */
  async #opened(isAfterLoss: boolean, open: OpenWatch): Promise<Watch | undefined> {
    const { connect, onNews } = this.#options
    const { signal } = this.#stop
    try {
      const connection = await connect(signal)
      // A stream ends when the next one is open, so that nothing is said in between that nobody hears. In the 2025 era there
      // is one list of subscriptions: leaving the old ones after taking the new ones would leave those too.
      const hasGap = connection.greeting.era === 'legacy' && open.isOpen
      if (hasGap) await open.replace(undefined)
      const watch = await connection.watch({ list: true, uris: this.#uris }, () => onNews('told'), signal)
      if (!watch.honoured.list && watch.honoured.uris.length === 0) {
        await watch[Symbol.asyncDispose]()
        return undefined
      }
      if (isAfterLoss || hasGap) onNews('missed')
      return watch
    } catch (error) {
      if (signal.aborted || error instanceof SyncError) return undefined
      throw error
    }
  }

  /** Whether other URIs are wanted before the stream is dropped. */
  async #endsBefore(turn: AbortSignal, watch: Watch): Promise<boolean> {
    const over = AbortSignal.any([turn, this.#stop.signal])
    await Promise.race([watch.ended, abortOf(over)])
    return over.aborted
  }

  async #pause(failures: number, turn: AbortSignal): Promise<void> {
    const over = AbortSignal.any([turn, this.#stop.signal])
    await this.#options.clock.wait(delayMs(failures), over).catch((error: unknown) => {
      if (!over.aborted) throw error
    })
  }
}

/** One open stream at a time. */
class OpenWatch {
  #open: Watch | undefined

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  async replace(next: Watch | undefined): Promise<void> {
    const before = this.#open
    this.#open = next
    await before?.[Symbol.asyncDispose]()
  }
}

/** Grows from a second to five minutes, with half of it left to chance: a server that comes back is not met by all at once. */
function delayMs(failures: number): number {
  const most = Math.min(300_000, 1000 * 2 ** Math.min(failures, 10))
  return most / 2 + Math.random() * (most / 2)
}

async function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
