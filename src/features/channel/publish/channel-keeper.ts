import { partOf, partText } from '../../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { backoffMs, Reaction } from '../../../daemon/runtime/reaction.ts'
import type { ChannelStatus, PublicationProblem } from '../../../daemon/status/publication-status.ts'
import { channelMend } from '../../../daemon/status/publication-status.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isPassing, SyncError, unwrapSuppressed } from '../../../sync/model/sync-error.ts'
import { HEARTBEAT_MS } from './channel-publisher.ts'
import type { ChannelEnd, ChannelPublisher } from './channel-publisher.ts'

/** The parts that keep one channel up to date. */
export interface ChannelKeeperParts extends Pick<DaemonContext, 'clock' | 'log' | 'redactor'> {
  readonly channel: ChannelPublisher
  readonly registry: ServedRegistry
  /** The reason why nothing may be published now; `undefined` if it may. */
  readonly whyNot: () => string | undefined
}

/** The catalog that is served now, with a callback for each later one. */
export interface ServedRegistry {
  readonly catalog: Catalog
  watch(watcher: () => void): Disposable
}

/** A channel that is kept up to date: without a folder, for the clients of this daemon. */
export interface ChannelOutput {
  readonly to: string | undefined
  readonly channel: ChannelName
}

/** Keeps one channel, in its log alone or in a folder too, at what is served. At most one attempt waits for its turn. */
export class ChannelKeeper implements AsyncDisposable {
  readonly #place: ChannelOutput
  readonly #parts: ChannelKeeperParts
  readonly #reaction: Reaction
  /** The catalog that was published last. */
  #published: Catalog | undefined
  #newest: Pick<ChannelEnd, 'entries' | 'at'> | undefined
  #problem: PublicationProblem | undefined
  #failures = 0

  constructor(place: ChannelOutput, parts: ChannelKeeperParts) {
    this.#place = place
    this.#parts = parts
    const { clock, registry } = parts
    this.#reaction = new Reaction({
      clock,
      on: (changed) => registry.watch(changed),
      run: async (signal) => this.#attempt(signal),
    })
  }

  get status(): ChannelStatus {
    const { to, channel } = this.#place
    return {
      ...(to !== undefined && { to }),
      ...partOf(channel),
      isCurrent: this.#problem === undefined && this.#published === this.#parts.channel.catalog,
      ...(this.#newest !== undefined && { entries: this.#newest.entries }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    }
  }

  /** The time of the newest entry, once this process has published it. ISO 8601, UTC. */
  get newestAt(): string | undefined {
    return this.#newest?.at
  }

  /** Publishes what is served now, and each catalog from now on. */
  start(): void {
    this.#reaction.start(0)
  }

  /** Publishes what is served. */
  follow(): void {
    this.#reaction.trigger()
  }

  /** Publishes now. Throws a `SyncError` if that fails. */
  async publish(signal: AbortSignal): Promise<ChannelEnd> {
    const until = AbortSignal.any([signal, this.#reaction.signal])
    const end = await this.#parts.channel.publish(this.#place.to, until)
    this.#succeeded(end)
    return end
  }

  /** Names it in the log. */
  get #name(): string {
    const { to, channel } = this.#place
    return to ?? (channel === undefined ? 'channel' : `channel of ${partText(partOf(channel))}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction[Symbol.asyncDispose]()
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    const { channel, whyNot } = this.#parts
    const { leads } = channel
    // Folders belong to the leader of the hub. The first catalog begins the next attempt.
    if (leads ? channel.catalog.generation === 0 : this.#place.to !== undefined) return
    const why = leads ? whyNot() : undefined
    if (why !== undefined) return this.#failed(new SyncError('store-failed', `Cannot publish: ${why}`))
    try {
      if (leads) await this.publish(signal)
      else await this.#followLeader(signal)
    } catch (thrown) {
      const error = unwrapSuppressed(thrown)
      if (!(error instanceof SyncError)) throw error
      this.#failed(error)
    }
  }

  /** Serves what the leader of the hub has published. */
  async #followLeader(signal: AbortSignal): Promise<void> {
    const end = await this.#parts.channel.follow(signal)
    if (end !== undefined) this.#succeeded(end)
  }

  #succeeded({ entries, at, catalog, isNew, objects }: ChannelEnd): void {
    const { log, clock } = this.#parts
    this.#newest = { entries, at }
    this.#published = catalog
    this.#problem = undefined
    this.#failures = 0
    log.recovery(EVENT, '', undefined, this.#name)
    if (isNew || objects > 0) log.info('channel-published', { channel: this.#name, entries, objects })
    this.#reaction.runAfter(Math.max(Date.parse(at) + HEARTBEAT_MS - clock.now().getTime(), BACKOFF.firstMs))
  }

  #failed(error: SyncError): void {
    const { log, clock, redactor } = this.#parts
    const { code, message } = error
    const said = redactor.clean(message)
    log.failure('warn', EVENT, { source: '', publication: this.#name, code, message: said }, said)
    const since = this.#problem?.since ?? clock.now().toISOString()
    this.#problem = { code, message: said, fix: redactor.clean(channelMend(error)), since }
    this.#failures += 1
    // A key that cannot be read may be in the middle of a change.
    const isSoon = isPassing(code) || code === 'credentials-rejected'
    // A process that does not lead waits for what the leader mends.
    if (!this.#parts.channel.leads) this.#reaction.runAfter(BACKOFF.firstMs)
    else this.#reaction.runAfter(isSoon ? backoffMs(BACKOFF, this.#failures) : BACKOFF.longestMs)
  }
}

const EVENT = 'not-published'
const BACKOFF = { firstMs: 10_000, longestMs: 3_600_000 }
