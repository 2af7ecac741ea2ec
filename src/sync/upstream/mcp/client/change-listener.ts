import { setImmediate as turn } from 'node:timers/promises'
import { SyncError } from '../../../model/sync-error.ts'
import type { McpConnection } from './connection.ts'
import { declaresOmitted } from './capabilities.ts'
import { isUnheard } from './change-feed.ts'
import type { Watch } from './change-feed.ts'

/** The process's clock, by which pauses and the age of a stream are measured. */
export interface Waits {
  monotonicMs(): number
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
  #wanted: Watched = { uris: [], omitted: [] }
  /** Ends the stream, for one with other URIs. */
  #turn = new AbortController()
  #listening: Promise<void> | undefined
  /** Ends the pause before the next attempt, while there is one. */
  #pausing: AbortController | undefined
  /** The connection over which news came last. */
  #heardOver: McpConnection | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  watch({ uris, omitted }: Watched): void {
    const wanted = { uris: inOrder([INDEX, ...uris]), omitted: inOrder(omitted) }
    if (JSON.stringify(wanted) === JSON.stringify(this.#wanted) && this.#listening !== undefined) return
    this.#wanted = wanted
    this.#turn.abort()
    // It rejects only in a way that is to end the process.
    this.#listening ??= this.#keepListening()
  }

  /** There is a connection anew: whatever was to be waited for is over. */
  wake(): void {
    this.#pausing?.abort()
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
        const wanted = (this.#turn = new AbortController())
        const watch = await this.#opened(isAfterLoss, open)
        await open.replace(watch)
        const sinceMs = this.#options.clock.monotonicMs()
        isAfterLoss = watch === undefined || !(await this.#endsBefore(wanted.signal, watch))
        // One that ends as soon as it is open is no better than none.
        if (this.#options.clock.monotonicMs() - sinceMs >= STEADY_MS) failures = 0
        if (!isAfterLoss) continue
        await this.#pause(failures, wanted.signal)
        failures += 1
      }
    } finally {
      await open.replace(undefined)
    }
  }

  /** Undefined where no server is, or none that tells. */
  async #opened(isAfterLoss: boolean, open: OpenWatch): Promise<Watch | undefined> {
    const { signal } = this.#stop
    try {
      const connection = await this.#options.connect(signal)
      // A stream ends when the next one is open, so that nothing is said in between that nobody hears. In the 2025 era there
      // is one list of subscriptions: leaving the old ones after taking the new ones would leave those too.
      const hasGap = connection.greeting.era === 'legacy' && open.isOpen
      if (hasGap) await open.replace(undefined)
      const heard = await this.#heardFrom(connection)
      if (heard === undefined) return undefined
      this.#tellMissed(isAfterLoss || hasGap, heard.connection)
      return heard.watch
    } catch (error) {
      if (signal.aborted || error instanceof SyncError) return undefined
      throw error
    }
  }

  /** A server that was restarted says at the first request that it knows the session no more: there is another at once. */
  async #heardFrom(connection: McpConnection): Promise<Heard | undefined> {
    const watch = await this.#watched(connection)
    // That a connection was lost is told a moment after what was asked over it failed.
    await turn()
    const next = await this.#options.connect(this.#stop.signal)
    if (next === connection) return watch && { watch, connection }
    await watch?.[Symbol.asyncDispose]()
    const anew = await this.#watched(next)
    return anew && { watch: anew, connection: next }
  }

  async #watched(connection: McpConnection): Promise<Watch | undefined> {
    const { onNews } = this.#options
    const { uris, omitted } = this.#wanted
    const wish = { list: true, uris: declaresOmitted(connection) ? [...uris, ...omitted] : uris }
    const watch = await connection.watch(wish, () => onNews('told'), this.#stop.signal)
    if (!isUnheard(watch.honoured)) return watch
    await watch[Symbol.asyncDispose]()
    return undefined
  }

  /** After the subscriptions, so that nothing is lost before them. Over another connection there is another process, or session. */
  #tellMissed(isMissed: boolean, connection: McpConnection): void {
    const isOther = this.#heardOver !== undefined && this.#heardOver !== connection
    this.#heardOver = connection
    if (isOther) this.#options.onNews('told')
    else if (isMissed) this.#options.onNews('missed')
  }

  /** Whether other URIs are wanted before the stream is dropped. */
  async #endsBefore(wanted: AbortSignal, watch: Watch): Promise<boolean> {
    const over = AbortSignal.any([wanted, this.#stop.signal])
    await Promise.race([watch.ended, abortOf(over)])
    return over.aborted
  }

  async #pause(failures: number, wanted: AbortSignal): Promise<void> {
    this.#pausing = new AbortController()
    const over = AbortSignal.any([wanted, this.#stop.signal, this.#pausing.signal])
    await this.#options.clock.wait(delayMs(failures), over).catch((error: unknown) => {
      if (!over.aborted) throw error
    })
    this.#pausing = undefined
  }
}

interface Heard {
  readonly watch: Watch
  readonly connection: McpConnection
}

/** Milliseconds that a stream must hold before earlier failures are forgotten. */
const STEADY_MS = 10_000

function inOrder(uris: readonly string[]): readonly string[] {
  return [...new Set(uris)].toSorted()
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

/** The resources to watch, by the URIs that the server gave. */
export interface Watched {
  readonly uris: readonly string[]
  /** Folders, watched at a server that lists what its `skills/list` leaves out: no other resource tells of a file in one. */
  readonly omitted: readonly string[]
}
