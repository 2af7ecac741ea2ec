import PQueue from 'p-queue'
import type { SecondOpinion } from '../../sync/git/second-opinion/second-opinion.ts'
import { UNDECIDED } from '../../sync/model/decisions/decisions.ts'
import type { LockEntry } from '../../sync/model/decisions/lock.ts'
import type { ObjectId, Revision } from '../../sync/model/revision.ts'
import { isSameRevision } from '../../sync/model/revision.ts'
import type { Snapshot, ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isAway, type Source } from '../../sync/model/source.ts'
import { offlineError, SyncError } from '../../sync/model/sync-error.ts'
import { fetchSnapshot } from '../../sync/pull/fetch-snapshot.ts'
import type { Pull, PullContext } from '../../sync/pull/pull-context.ts'
import { secondLook } from '../../sync/pull/second-opinion.ts'
import type { Workspace } from '../../sync/store/objects/blob-store.ts'
import { isByRules, knownTrees } from '../../sync/survey/survey-rules.ts'
import type { LogAudit, PublishedUpstream, Relation, TreeUpstream } from '../../sync/upstream/upstream.ts'
import type { HostNames } from '../access/host-names.ts'
import { Keyring } from '../access/keyring.ts'
import { configuredIn } from '../config/config.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { CollectionTimes } from './collection-times.ts'
import { cleanError, newPullContext } from './pull-context.ts'
import type { ReachingParts } from './pull-context.ts'
import { hostOf, type HostBackoff } from './schedule/host-backoff.ts'
import { throttleUpstream, step } from './schedule/throttled-upstream.ts'
import { lockRead } from './trust/lock-rules.ts'

/** The position of the upstream, and its relation to what is served. */
export interface Comparison {
  readonly served: Revision | undefined
  readonly revision: Revision
  /** The relation of the served commit to the upstream commit, if they differ. */
  readonly relation?: Relation
  /** True if the upstream no longer provides the served commit. */
  readonly isGone?: boolean
}

export interface CandidatesParts extends ReachingParts {
  readonly config: Config
  readonly served: { currentOf(id: SourceId): ServedSource | undefined }
  readonly hosts: HostBackoff
  readonly names: HostNames
  readonly collections: CollectionTimes
}

const RECENT_MS = 3_600_000

/** Inspects the upstream for a decision by the operator. Nothing is served as a result. */
export class Candidates {
  readonly #config: Config
  readonly #parts: CandidatesParts
  readonly #keyring: Keyring
  readonly #places: PQueue
  /** The times of candidates on the monotonic clock, by the digests of their snapshots. */
  readonly #recent = new Map<string, number>()
  /** Runs one at a time: each holds a whole repository in memory. */
  readonly #secondPlace = new PQueue({ concurrency: 1 })

  constructor(parts: CandidatesParts) {
    const { config } = parts
    // A separate keyring: a pull of the same source may be running with the answer of its helper.
    this.#keyring = new Keyring({ ...parts, fetchMs: config.limits.fetch.totalMs })
    this.#config = config
    this.#parts = parts
    this.#places = new PQueue({ concurrency: config.limits.fetches.concurrency })
  }

  /** The snapshots that were taken recently: an operator is about to compare or to lock them. */
  get recent(): ReadonlySet<string> {
    const now = this.#parts.clock.monotonicMs()
    for (const [digest, at] of this.#recent) if (now - at > RECENT_MS) this.#recent.delete(digest)
    return new Set(this.#recent.keys())
  }

  /** The revision that the ref of a source points to now. Changes nothing. */
  async revision(id: SourceId, signal: AbortSignal): Promise<Revision> {
    return this.#inspect(id, signal, async (one, workspace) => one.io.open(one.source, workspace).resolve(signal))
  }

  /** Fetches the current upstream, or one commit, into the store, to be inspected or locked. It is not served. */
  async take(id: SourceId, precise: ObjectId | undefined, signal: AbortSignal): Promise<ServedSource> {
    return this.#inspect(id, signal, async (one, workspace) => {
      const { source, current } = one
      const upstream = one.io.open(source, workspace)
      const revision =
        precise === undefined ? await upstream.resolve(signal) : { asked: source.ref, ref: precise, commit: precise }
      if (current !== undefined && this.#isSame(current.snapshot, source, revision)) return current
      using use = this.#parts.collections.begin()
      use.stored()
      const orders = { ...one.orders, former: await this.#formerOf(source) }
      const snapshot = await fetchSnapshot({ ...one, orders, revision, upstream })
      const held = { source: source.id, snapshot: await this.#parts.store.snapshots.keep(snapshot, signal) }
      this.#recent.set(held.snapshot, this.#parts.clock.monotonicMs())
      return { held, snapshot }
    })
  }

  /** Fetches a commit with all of its files once more: something that is stored of it is damaged. */
  async refetch(id: SourceId, commit: ObjectId, signal: AbortSignal): Promise<void> {
    await this.#inspect(id, signal, async (one, workspace) => {
      const { source } = one
      const revision = { asked: source.ref, ref: commit, commit }
      using _lease = this.#parts.store.objects.lease()
      const orders = { ...one.orders, isDamaged: true }
      const upstream = one.io.open(source, workspace)
      await this.#parts.store.snapshots.keep(await fetchSnapshot({ ...one, orders, revision, upstream }), signal)
    })
  }

  /** The lock entry that a new one would replace. A job without state has nothing else to keep skills from. */
  async #formerOf(source: Source): Promise<LockEntry | undefined> {
    const read = source.kind === 'git' && source.onBroken === 'keep' ? await lockRead(this.#config) : undefined
    return read instanceof SyncError ? undefined : read?.sources.get(source.id)
  }

  #isSame(snapshot: Snapshot, source: Source, revision: Revision): boolean {
    const isByThese = isByRules({ selection: source, limits: this.#config.limits }, snapshot)
    return isByThese && snapshot.url === source.url && isSameRevision(snapshot.revision, revision)
  }

  /** Compares the upstream now with what is served. Changes nothing. */
  async compare(id: SourceId, signal: AbortSignal): Promise<Comparison> {
    return this.#inspect(id, signal, async (one, workspace) => {
      const { source, current } = one
      const upstream = one.io.open(source, workspace)
      const revision = await upstream.resolve(signal)
      if (current === undefined) return { served: undefined, revision }
      const served = current.snapshot.revision
      if (served.commit === revision.commit) return { served, revision }
      const relation = await upstream.relation(served.commit, revision.commit, signal)
      // A folder, a server or a channel need not keep previous revisions: nothing is lost by that.
      const isKept = relation === 'descends' || upstream.kind !== 'tree' || source.kind === 'directory'
      const isGone = !isKept && (await this.#isGone(one, current, upstream))
      return { served, revision, relation, isGone }
    })
  }

  /** Compares the served commit with the same commit fetched by a second reader; `undefined` if nothing is served. */
  async secondOpinion(id: SourceId, signal: AbortSignal): Promise<SecondOpinion | undefined> {
    const snapshot = this.#parts.served.currentOf(id)?.snapshot
    return snapshot && this.#secondPlace.add(() => this.#compareAgain(id, snapshot, signal), { signal })
  }

  /** The proof that the log of a channel has the entry of what is served of it, as text; nothing is changed. */
  async prove(id: SourceId, signal: AbortSignal): Promise<string> {
    return this.#inspect(id, signal, async (one, workspace) => {
      const { revision, published } = one.current?.snapshot ?? nothingOf(id)
      return publishedBy(one, workspace).prove(revision.commit, published?.entry?.index, signal)
    })
  }

  /** Reads the whole log of a channel. `other`: the checkpoint of another machine. Nothing that is served changes. */
  async auditLog(
    id: SourceId,
    other: string | undefined,
    onRead: (entries: number) => void,
    signal: AbortSignal,
  ): Promise<LogAudit> {
    return this.#inspect(id, signal, async (one, workspace) =>
      publishedBy(one, workspace).audit({ served: one.current?.snapshot.revision.commit, other }, onRead, signal),
    )
  }

  async #compareAgain(id: SourceId, snapshot: Snapshot, signal: AbortSignal): Promise<SecondOpinion> {
    const configured = configuredIn(this.#config, id)
    const { source } = configured
    const throttle = { source: id, host: hostOf(source), hosts: this.#parts.hosts }
    const { fetch: limits } = this.#config.limits
    return this.#inspect(id, signal, (_, { scratch }) => {
      // Made here, in the slot: a way of the same source that was made before it loses the answer of its helper.
      const way = this.#keyring.wayTo(configured)
      return step(throttle, () => secondLook(source, snapshot, { way, limits, scratch }, signal))
    })
  }

  /** The objection of the gate against serving a candidate. */
  async vetoOf({ snapshot }: ServedSource, signal: AbortSignal): Promise<SyncError | undefined> {
    const configured = configuredIn(this.#config, snapshot.source)
    const current = this.#parts.served.currentOf(snapshot.source)
    return this.#contextOf(configured).gate?.(snapshot, current?.snapshot, signal)
  }

  /** Fetches only the commit: its trees are known. */
  async #isGone({ source, signal }: Pull, { snapshot }: ServedSource, upstream: TreeUpstream): Promise<boolean> {
    const { asked, commit } = snapshot.revision
    const known = knownTrees({ selection: source, limits: this.#config.limits }, snapshot)
    try {
      await using _tree = await upstream.fetch({ asked, ref: commit, commit }, known, signal)
      return false
    } catch (error) {
      if (error instanceof SyncError && error.code === 'ref-not-found') return true
      throw error
    }
  }

  /** Observes the same limits as a pull: a backoff that a host requested also applies to mere checks. */
  #contextOf(configured: ConfiguredSource): PullContext {
    const io = newPullContext(configured, this.#parts, this.#keyring)
    const host = hostOf(configured.source)
    const throttle = { source: configured.source.id, host, hosts: this.#parts.hosts, fetching: async () => {} }
    return { ...io, open: (source, workspace) => throttleUpstream(io.open(source, workspace), throttle) }
  }

  async #inspect<Seen>(
    id: SourceId,
    signal: AbortSignal,
    inspect: (one: Pull, workspace: Workspace) => Promise<Seen>,
  ): Promise<Seen> {
    const configured = configuredIn(this.#config, id)
    const { source } = configured
    if (this.#config.mode.offline && isAway(source)) throw offlineError(`Cannot fetch "${id}":`)
    const io = this.#contextOf(configured)
    const current = this.#parts.served.currentOf(id)
    const one: Pull = { source, current, orders: { decision: UNDECIDED, offline: false }, io, signal }
    return this.#places.add(
      async () => {
        await using workspace = await this.#parts.store.workspace()
        try {
          const seen = await inspect(one, workspace)
          await this.#keyring.heard(configured, { kind: 'unchanged' }, signal)
          return seen
        } catch (error) {
          if (!(error instanceof SyncError)) throw error
          await this.#keyring.heard(configured, { kind: 'failed', error }, signal)
          throw cleanError(error, this.#parts.redactor)
        }
      },
      { signal },
    )
  }
}

function publishedBy({ io, source }: Pull, workspace: Workspace): PublishedUpstream {
  const upstream = io.open(source, workspace)
  if (upstream.kind === 'published') return upstream
  throw new OperatorError('bad-request', `"${source.id}" follows no channel`)
}

function nothingOf(id: SourceId): never {
  throw new OperatorError('nothing-served', `Nothing of "${id}" is served; try skillsyncd sync`)
}
