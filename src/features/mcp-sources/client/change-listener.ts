import { setImmediate as turn } from 'node:timers/promises'
import { backoffMs } from '../../../daemon/runtime/reaction.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { declaresOmitted } from './capabilities.ts'
import { isUnheard } from './change-feed.ts'
import type { Watch } from './change-feed.ts'
import type { McpConnection } from './mcp-connection.ts'

/** The process clock, which measures pauses and the age of a stream. */
export interface Waits {
  monotonicMs(): number
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export interface ChangeListenerOptions {
  readonly connect: (signal: AbortSignal) => Promise<McpConnection>
  readonly clock: Waits
  /** Called after a change. `told`: the server sent a notification. `missed`: a notification may have been lost. */
  readonly onNews: (how: 'told' | 'missed') => void
}

/** The index of older revisions. A change of it means that the set of skills has changed. */
const INDEX = 'skill://index.json'

/**
 * Listens for a server's change notifications, from the first `watch` on. A dropped stream is reopened after a pause.
 * That counts as news, because notifications may be lost meanwhile. If a server sends none, the scheduled listing still
 * finds the changes.
 */
export class ChangeListener implements AsyncDisposable {
  readonly #options: ChangeListenerOptions
  readonly #stop = new AbortController()
  #wanted: Watched = { uris: [], omitted: [] }
  /** Ends the stream, so that one with other URIs can open. */
  #turn = new AbortController()
  #listening: Promise<void> | undefined
  /** Ends the pause before the next attempt; `undefined` outside a pause. */
  #pausing: AbortController | undefined
  /** The connection that delivered the last news. */
  #heardOver: McpConnection | undefined

  constructor(options: ChangeListenerOptions) {
    this.#options = options
  }

  watch({ uris, omitted }: Watched): void {
    const wanted = { uris: inOrder([INDEX, ...uris]), omitted: inOrder(omitted) }
    if (JSON.stringify(wanted) === JSON.stringify(this.#wanted) && this.#listening !== undefined) return
    this.#wanted = wanted
    this.#turn.abort()
    // A rejection is meant to end the process.
    this.#listening ??= this.#keepListening()
  }

  /** Ends the pause, because there is a new connection. */
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
        const watch = await this.#openWatch(isAfterLoss, open)
        await open.replace(watch)
        const sinceMs = this.#options.clock.monotonicMs()
        isAfterLoss = watch === undefined || !(await this.#endsBefore(wanted.signal, watch))
        // A stream that ends as soon as it opens counts as a failure.
        if (this.#options.clock.monotonicMs() - sinceMs >= STEADY_MS) failures = 0
        if (!isAfterLoss) continue
        await this.#pause(failures, wanted.signal)
        failures += 1
      }
    } finally {
      await open.replace(undefined)
    }
  }

  /** `undefined` if there is no server, or if it sends no notifications. */
  async #openWatch(isAfterLoss: boolean, open: OpenWatch): Promise<Watch | undefined> {
    const { signal } = this.#stop
    try {
      const connection = await this.#options.connect(signal)
      // The old stream ends only after the next is open, so that no notification is lost in between. The 2025 era has
      // one list of subscriptions per session: removing the old ones after adding the new ones would remove both.
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

  /**
   * Opens the stream, and again on a new connection if the first was lost. A restarted server rejects the session at
   * the first request, and a new session exists immediately afterwards.
   */
  async #heardFrom(connection: McpConnection): Promise<Heard | undefined> {
    const watch = await this.#watch(connection)
    // The loss of a connection is reported one turn after the failure of the request over it.
    await turn()
    const next = await this.#options.connect(this.#stop.signal)
    if (next === connection) return watch && { watch, connection }
    await watch?.[Symbol.asyncDispose]()
    const anew = await this.#watch(next)
    return anew && { watch: anew, connection: next }
  }

  async #watch(connection: McpConnection): Promise<Watch | undefined> {
    const { onNews } = this.#options
    const { uris, omitted } = this.#wanted
    const wish = { list: true, uris: declaresOmitted(connection) ? [...uris, ...omitted] : uris }
    const watch = await connection.watch(wish, () => onNews('told'), this.#stop.signal)
    if (!isUnheard(watch.honoured)) return watch
    await watch[Symbol.asyncDispose]()
    return undefined
  }

  /**
   * Reports missed news. Called after the subscriptions, so that nothing before them is lost. Another connection means
   * another process or session.
   */
  #tellMissed(isMissed: boolean, connection: McpConnection): void {
    const isOther = this.#heardOver !== undefined && this.#heardOver !== connection
    this.#heardOver = connection
    if (isOther) this.#options.onNews('told')
    else if (isMissed) this.#options.onNews('missed')
  }

  /** Returns true if other URIs are wanted before the stream is dropped. */
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

/** The milliseconds after which a stream counts as stable and resets the failure count. */
const STEADY_MS = 10_000

function inOrder(uris: readonly string[]): readonly string[] {
  return [...new Set(uris)].toSorted()
}

/** Holds at most one open stream. */
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

const BACKOFF = { firstMs: 1_000, longestMs: 300_000 }

/** Half of the delay is random, so that clients do not all return to a restarted server at once. */
function delayMs(failures: number): number {
  const most = backoffMs(BACKOFF, failures + 1)
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
