import { hostname } from 'node:os'
import { Registry } from '../serve/registry.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import { isAbout, settled, type Decision } from '../sync/model/decisions.ts'
import type { Cause, Trigger } from '../sync/model/generation.ts'
import type { Outcome, Updated, Waiting } from '../sync/model/outcome.ts'
import type { ObjectId, Revision } from '../sync/model/revision.ts'
import type { Skill, SkillFile } from '../sync/model/skill.ts'
import type { Source } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { Damaged, SyncError, isByChoice } from '../sync/model/sync-error.ts'
import { Publisher, type Changed } from '../sync/publisher.ts'
import { pull } from '../sync/pull.ts'
import type { Store } from '../sync/store/store.ts'
import { storedSkill, type Current, type Orders, type Pulling } from '../sync/take.ts'
import { ignoreAbort } from './abort-error.ts'
import { admissionOf } from './admission.ts'
import { Candidates, type Comparison } from './candidates.ts'
import type { Clock } from './clock.ts'
import type { Environment } from './config/environment.ts'
import { idsOf } from './config.ts'
import type { Config, ConfiguredSource } from './config.ts'
import { ControlError } from './control-client.ts'
import { decisionAfter, decisionAfterRollback, isWaiting, type Verb } from './decide.ts'
import { Hosts, leftAlone } from './hosts.ts'
import { keptByLock } from './kept.ts'
import { Lanes } from './lanes.ts'
import { expectLock, lockedEntry } from './lock-rules.ts'
import type { Log } from './log.ts'
import { cleaned, pullingOf } from './reaching.ts'
import { Report } from './report.ts'
import type { Redactor } from './redactor.ts'
import { fullCommit, heldAtCommit, heldInGeneration, notAdmitted } from './rollback.ts'
import type { RollbackTarget, RolledBack } from './rollback.ts'
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
  readonly #candidates: Candidates
  readonly #hosts: Hosts
  readonly #startedAt: Date
  /** What the last pull of a source held after a look into it. */
  readonly #waiting = new Map<SourceId, Waiting>()
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
    this.#candidates = new Candidates(config, parts)
    const { fetches, fetch } = config.limits
    // A fetch names its own limit better than the lane that takes its place away.
    this.#lanes = new Lanes({ ...fetches, timeoutMs: fetch.totalMs + LANE_MARGIN_MS, graceMs: GRACE_MS }, parts.clock)
  }

  /** Loads the last generation, as far as it may be served. Nothing is pulled before `poll` or `sync`. */
  static async start(config: Config, parts: Parts): Promise<Daemon> {
    await expectLock(config)
    const ids = idsOf(config)
    await parts.store.decisions.read()
    const { publisher, catalog, refused } = await Publisher.open(parts.store, ids, admissionOf(config))
    const report = await Report.open(parts.store.records, ids, parts.clock, parts.log)
    const daemon = new Daemon(config, parts, publisher, report)
    daemon.registry.publish(catalog)
    // Others read the generation from the disk: it must not go on naming what may not be served.
    if (refused.length > 0) await daemon.#publish(new Map(), { action: 'withdraw', trigger: 'start' }, NEVER)
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
      poll: async (id) => ({ failed: (await this.#request(this.#configured(id), 'schedule')).kind === 'failed' }),
    })
  }

  /** From now on the status tells of the HTTP side too. */
  isServedBy(http: () => HttpStatus): void {
    this.#http = http
  }

  /** Pulls now, all sources or those named, and says how it ended for each. */
  async sync(ids?: readonly SourceId[]): Promise<ReadonlyMap<SourceId, Outcome>> {
    const wanted = ids === undefined ? this.#config.sources : ids.map((id) => this.#configured(id))
    const ends = wanted.map(async (configured) => {
      return [configured.source.id, await this.#request(configured, 'command')] as const
    })
    return new Map(await Promise.all(ends))
  }

  /** Where the ref of a source points now. Nothing follows from it. */
  async revision(id: SourceId, signal: AbortSignal): Promise<Revision> {
    return this.#candidates.revision(this.#configured(id), signal)
  }

  /** What upstream has now beside what is served. Nothing follows from it. */
  async compare(id: SourceId, signal: AbortSignal): Promise<Comparison> {
    return this.#candidates.compare(this.#configured(id), this.#publisher.currentOf(id), signal)
  }

  /** What upstream has now, or at one commit, brought to the store: to be looked at or locked, not served. */
  async candidate(id: SourceId, precise: ObjectId | undefined, signal: AbortSignal): Promise<Current> {
    return this.#candidates.take(this.#configured(id), this.#publisher.currentOf(id), precise, signal)
  }

  /** Writes down what a person decided about a source. The next pull goes by it. */
  async decide(id: SourceId, verb: Verb, commit: string | undefined): Promise<void> {
    const { condition, revision } = this.#report.recordOf(id)
    const served = this.#publisher.currentOf(id)?.snapshot.revision
    const situation = { source: id, served, waiting: isWaiting(condition?.code) ? revision : undefined, commit }
    await this.#parts.store.decisions.change(id, (before) => decisionAfter(verb, before, situation))
    this.#parts.log.info('decided', { source: id, decision: verb, ...(commit !== undefined && { commit }) })
  }

  /**
   * Serves again what was served before. `hold`: until it is released; else what was left is passed over, and the commit
   * after it is taken.
   */
  async rollback(target: RollbackTarget, hold: boolean, signal: AbortSignal): Promise<readonly RolledBack[]> {
    const back = await this.#backAt(target, signal)
    if (back.size === 0)
      throw new ControlError('nothing-to-decide', 'There is nothing to go back to: that is what is served')
    const admits = admissionOf(this.#config)
    for (const [id, { snapshot }] of back) if (!(await admits(snapshot))) throw notAdmitted(id, snapshot.revision)
    const done: RolledBack[] = []
    for (const [id, { snapshot }] of back) {
      // A pull that is under way would publish what is being left.
      await this.#lanes.stop(id)
      const from = this.#publisher.currentOf(id)?.snapshot.revision
      const to = snapshot.revision
      const after = (before: Decision): Decision => decisionAfterRollback(before, from, to, hold)
      done.push({ source: id, from, to, decision: await this.#parts.store.decisions.change(id, after) })
    }
    const source = target.kind === 'commit' ? { source: target.source } : {}
    await this.#publish(back, { action: 'rollback', trigger: 'command', ...source }, signal)
    return done
  }

  status(): Status {
    return statusOf({
      config: this.#config,
      catalog: this.registry.catalog,
      recordOf: (id) => this.#report.recordOf(id),
      decisions: this.#parts.store.decisions.known,
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

  async #backAt(target: RollbackTarget, signal: AbortSignal): Promise<ReadonlyMap<SourceId, Current>> {
    const { store } = this.#parts
    const currentOf = (id: SourceId): Current | undefined => this.#publisher.currentOf(id)
    if (target.kind === 'generation') {
      const sources = this.#config.sources.map(({ source }) => source)
      return heldInGeneration(store, target.number, currentOf, sources)
    }
    const { source, commit } = target
    if (currentOf(source)?.snapshot.revision.commit === commit) return new Map()
    const held =
      (await heldAtCommit(store, source, commit)) ?? (await this.candidate(source, fullCommit(source, commit), signal))
    return held.held.snapshot === currentOf(source)?.held.snapshot ? new Map() : new Map([[source, held]])
  }

  async #request(configured: ConfiguredSource, trigger: Trigger): Promise<Outcome> {
    const { source } = configured
    try {
      return await this.#lanes.request(source.id, hostOf(source), (signal) => this.#run(configured, trigger, signal))
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
  async #run(configured: ConfiguredSource, trigger: Trigger, signal: AbortSignal): Promise<Outcome> {
    const { source } = configured
    const { store, clock, redactor } = this.#parts
    const startMs = clock.monotonicMs()
    // Looked at here and not when asked: another source of the host may have been sent away while this one waited.
    const closedMs = this.#hosts.closedMs(hostOf(source))
    if (closedMs > 0) return { kind: 'failed', error: leftAlone(source.id, closedMs) }
    const outcome = cleaned(await this.#pull(configured, trigger, signal), redactor)
    const retryAfterMs = outcome.kind === 'failed' ? outcome.error.retryAfterMs : undefined
    if (retryAfterMs !== undefined) this.#hosts.close(hostOf(source), retryAfterMs)
    await this.#report.outcome(source, outcome, clock.monotonicMs() - startMs)
    // Above the budget no fetch starts: what can be let go is looked for again at each try.
    if (outcome.kind === 'updated' || store.bytes > this.#config.limits.disk.bytes) await this.#collect(signal)
    return outcome
  }

  async #pull(configured: ConfiguredSource, trigger: Trigger, signal: AbortSignal): Promise<Outcome> {
    const { source } = configured
    const current = this.#damaged.has(source.id) ? undefined : this.#publisher.currentOf(source.id)
    const orders = await this.#ordersOf(source)
    if ('kind' in orders) return this.#ended(source, orders, trigger, signal)
    const onResolved = (revision: Revision): void => this.#report.resolved(source, revision)
    const pulling = { ...pullingOf(configured, this.#config, this.#parts), onResolved }
    const pulled = await pull(source, current, orders, pulling, signal)
    signal.throwIfAborted()
    return this.#ended(source, pulled, trigger, signal)
  }

  /** What a pull goes by, or how it ends without one. */
  async #ordersOf(source: Source): Promise<Orders | Outcome> {
    try {
      const decision = this.#parts.store.decisions.of(source.id)
      if (decision.paused) {
        return { kind: 'held', revision: undefined, reason: new SyncError('paused', `"${source.id}" is paused`) }
      }
      const locked = await lockedEntry(this.#config, source)
      const { offline } = this.#config.mode
      return { decision, offline, waiting: this.#waiting.get(source.id), ...(locked !== undefined && { locked }) }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { kind: 'failed', error, ...(error.code === 'lock-mismatch' && { withdraw: true }) }
    }
  }

  /** What follows from the end of a pull for what is served. */
  async #ended(source: Source, outcome: Outcome, trigger: Trigger, signal: AbortSignal): Promise<Outcome> {
    // What a person decided can be taken back before the ref moves again.
    const isLooked = outcome.kind === 'held' && outcome.revision !== undefined && !isByChoice(outcome.reason.code)
    if (isLooked) this.#waiting.set(source.id, outcome)
    else this.#waiting.delete(source.id)
    try {
      if (outcome.kind === 'updated') await this.#serve(source, outcome, trigger, signal)
      if (outcome.kind === 'failed' && outcome.withdraw) await this.#withdraw(source, trigger, signal)
      return outcome
    } catch (error) {
      if (error instanceof SyncError) return { kind: 'failed', error }
      throw error
    }
  }

  async #serve({ id }: Source, updated: Updated, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const { held, snapshot, from, rewritten } = updated
    const cause: Cause = { action: 'update', trigger, source: id, ...(rewritten && { rewritten }) }
    await this.#publish(new Map([[id, { held, snapshot }]]), cause, signal)
    this.#damaged.delete(id)
    // What was said of a candidate is done with once the source has moved on.
    if (!isAbout(from, snapshot.revision)) await this.#parts.store.decisions.change(id, settled)
  }

  async #withdraw({ id }: Source, trigger: Trigger, signal: AbortSignal): Promise<void> {
    if (this.#publisher.currentOf(id) === undefined) return
    await this.#publish(new Map([[id, undefined]]), { action: 'withdraw', trigger, source: id }, signal)
  }

  async #publish(changed: Changed, cause: Cause, signal: AbortSignal): Promise<void> {
    this.registry.publish(await this.#publisher.publish(changed, cause, this.#parts.clock.now(), signal))
  }

  /** What cannot be removed now is removed after the next update: nothing that is served depends on it. */
  async #collect(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    try {
      await store.collect(clock.now(), this.#config.retention, await keptByLock(store, this.#config), signal)
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
      void this.#request(this.#configured(source), 'schedule').catch(ignoreAbort)
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

/** What must be on the disk is not stopped half way. */
const NEVER = new AbortController().signal
