import { hostname } from 'node:os'
import type { Stored } from '../serve/content.ts'
import type { OAuthOptions } from '../serve/http/protected-resource.ts'
import type { Webhooks } from '../serve/http/webhook.ts'
import { Registry } from '../serve/registry.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import type { Decision } from '../sync/model/decisions.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { ObjectId, Revision } from '../sync/model/revision.ts'
import type { SkillFile } from '../sync/model/skill.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import type { Source } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { Damaged, SyncError } from '../sync/model/sync-error.ts'
import { Publisher } from '../sync/publisher.ts'
import type { Store } from '../sync/store/store.ts'
import { storedOf, type Current, type Pulling } from '../sync/take.ts'
import { ignoreAbort } from './abort-error.ts'
import { admissionOf, refusalOf } from './admission.ts'
import { Candidates, type Comparison } from './candidates.ts'
import type { Clock } from './clock.ts'
import { Freshness } from './freshness.ts'
import type { Environment } from './config/environment.ts'
import { idsOf } from './config.ts'
import type { Config, ConfiguredSource } from './config.ts'
import { ControlError } from './control-client.ts'
import { decisionAfter, decisionAfterRollback, isWaiting, type Verb } from './decide.ts'
import { Keyring } from './keyring.ts'
import { expectLock } from './lock-rules.ts'
import { FolderWatch } from './folder-watch.ts'
import type { Log } from './log.ts'
import { Nudges } from './nudges.ts'
import { hostOf } from './hosts.ts'
import { oauthOf } from './oauth.ts'
import { Puller, repositoryOf } from './puller.ts'
import { ownFolders } from './reaching.ts'
import { Report } from './report.ts'
import type { Redactor } from './redactor.ts'
import { fullCommit, heldAtCommit, heldInGeneration } from './rollback.ts'
import type { RollbackTarget, RolledBack } from './rollback.ts'
import { Poller } from './schedule.ts'
import { servingOf } from './serving.ts'
import { SessionJournal } from './session-journal.ts'
import { statusOf } from './status.ts'
import { Tokens } from './tokens.ts'
import type { HttpStatus, Status } from './status.ts'
import { webhooksOf } from './webhooks.ts'

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
  /** Who may ask over HTTP. */
  readonly tokens: Tokens
  /** The authorization server whose tokens are accepted. */
  readonly oauth: OAuthOptions | undefined
  readonly #config: Config
  readonly #parts: Parts
  readonly #report: Report
  readonly #puller: Puller
  readonly #candidates: Candidates
  readonly #startedAt: Date
  readonly #nudges: Nudges
  readonly #freshness: Freshness
  #poller: Poller | undefined
  #watches: readonly FolderWatch[] = []
  #http: (() => HttpStatus) | undefined

  private constructor(config: Config, parts: Parts, publisher: Publisher, report: Report) {
    this.#config = config
    this.#parts = parts
    this.#report = report
    this.#startedAt = parts.clock.now()
    this.tokens = new Tokens(config.state, () => parts.clock.now())
    this.oauth = config.serve.oauth && oauthOf(config.serve.oauth, parts)
    const { environment, redactor, clock } = parts
    const keyring = new Keyring({ environment, redactor, clock, fetchMs: config.limits.fetch.totalMs })
    this.#puller = new Puller({ ...parts, config, registry: this.registry, publisher, report, keyring })
    this.#candidates = new Candidates(config, parts, this.#puller.hosts)
    this.#nudges = new Nudges({
      clock: parts.clock,
      closedMs: (id) => this.#puller.hosts.closedMs(hostOf(this.#configured(id).source)),
      pull: (id) => this.#pullNudged(id),
    })
    this.#freshness = new Freshness(
      config.sources.map(({ source }) => source),
      {
        clock: parts.clock,
        waitMs: config.serve.tools?.waitMs ?? 0,
        sinceAttemptMs: (id) => this.#puller.sinceAttemptMs(id),
        isOpen: (source) => this.#isOpen(source),
        pull: (id) => this.#puller.request(this.#configured(id), 'call'),
      },
    )
  }

  /** Loads the last generation, as far as it may be served. Nothing is pulled before `poll` or `sync`. */
  static async start(config: Config, parts: Parts): Promise<Daemon> {
    await expectLock(config)
    const ids = idsOf(config)
    await readDecisions(parts)
    const { publisher, catalog, refused } = await Publisher.open(parts.store, ids, admissionOf(config))
    const report = await Report.open(parts.store.records, ids, parts.clock, parts.log)
    const daemon = new Daemon(config, parts, publisher, report)
    daemon.registry.publish(catalog)
    await readTokens(daemon.tokens, parts)
    // Others read the generation from the disk: it must not go on naming what may not be served.
    if (refused.length > 0) await daemon.#puller.publish(new Map(), { action: 'withdraw', trigger: 'start' }, NEVER)
    return daemon
  }

  get serving(): Serving {
    const look = (): Promise<number> => this.look()
    return servingOf(this.#config, this.registry, (kept, file) => this.#read(kept, file), { look })
  }

  /** What hosts may tell of their sources. */
  get webhooks(): Webhooks {
    return webhooksOf(this.#config, { ...this.#parts, nudge: (id) => this.#nudges.nudge(id) })
  }

  /** Where the sessions of its clients outlive this process. */
  openSessions(): SessionJournal {
    return new SessionJournal(this.#parts)
  }

  /** Pulls each source on its schedule from now on, and folders when something changes in them. */
  poll(): void {
    const watching = {
      ...this.#parts,
      nudge: (id: SourceId): void => this.#nudges.nudge(id),
      apart: ownFolders(this.#config, this.#parts.environment),
      isOfUse: (id: SourceId, path: string): boolean => this.#puller.isOfUse(id, path),
    }
    this.#watches = this.#config.sources.flatMap(({ source }) =>
      source.kind === 'directory' ? [new FolderWatch(source, watching)] : [],
    )
    const polled = this.#config.sources.map((configured) => ({
      id: configured.source.id,
      host: hostOf(configured.source),
      group: JSON.stringify([repositoryOf(configured), configured.source.schedule]),
      schedule: configured.source.schedule,
      isNew: this.#puller.currentOf(configured.source.id) === undefined,
    }))
    this.#poller = new Poller(polled, {
      clock: this.#parts.clock,
      hosts: this.#puller.hosts,
      machine: hostname(),
      random: Math.random,
      poll: async (id) => {
        const outcome = await this.#puller.request(this.#configured(id), 'schedule')
        return { failed: outcome.kind === 'failed' ? outcome.error.code : undefined }
      },
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
      return [configured.source.id, await this.#puller.request(configured, 'command')] as const
    })
    return new Map(await Promise.all(ends))
  }

  /**
   * Looks at the sources that are stale, or at this one however fresh it is, since somebody asks for what they have. Resolves
   * when that is served, or after so long (default: `serve.tools.wait`), and says how much of that is left.
   */
  async look(id?: SourceId, mostMs?: number): Promise<number> {
    return this.#freshness.look(id, mostMs)
  }

  /** Where the ref of a source points now. Nothing follows from it. */
  async revision(id: SourceId, signal: AbortSignal): Promise<Revision> {
    return this.#candidates.revision(this.#configured(id), signal)
  }

  /** What upstream has now beside what is served. Nothing follows from it. */
  async compare(id: SourceId, signal: AbortSignal): Promise<Comparison> {
    return this.#candidates.compare(this.#configured(id), this.#puller.currentOf(id), signal)
  }

  /** What upstream has now, or at one commit, brought to the store: to be looked at or locked, not served. */
  async candidate(id: SourceId, precise: ObjectId | undefined, signal: AbortSignal): Promise<Current> {
    return this.#candidates.take(this.#configured(id), this.#puller.currentOf(id), precise, signal)
  }

  /** Writes down what a person decided about a source. The next pull goes by it. */
  async decide(id: SourceId, verb: Verb, commit: string | undefined): Promise<void> {
    // A pull that is under way goes by what was decided before.
    await this.#puller.stop(id)
    const { condition, revision } = this.#report.recordOf(id)
    const served = this.#puller.currentOf(id)?.snapshot.revision
    const situation = { source: id, served, waiting: isWaiting(condition?.code) ? revision : undefined, commit }
    await this.#parts.store.decisions.change(id, (before) => decisionAfter(verb, before, situation))
    this.#parts.log.info('decided', { source: id, decision: verb, ...(commit !== undefined && { commit }) })
  }

  /**
   * Takes a skill out of service at once, or brings it back; it need not be there. Says whether that is new. On the disk first:
   * whoever was told that it is gone does not find it again after a kill.
   */
  async disable(id: SourceId, path: string, disabled: boolean): Promise<boolean> {
    const isNew = await this.#parts.store.decisions.disable(id, path, disabled)
    if (!isNew) return false
    this.#puller.serve()
    this.#parts.log.info(disabled ? 'skill-disabled' : 'skill-enabled', { source: id, skill: path })
    return true
  }

  /**
   * Serves again what was served before. `hold`: until it is released; else what was left is passed over, and the commit
   * after it is taken.
   */
  async rollback(target: RollbackTarget, hold: boolean, signal: AbortSignal): Promise<readonly RolledBack[]> {
    const back = await this.#backAt(target, signal)
    if (back.size === 0)
      throw new ControlError('nothing-to-decide', 'There is nothing to go back to: that is what is served')
    for (const { snapshot } of back.values()) {
      const refusal = await refusalOf(this.#config, snapshot)
      if (refusal !== undefined) throw refusal
    }
    signal.throwIfAborted()
    const done: RolledBack[] = []
    for (const [id, { snapshot }] of back) {
      // A pull that is under way would publish what is being left.
      await this.#puller.stop(id)
      const from = this.#puller.currentOf(id)?.snapshot.revision
      const to = snapshot.revision
      const after = (before: Decision): Decision => decisionAfterRollback(before, from, to, hold)
      done.push({ source: id, from, to, decision: await this.#parts.store.decisions.change(id, after) })
    }
    const source = target.kind === 'commit' ? { source: target.source } : {}
    await this.#puller.publish(back, { action: 'rollback', trigger: 'command', ...source }, NEVER)
    return done
  }

  status(): Status {
    return statusOf({
      config: this.#config,
      catalog: this.registry.catalog,
      recordOf: (id) => this.#report.recordOf(id),
      decisions: this.#parts.store.decisions.known,
      disabled: this.#parts.store.decisions.disabled,
      nextPolls: this.#poller?.nextPolls() ?? new Map(),
      startedAt: this.#startedAt,
      http: this.#http?.(),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nudges[Symbol.dispose]()
    await Promise.all(this.#watches.map((watch) => watch[Symbol.asyncDispose]()))
    await this.#poller?.[Symbol.asyncDispose]()
    await this.#puller[Symbol.asyncDispose]()
  }

  #isOpen(source: Source): boolean {
    const { mode } = this.#config
    const { known } = this.#parts.store.decisions
    if (known.get(source.id)?.paused === true || (mode.offline && source.kind !== 'directory')) return false
    return this.#puller.hosts.closedMs(hostOf(source)) === 0
  }

  #configured(id: SourceId): ConfiguredSource {
    const found = this.#config.sources.find(({ source }) => source.id === id)
    if (found === undefined) throw new TypeError(`No source is called "${id}"`)
    return found
  }

  async #backAt(target: RollbackTarget, signal: AbortSignal): Promise<ReadonlyMap<SourceId, Current>> {
    const { store } = this.#parts
    const currentOf = (id: SourceId): Current | undefined => this.#puller.currentOf(id)
    if (target.kind === 'generation') {
      const sources = this.#config.sources.map(({ source }) => source)
      return heldInGeneration(store, target.number, currentOf, sources)
    }
    const { source, commit } = target
    if (currentOf(source)?.snapshot.revision.commit === commit) return new Map()
    const held = (await heldAtCommit(store, source, commit)) ?? (await this.#vetted(source, commit, signal))
    return held.held.snapshot === currentOf(source)?.held.snapshot ? new Map() : new Map([[source, held]])
  }

  /** What was never served is shown to the gate first, whoever asks for it. */
  async #vetted(source: SourceId, commit: string, signal: AbortSignal): Promise<Current> {
    const candidate = await this.candidate(source, fullCommit(source, commit), signal)
    const veto = await this.#candidates.vetoOf(
      this.#configured(source),
      candidate,
      this.#puller.currentOf(source),
      signal,
    )
    // What the gate would have a person decide, a person is deciding.
    if (veto !== undefined && veto.code !== 'awaiting-approval') throw veto
    return candidate
  }

  /** That a webhook works again is told here and not at each request: this comes no oftener than pulls do. */
  async #pullNudged(id: SourceId): Promise<void> {
    this.#parts.log.debug('source-nudged', { source: id })
    this.#parts.log.recovery('webhook-refused', id)
    const configured = this.#configured(id)
    await this.#puller.request(configured, configured.source.kind === 'directory' ? 'change' : 'webhook')
  }

  async #read(kept: Stored, file: SkillFile): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.store.skills.read(storedOf(kept), file)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      // A disk that says no for the moment says nothing about the file.
      if (error instanceof Damaged) this.#mend(kept, error)
      else this.#parts.log.failure('warn', 'content-not-read', { source: '', code: error.code, message: error.message })
      return undefined
    }
  }

  /** A stored file is not what it was: its sources are pulled as if nothing were known of them. */
  #mend(kept: Stored, error: SyncError): void {
    const what = 'kind' in kept ? {} : { skill: kept.path }
    for (const snapshot of this.registry.catalog.snapshots) {
      const { source } = snapshot
      if (!holds(snapshot, kept) || !this.#puller.isDamagedNow(source)) continue
      this.#parts.log.warn('content-damaged', { source, ...what, message: error.message })
      // Who asked for the file is not kept waiting; the outcome is reported like any other.
      void this.#puller.request(this.#configured(source), 'call').catch(ignoreAbort)
    }
  }
}

function holds({ skills, docs }: Snapshot, kept: Stored): boolean {
  return ('kind' in kept ? [docs] : skills).some((found) => found?.digest === kept.digest)
}

/** Where they cannot be read, what is stored is served on, and nothing moves: each pull says why. */
async function readDecisions({ store, log }: Parts): Promise<void> {
  try {
    await store.decisions.read()
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.error('decisions-not-read', { code: error.code, message: error.message })
  }
}

/** Where they cannot be read, all but HTTP goes on, and there nobody is known. */
async function readTokens(tokens: Tokens, { log }: Parts): Promise<void> {
  try {
    await tokens.read()
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.error('tokens-not-read', { code: error.code, message: error.message })
  }
}

/** What must be on the disk is not stopped half way. */
const NEVER = new AbortController().signal
