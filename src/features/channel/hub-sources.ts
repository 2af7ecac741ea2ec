import { isDeepStrictEqual } from 'node:util'
import { isAbortError } from '../../base/async/abort-error.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { Keyring } from '../../daemon/access/keyring.ts'
import { configuredIn, idsOf } from '../../daemon/config/config.ts'
import type { Config, ConfiguredSource } from '../../daemon/config/config.ts'
import { withHubSources } from '../../daemon/config/present-sources.ts'
import { cleanProblem } from '../../daemon/pull/pull-context.ts'
import { hostOf } from '../../daemon/pull/schedule/host-backoff.ts'
import type { HostBackoff } from '../../daemon/pull/schedule/host-backoff.ts'
import type { ServedCatalog } from '../../daemon/pull/served-catalog.ts'
import type { KnownLock } from '../../daemon/pull/trust/known-lock.ts'
import { mustFollowLock } from '../../daemon/pull/trust/lock-rules.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { backoffMs, Reaction } from '../../daemon/runtime/reaction.ts'
import type { SourceProblem, FollowedHub } from '../../daemon/status/status.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { offlineError, mendOf, SyncError } from '../../sync/model/sync-error.ts'
import { offeredCount } from '../../sync/pull/followed-ref.ts'
import { isMassDeletion } from '../../sync/pull/snapshot-policy.ts'
import { readHubSources } from '../../sync/store/hub-sources.ts'
import type { ListedSources } from '../../sync/store/hub-sources.ts'
import { ChannelUpstream } from './follow/channel-upstream.ts'
import type { FollowedParts } from './follow/channel-upstream.ts'

/** The parts that decide which sources of a hub are followed. */
export interface HubSourcesParts extends Pick<DaemonContext, 'store' | 'clock' | 'log' | 'redactor'> {
  readonly followed: FollowedParts
  readonly config: Config
  readonly keyring: Pick<Keyring, 'wayTo' | 'heard'>
  readonly hosts: HostBackoff
  readonly served: Pick<ServedCatalog, 'currentOf'>
  readonly lock: Pick<KnownLock, 'standingOf'>
}

/**
 * The sources of a hub that this configuration follows as a whole. They change when the hub adds or removes one; then the
 * daemon needs another configuration.
 */
export class HubSources implements AsyncDisposable {
  readonly #parts: HubSourcesParts
  readonly #looking: Reaction
  readonly #queue = new SerialQueue()
  #looks = 0
  #problem: SourceProblem | undefined
  #onChange: (ids: ListedSources) => Promise<void> = async () => {}

  constructor(parts: HubSourcesParts) {
    this.#parts = parts
    const { clock, log } = parts
    this.#looking = new Reaction({
      clock,
      run: async (signal) => this.#lookForFirst(signal),
      againMs: () => backoffMs(PAUSES, (this.#looks += 1)),
      failures: { log, level: 'warn', event: 'hub-not-followed' },
    })
  }

  /** `change` applies the configuration with these sources of the hub, and disposes of this daemon. */
  onChange(change: (ids: ListedSources) => Promise<void>): void {
    this.#onChange = change
  }

  /** `undefined` if a source of the hub is known: its own status has what is wrong then. */
  get status(): FollowedHub | undefined {
    const { config } = this.#parts
    if (config.follow === undefined || config.sources.length > 0) return undefined
    return { url: config.follow.source.url, ...(this.#problem && { problem: this.#problem }) }
  }

  /** Looks for the first sources, as long as there are none; later the pulls of these do. */
  start(): void {
    const { config } = this.#parts
    if (config.follow !== undefined && idsOf(config).length === 0) this.#looking.start(0)
  }

  /**
   * Follows the log of the hub now, and applies the sources that it names. Throws a `SyncError` if that fails and no source
   * is known, whose pull would report it.
   */
  async look(signal: AbortSignal): Promise<void> {
    const { follow } = this.#parts.config
    if (follow === undefined) return
    try {
      await this.#follow(follow, signal)
      await this.check()
    } catch (error) {
      if (!(error instanceof SyncError) || idsOf(this.#parts.config).length === 0) throw error
    }
  }

  /**
   * Applies the sources that the log of the hub names, as far as it was followed. It rejects only with an error that must
   * end the process.
   */
  async check(): Promise<void> {
    const { log } = this.#parts
    await this.#queue.next(async () => {
      try {
        const ids = await this.#wanted()
        if (ids !== undefined && !this.#looking.signal.aborted) await this.#onChange(ids)
        log.recovery(NOT_APPLIED, '')
      } catch (error) {
        if (isAbortError(error)) return
        if (!(error instanceof SyncError)) throw error
        const { code, message } = error
        log.failure('error', NOT_APPLIED, { source: '', code, message })
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking[Symbol.asyncDispose]()
  }

  async #lookForFirst(signal: AbortSignal): Promise<void> {
    const { clock, hosts, redactor, config } = this.#parts
    if (config.follow === undefined) return
    await clock.wait(hosts.closedMs(hostOf(config.follow.source)), signal)
    try {
      await this.#follow(config.follow, signal)
      // It is not awaited: it ends this.
      void this.check()
      this.#problem = undefined
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      const problem = cleanProblem(error, redactor)
      this.#problem = { ...problem, fix: mendOf(problem) }
      throw error
    }
  }

  async #follow(follow: ConfiguredSource, signal: AbortSignal): Promise<void> {
    const { config, store, keyring, hosts, followed } = this.#parts
    const { source } = follow
    if (source.kind !== 'channel') throw new TypeError('A hub is followed by its channel')
    if (config.mode.offline && source.place.kind === 'http') throw offlineError(`Cannot follow "${source.url}":`)
    const upstream = new ChannelUpstream(source, { limits: config.limits.fetch, way: keyring.wayTo(follow), followed })
    using _lease = store.objects.lease()
    try {
      await upstream.resolve(signal)
      await keyring.heard(follow, { kind: 'published' }, signal)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      if (error.retryAfterMs !== undefined) hosts.close(hostOf(source), error.retryAfterMs)
      await keyring.heard(follow, { kind: 'failed', error }, signal)
      throw error
    }
  }

  /** `undefined` if the configuration has the right sources, or nothing is known of the hub yet. */
  async #wanted(): Promise<ListedSources | undefined> {
    const { config, store } = this.#parts
    // A lock must have exactly the sources of the configuration.
    if (config.follow === undefined || config.mode.locked) return undefined
    const record = await store.followed.read('all-sources')
    if (record?.sources === undefined) return undefined
    const { waiting = [] } = (await readHubSources(config.state)) ?? {}
    const ids = this.#withGone([...record.sources.keys()], waiting)
    const isSame = isDeepStrictEqual(withHubSources(config, ids).sources, config.sources)
    return isSame && isDeepStrictEqual(ids.waiting, waiting) ? undefined : ids
  }

  /**
   * The sources of the hub, and those that it has no more but that stay: the lock has them, the operator holds
   * them, or so many skills would go with them that an operator decides. The pulls of these find no skill, and wait
   * for approval.
   */
  #withGone(ofHub: readonly SourceId[], waitingBefore: readonly SourceId[]): ListedSources {
    const { config } = this.#parts
    const absent = config.sources.filter(({ source }) => !ofHub.includes(source.id))
    const count = (sources: readonly ConfiguredSource[]): number =>
      sources.reduce((sum, { source }) => sum + this.#skillsOf(source.id), 0)
    const before = count(config.sources)
    const isMass = isMassDeletion(before, before - count(absent))
    const waiting: SourceId[] = []
    const kept: SourceId[] = []
    for (const { source } of absent) {
      const { id, brakes } = source
      if (this.#isKept(id)) kept.push(id)
      else if (brakes === 'hold' && (isMass || waitingBefore.includes(id)) && this.#skillsOf(id) > 0) waiting.push(id)
    }
    const gone = [...kept, ...waiting]
    return { sources: [...ofHub, ...gone], gone, waiting }
  }

  /** True if the lock has the source, or a decision keeps it where it is. */
  #isKept(id: SourceId): boolean {
    const { config, lock, store } = this.#parts
    const decision = store.decisions.knownOf(id)
    if (decision.hold !== undefined) return true
    const standing = lock.standingOf(configuredIn(config, id).source, decision)
    // A lock that was pruned keeps nothing that the hub has no more.
    return standing.state !== 'lost' && mustFollowLock(standing)
  }

  #skillsOf(id: SourceId): number {
    return offeredCount(this.#parts.served.currentOf(id)?.snapshot.skills ?? [])
  }
}

const NOT_APPLIED = 'hub-sources-not-applied'

const PAUSES = { firstMs: 5_000, longestMs: 300_000 }
