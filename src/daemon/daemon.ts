import { hostname } from 'node:os'
import { Registry } from '../serve/registry.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { Revision } from '../sync/model/revision.ts'
import type { Skill, SkillFile } from '../sync/model/skill.ts'
import type { Source } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { Publisher } from '../sync/publisher.ts'
import { pull, storedSkill } from '../sync/pull.ts'
import type { Pulling } from '../sync/pull.ts'
import type { Store } from '../sync/store/store.ts'
import { openUpstream } from '../sync/upstream/open.ts'
import type { Clock } from './clock.ts'
import { authorizationOf } from './config/access.ts'
import type { Environment } from './config/environment.ts'
import type { Config, ConfiguredSource } from './config.ts'
import { LANE_LIMITS, Lanes } from './lanes.ts'
import type { Log } from './log.ts'
import { Report } from './report.ts'
import type { Redactor } from './redactor.ts'
import { Poller } from './schedule.ts'
import type { PollEnd } from './schedule.ts'
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
  readonly #startedAt: Date
  /** Sources of which a stored file was found damaged: the next pull takes them anew, known or not. */
  readonly #damaged = new Set<SourceId>()
  #poller: Poller | undefined
  #http: (() => HttpStatus) | undefined

  private constructor(config: Config, parts: Parts, publisher: Publisher, report: Report) {
    this.#config = config
    this.#parts = parts
    this.#publisher = publisher
    this.#report = report
    this.#startedAt = parts.clock.now()
    const { fetches, fetch } = config.limits
    // A fetch names its own limit better than the lane that takes its place away.
    this.#lanes = new Lanes({ ...LANE_LIMITS, ...fetches, timeoutMs: fetch.totalMs + LANE_MARGIN_MS })
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

  /** What the answers to clients are made from. */
  get serving(): Serving {
    const { instructions } = this.#config.serve
    return {
      registry: this.registry,
      read: (skill, file) => this.#read(skill, file),
      pages: this.#config.limits.listing,
      ...(instructions !== undefined && { instructions }),
    }
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
      machine: hostname(),
      random: Math.random,
      poll: async (id) => pollEndOf(await this.#request(this.#configured(id))),
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
  }

  #configured(id: SourceId): ConfiguredSource {
    const found = this.#config.sources.find(({ source }) => source.id === id)
    if (found === undefined) throw new TypeError(`No source is called "${id}"`)
    return found
  }

  async #request(configured: ConfiguredSource): Promise<Outcome> {
    const { source } = configured
    try {
      return await this.#lanes.request(source.id, hostOf(source), (signal) => this.#pull(configured, signal))
    } catch (error) {
      // The lane took the place back from a pull that did not end: that is an outcome too.
      if (!(error instanceof SyncError)) throw error
      const outcome: Outcome = { kind: 'failed', error }
      await this.#report.outcome(source, outcome, this.#config.limits.fetch.totalMs + LANE_MARGIN_MS)
      return outcome
    }
  }

  async #pull({ source, access }: ConfiguredSource, signal: AbortSignal): Promise<Outcome> {
    const { store, clock, environment, redactor, open = openUpstream } = this.#parts
    const startMs = clock.monotonicMs()
    const authorization = authorizationOf(access, environment, redactor)
    const current = this.#damaged.has(source.id) ? undefined : this.#publisher.currentOf(source.id)
    const onResolved = (revision: Revision): void => this.#report.resolved(source, revision)
    const pulling = { store, open, limits: this.#config.limits, authorization, onResolved }
    const pulled = await pull(source, current, pulling, signal)
    signal.throwIfAborted()
    const outcome = pulled.kind === 'updated' ? await this.#publish(pulled) : pulled
    await this.#report.outcome(source, outcome, clock.monotonicMs() - startMs)
    if (outcome.kind === 'updated') await this.#collect(signal)
    return outcome
  }

  async #publish(pulled: Extract<Outcome, { kind: 'updated' }>): Promise<Outcome> {
    try {
      this.registry.publish(await this.#publisher.publish(pulled.held, pulled.snapshot, this.#parts.clock.now()))
      this.#damaged.delete(pulled.held.source)
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
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      log.warn('collection-failed', { code: error.code, message: error.message })
    }
  }

  async #read(skill: Skill, file: SkillFile): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.store.skills.read(storedSkill(skill), file)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#mend(skill, error)
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
      void this.#request(this.#configured(source)).catch(ignoreStop)
    }
  }
}

const LANE_MARGIN_MS = 60_000

/** The host that a source's pulls are counted against; a repository on this disk has none. */
function hostOf(source: Source): string {
  return new URL(source.url).host
}

function pollEndOf(outcome: Outcome): PollEnd {
  if (outcome.kind !== 'failed') return { failed: false }
  const { retryAfterMs } = outcome.error
  return { failed: true, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

function ignoreStop(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error
}
