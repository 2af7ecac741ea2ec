import { hostname } from 'node:os'
import { Registry } from '../serve/registry.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { Revision } from '../sync/model/revision.ts'
import type { Skill, SkillFile } from '../sync/model/skill.ts'
import type { Source } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { Damaged, SyncError } from '../sync/model/sync-error.ts'
import { Publisher } from '../sync/publisher.ts'
import { pull, storedSkill } from '../sync/pull.ts'
import type { Pulling } from '../sync/pull.ts'
import type { Store } from '../sync/store/store.ts'
import { openUpstream } from '../sync/upstream/open.ts'
import { ignoreAbort } from './abort-error.ts'
import type { Clock } from './clock.ts'
import type { Environment } from './config/environment.ts'
import type { Config, ConfiguredSource } from './config.ts'
import { Hosts, leftAlone } from './hosts.ts'
import { Keyring } from './keyring.ts'
import { Lanes } from './lanes.ts'
import type { Log } from './log.ts'
import { Report } from './report.ts'
import type { Redactor } from './redactor.ts'
import { Poller } from './schedule.ts'
import { servingOf } from './serving.ts'
import { statusOf } from './status.ts'
import type { HttpStatus, Status } from './status.ts'

/** What the daemon is given to work with. */
export interface Parts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  /** Is told of every secret that is read. */
  readonly redactor: Redactor
  /** How sources are reached; tests hand in their own. */
  readonly open?: Pulling['open']
}

/**
 * The one writer of a state folder, at work: it pulls each source on its schedule and swaps the catalog. It serves what the
 * store has from its first moment on, and nothing that fails takes that away.
 */
export class Daemon implements AsyncDisposable {
  readonly registry = new Registry()
  readonly #config: Config
  readonly #parts: Parts
  readonly #publisher: Publisher
  readonly #report: Report
  readonly #lanes: Lanes<Outcome>
  readonly #hosts: Hosts
  readonly #keyring: Keyring
  readonly #startedAt: Date
  /** Sources of which a stored file was found damaged: the next pull takes them anew, known or not. */
  readonly #damaged = new Set<SourceId>()
  /** The errors of runs that lost their place and are reported: all who waited for such a run get the same one. */
  readonly #reported = new WeakSet<SyncError>()
  #poller: Poller | undefined
  #http: (() => HttpStatus) | undefined

  private constructor(config: Config, parts: Parts, publisher: Publisher, report: Report) {
    this.#config = config
    this.#parts = parts
    this.#publisher = publisher
    this.#report = report
    this.#startedAt = parts.clock.now()
    this.#hosts = new Hosts(parts.clock)
    const { fetches, fetch } = config.limits
    const { environment, redactor, clock } = parts
    this.#keyring = new Keyring({ environment, redactor, clock, fetchMs: fetch.totalMs })
    // A fetch names its own limit better than the lane that takes its place away.
    this.#lanes = new Lanes({ ...fetches, timeoutMs: fetch.totalMs + LANE_MARGIN_MS, graceMs: GRACE_MS }, parts.clock)
  }

  /** Loads the last generation. Nothing is pulled before `poll` or `sync`. */
  static async start(config: Config, parts: Parts): Promise<Daemon> {
    const ids = config.sources.map(({ source }) => source.id)
    const { publisher, catalog } = await Publisher.open(parts.store, ids)
    const report = await Report.open(parts.store.records, ids, parts.clock, parts.log)
    const daemon = new Daemon(config, parts, publisher, report)
    daemon.registry.publish(catalog)
    return daemon
  }

  get serving(): Serving {
    return servingOf(this.#config, this.registry, (skill, file) => this.#read(skill, file))
  }

  /** Pulls each source on its schedule from now on. */
  poll(): void {
    const polled = this.#config.sources.map(({ source }) => ({
      id: source.id,
      host: hostOf(source),
      schedule: source.schedule,
      isNew: this.#publisher.currentOf(source.id) === undefined,
    }))
    this.#poller = new Poller(polled, {
      clock: this.#parts.clock,
      hosts: this.#hosts,
      machine: hostname(),
      random: Math.random,
      poll: async (id) => ({ failed: (await this.#request(this.#configured(id))).kind === 'failed' }),
    })
  }

  /** From now on the status tells of the HTTP side too. */
  isServedBy(http: () => HttpStatus): void {
    this.#http = http
  }

  /** Pulls now, all sources or those named, and says how it ended for each. */
  async sync(ids?: readonly SourceId[]): Promise<ReadonlyMap<SourceId, Outcome>> {
    const wanted = ids === undefined ? this.#config.sources : ids.map((id) => this.#configured(id))
    const ends = wanted.map(async (configured) => [configured.source.id, await this.#request(configured)] as const)
    return new Map(await Promise.all(ends))
  }

  status(): Status {
    return statusOf({
      config: this.#config,
      catalog: this.registry.catalog,
      recordOf: (id) => this.#report.recordOf(id),
      nextPolls: this.#poller?.nextPolls() ?? new Map(),
      startedAt: this.#startedAt,
      http: this.#http?.(),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#poller?.[Symbol.asyncDispose]()
    await this.#lanes[Symbol.asyncDispose]()
    // A pull that does not heed its signal publishes nothing from here on, but may be in the middle of it.
    await this.#publisher.settled()
  }

  #configured(id: SourceId): ConfiguredSource {
    const found = this.#config.sources.find(({ source }) => source.id === id)
    if (found === undefined) throw new TypeError(`No source is called "${id}"`)
    return found
  }

  async #request(configured: ConfiguredSource): Promise<Outcome> {
    const { source } = configured
    try {
      return await this.#lanes.request(source.id, hostOf(source), (signal) => this.#run(configured, signal))
    } catch (error) {
      // The lane took the place back from a pull that did not end: that is an outcome too.
      if (!(error instanceof SyncError)) throw error
      return this.#lost(source, error)
    }
  }

  /** Once for each run, however many waited for it. */
  async #lost(source: Source, error: SyncError): Promise<Outcome> {
    const outcome: Outcome = { kind: 'failed', error }
    if (this.#reported.has(error)) return outcome
    this.#reported.add(error)
    await this.#report.outcome(source, outcome, this.#config.limits.fetch.totalMs + LANE_MARGIN_MS)
    return outcome
  }

  /** One pull in its lane, and what is told of it. */
  async #run(configured: ConfiguredSource, signal: AbortSignal): Promise<Outcome> {
    const { source } = configured
    const { store, clock, redactor } = this.#parts
    const startMs = clock.monotonicMs()
    // Looked at here and not when asked: another source of the host may have been sent away while this one waited.
    const closedMs = this.#hosts.closedMs(hostOf(source))
    if (closedMs > 0) return { kind: 'failed', error: leftAlone(source.id, closedMs) }
    const outcome = cleaned(await this.#pull(configured, signal), redactor)
    const retryAfterMs = outcome.kind === 'failed' ? outcome.error.retryAfterMs : undefined
    if (retryAfterMs !== undefined) this.#hosts.close(hostOf(source), retryAfterMs)
    await this.#report.outcome(source, outcome, clock.monotonicMs() - startMs)
    // Above the budget no fetch starts: what can be let go is looked for again at each try.
    if (outcome.kind === 'updated' || store.bytes > this.#config.limits.disk.bytes) await this.#collect(signal)
    return outcome
  }

  async #pull(configured: ConfiguredSource, signal: AbortSignal): Promise<Outcome> {
    const { source } = configured
    const { store, open = openUpstream } = this.#parts
    const way = this.#keyring.wayTo(configured)
    const current = this.#damaged.has(source.id) ? undefined : this.#publisher.currentOf(source.id)
    const onResolved = (revision: Revision): void => this.#report.resolved(source, revision)
    const pulling = { store, open, limits: this.#config.limits, way, onResolved }
    const pulled = await pull(source, current, pulling, signal)
    await this.#keyring.heard(configured, pulled, signal)
    signal.throwIfAborted()
    return pulled.kind === 'updated' ? this.#publish(pulled, signal) : pulled
  }

  async #publish(pulled: Extract<Outcome, { kind: 'updated' }>, signal: AbortSignal): Promise<Outcome> {
    const { held, snapshot } = pulled
    try {
      this.registry.publish(await this.#publisher.publish(held, snapshot, this.#parts.clock.now(), signal))
      this.#damaged.delete(held.source)
      return pulled
    } catch (error) {
      if (error instanceof SyncError) return { kind: 'failed', error }
      throw error
    }
  }

  /** What cannot be removed now is removed after the next update: nothing that is served depends on it. */
  async #collect(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    try {
      await store.collect(clock.now(), this.#config.retention, new Set(), signal)
      log.recovery('collection-failed', '')
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      log.failure('warn', 'collection-failed', { source: '', code: error.code, message: error.message })
    }
  }

  async #read(skill: Skill, file: SkillFile): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.store.skills.read(storedSkill(skill), file)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      // A disk that says no for the moment says nothing about the file.
      if (error instanceof Damaged) this.#mend(skill, error)
      else this.#parts.log.failure('warn', 'content-not-read', { source: '', code: error.code, message: error.message })
      return undefined
    }
  }

  /** A stored file is not what it was: its sources are pulled as if nothing were known of them. */
  #mend(skill: Skill, error: SyncError): void {
    for (const { source, skills } of this.registry.catalog.snapshots) {
      if (this.#damaged.has(source) || !skills.some(({ digest }) => digest === skill.digest)) continue
      this.#damaged.add(source)
      this.#parts.log.warn('content-damaged', { source, skill: skill.path, message: error.message })
      // Who asked for the file is not kept waiting; the outcome is reported like any other.
      void this.#request(this.#configured(source)).catch(ignoreAbort)
    }
  }
}

const LANE_MARGIN_MS = 60_000

/** How long pulls have to end when the daemon does. */
const GRACE_MS = 5_000

/** The host that a source's pulls are counted against. A repository on this disk has none, and is counted by itself. */
function hostOf(source: Source): string {
  return new URL(source.url).host || source.id
}

/** A server can say in its error what it was sent: a secret goes no further than this, to no file and to nobody who asks. */
function cleaned(outcome: Outcome, redactor: Redactor): Outcome {
  if (outcome.kind !== 'failed') return outcome
  const { code, message, cause, retryAfterMs } = outcome.error
  const options = { cause, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  return { kind: 'failed', error: new SyncError(code, redactor.clean(message), options) }
}
