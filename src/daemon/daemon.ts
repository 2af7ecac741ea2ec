import { hostname } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import type { OAuthOptions } from '../serve/http/protected-resource.ts'
import type { Webhooks } from '../serve/http/webhook.ts'
import { Registry } from '../serve/registry.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { ObjectId, Revision } from '../sync/model/revision.ts'
import type { Source } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { Publisher } from '../sync/publisher.ts'
import type { Current } from '../sync/take.ts'
import { admissionOf } from './admission.ts'
import { Candidates, type Comparison } from './candidates.ts'
import { Freshness } from './freshness.ts'
import { configuredIn, idsOf } from './config.ts'
import type { Config, ConfiguredSource } from './config.ts'
import { decisionAfter, isWaiting, type Verb } from './decide.ts'
import { Keyring } from './keyring.ts'
import { Contents } from './contents.ts'
import { expectLock } from './lock-rules.ts'
import { FolderWatch } from './folder-watch.ts'
import { Nudges } from './nudges.ts'
import { hostOf } from './hosts.ts'
import { oauthOf } from './oauth.ts'
import type { Parts } from './parts.ts'
import { Puller, repositoryOf } from './puller.ts'
import { ownFolders } from './reaching.ts'
import { Report } from './report.ts'
import type { RollbackTarget, RolledBack } from './rollback.ts'
import { Rollbacks } from './rollbacks.ts'
import { Poller } from './schedule.ts'
import { servingOf } from './serving.ts'
import { SessionJournal } from './session-journal.ts'
import { statusOf } from './status.ts'
import { Tokens } from './tokens.ts'
import type { HttpStatus, Status } from './status.ts'
import { webhooksOf } from './webhooks.ts'

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
  readonly #rollbacks: Rollbacks
  readonly #contents: Contents
  readonly #startedAt: Date
  readonly #nudges: Nudges
  readonly #freshness: Freshness
  #poller: Poller | undefined
  #watches: ReadonlyMap<SourceId, FolderWatch> = new Map()
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
    this.#rollbacks = new Rollbacks(config, parts, this.#puller, this.#candidates)
    const pullForCall = (id: SourceId): Promise<Outcome> => this.#puller.request(this.#configured(id), 'call')
    this.#contents = new Contents(parts, this.registry, {
      markDamaged: (id) => this.#puller.markDamaged(id),
      // Whoever asked for the file found the damage.
      pull: pullForCall,
    })
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
        hasNews: (id) => this.#puller.attempts.hasNews(id) || this.#watches.get(id)?.isSure === false,
        isOpen: (source) => this.#isOpen(source),
        pull: pullForCall,
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
    if (refused.length > 0) await daemon.#puller.publish(new Map(), { action: 'withdraw', trigger: 'start' })
    return daemon
  }

  get serving(): Serving {
    return servingOf(this.#config, this.registry, (kept, file) => this.#contents.read(kept, file), {
      look: (source, mostMs) => this.look(source, mostMs),
    })
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
      onNews: (id: SourceId): void => this.#puller.attempts.heard(id),
      isOfUse: (id: SourceId, path: string): Promise<boolean> => this.#puller.isOfUse(id, path),
    }
    this.#watches = new Map(
      this.#config.sources.flatMap(({ source }) =>
        source.kind === 'directory' ? [[source.id, new FolderWatch(source, watching)]] : [],
      ),
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
    // What the system has to tell of folders by now, it tells before.
    await turn()
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
    return this.#rollbacks.to(target, hold, signal)
  }

  status(): Status {
    return statusOf({
      config: this.#config,
      catalog: this.registry.catalog,
      recordOf: (id) => this.#report.recordOf(id),
      decisions: this.#parts.store.decisions.known,
      disabled: this.#parts.store.decisions.disabled,
      nextPolls: this.#poller?.nextPolls() ?? new Map(),
      lookingSince: this.#puller.attempts.lookingSince,
      startedAt: this.#startedAt,
      http: this.#http?.(),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nudges[Symbol.dispose]()
    await Promise.all([...this.#watches.values()].map((watch) => watch[Symbol.asyncDispose]()))
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
    return configuredIn(this.#config, id)
  }

  /** That a webhook works again is told here and not at each request: this comes no oftener than pulls do. */
  async #pullNudged(id: SourceId): Promise<void> {
    this.#parts.log.debug('source-nudged', { source: id })
    this.#parts.log.recovery('webhook-refused', id)
    const configured = this.#configured(id)
    await this.#puller.request(configured, configured.source.kind === 'directory' ? 'change' : 'webhook')
  }
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
