import { ignoreAbort } from '../../base/async/abort-error.ts'
import { repositoryOf } from '../../daemon/config/config.ts'
import type { Config, ConfiguredSource, ReachedHost } from '../../daemon/config/config.ts'
import { hostOf } from '../../daemon/pull/schedule/host-backoff.ts'
import type { HostBackoff } from '../../daemon/pull/schedule/host-backoff.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
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
  readonly #stop = new AbortController()
  #watching: Promise<unknown> = Promise.resolve()

  constructor(parts: ChannelWatchesParts) {
    this.#parts = parts
  }

  start(): void {
    const { sources, mode } = this.#parts.config
    const hubs = sources.filter(({ source }) => source.kind === 'channel' && source.place.kind === 'http')
    if (mode.offline) return
    const channels = [...Map.groupBy(hubs, repositoryOf).values()]
    // It rejects only with an error that must end the process.
    this.#watching = Promise.all(channels.map(async (followers) => this.#watch(followers).catch(ignoreAbort)))
  }

  /** Resolves when no hub is listened to any more. */
  get ended(): Promise<unknown> {
    return this.#watching
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  /** `followers`: the sources that follow one channel. */
  async #watch(followers: readonly ConfiguredSource[]): Promise<void> {
    const [configured] = followers
    if (configured === undefined) return
    const { clock, hosts, onNews } = this.#parts
    const onEvent = (): void => {
      for (const { source } of followers) onNews(source.id)
    }
    const { signal } = this.#stop
    for (let failures = 0; ;) {
      const closedMs = hosts.closedMs(hostOf(configured.source))
      if (closedMs > 0) await clock.wait(closedMs, signal)
      const startMs = clock.monotonicMs()
      if ((await this.#followOnce(configured, onEvent)) === 'none') return
      // A stream that lasted shows that the hub is well, and was restarted or has cut off what was open for long.
      failures = clock.monotonicMs() - startMs > LASTING_MS ? 0 : failures + 1
      await clock.wait(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), signal)
    }
  }

  async #followOnce({ source, ...reached }: ConfiguredSource, onEvent: () => void): Promise<'ended' | 'none'> {
    const { config, hosts, keyring } = this.#parts
    const { signal } = this.#stop
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

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 3_600_000
const LASTING_MS = 10_000
