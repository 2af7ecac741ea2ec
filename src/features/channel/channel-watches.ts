import { repositoryOf } from '../../daemon/config/config.ts'
import type { Config, ConfiguredSource, ReachedHost } from '../../daemon/config/config.ts'
import { hostOf } from '../../daemon/pull/schedule/host-backoff.ts'
import type { HostBackoff } from '../../daemon/pull/schedule/host-backoff.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { backoffMs, Reaction } from '../../daemon/runtime/reaction.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { followEvents } from './follow/channel-events.ts'
import type { EventParts } from './follow/channel-events.ts'

/** The parts that the watches of channels need. */
export interface ChannelWatchesParts extends Pick<DaemonContext, 'clock'> {
  readonly config: Config
  /** Returns the way to a host, with its credential. */
  readonly keyring: { wayTo(reached: ReachedHost): EventParts['way'] }
  readonly hosts: HostBackoff
  /** Called if a channel may have a new checkpoint. */
  readonly onNews: (id: SourceId) => void
}

/**
 * Listens to the hubs whose channels are followed over HTTP, so that a change arrives at once. It reports only that there
 * may be one; the pull that follows finds it. A server of files has no events: of it only the schedule remains.
 */
export class ChannelWatches implements AsyncDisposable {
  readonly #parts: ChannelWatchesParts
  readonly #watching: readonly Reaction[]

  constructor(parts: ChannelWatchesParts) {
    this.#parts = parts
    const { sources } = parts.config
    const hubs = sources.filter(({ source }) => source.kind === 'channel' && source.place.kind === 'http')
    this.#watching = [...Map.groupBy(hubs, repositoryOf).values()].map((followers) => this.#watchOf(followers))
  }

  start(): void {
    if (!this.#parts.config.mode.offline) for (const watch of this.#watching) watch.start(0)
  }

  /** Resolves when the streams that are open have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#watching.map(async (watch) => watch.settled()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#watching.map(async (watch) => watch[Symbol.asyncDispose]()))
  }

  /** `followers`: the sources that follow one channel. */
  #watchOf(followers: readonly ConfiguredSource[]): Reaction {
    const { clock, hosts, onNews } = this.#parts
    const onEvent = (): void => {
      for (const { source } of followers) onNews(source.id)
    }
    let failures = 0
    let hasEvents = true
    const run = async (signal: AbortSignal): Promise<void> => {
      const [configured] = followers
      if (configured === undefined) return
      const closedMs = hosts.closedMs(hostOf(configured.source))
      if (closedMs > 0) await clock.wait(closedMs, signal)
      const startMs = clock.monotonicMs()
      hasEvents = (await this.#followOnce(configured, onEvent, signal)) !== 'none'
      // A stream that lasted shows that the hub is well, and was restarted or has cut off what was open for long.
      failures = clock.monotonicMs() - startMs > LASTING_MS ? 0 : failures + 1
    }
    return new Reaction({ clock, run, againMs: () => (hasEvents ? backoffMs(PAUSES, failures + 1) : undefined) })
  }

  async #followOnce(
    { source, ...reached }: ConfiguredSource,
    onEvent: () => void,
    signal: AbortSignal,
  ): Promise<'ended' | 'none'> {
    const { config, hosts, keyring } = this.#parts
    const way = keyring.wayTo({ ...reached, source: { ...source, id: `events of ${source.id}` } })
    try {
      return await followEvents(source.url, { limits: config.limits.fetch, way, signal }, onEvent)
    } catch (error) {
      // The pulls of the source report what is wrong with its host. A server of files refuses each time.
      if (!(error instanceof SyncError)) throw error
      if (error.retryAfterMs !== undefined) hosts.close(hostOf(source), error.retryAfterMs)
      return 'ended'
    }
  }
}

const PAUSES = { firstMs: 500, longestMs: 3_600_000 }
const LASTING_MS = 10_000
