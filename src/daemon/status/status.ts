import type { Unready } from '../../serve/http/health.ts'
import { VERSION } from '../../serve/version.ts'
import { catalogBudget } from '../../sync/catalog/budget/catalog-budget.ts'
import type { CatalogBudget } from '../../sync/catalog/budget/catalog-budget.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { contractDiagnostics, diagnosticsAbout } from '../../sync/catalog/contract-diagnostics.ts'
import type { ContractDiagnostic } from '../../sync/catalog/contract-diagnostics.ts'
import type { Approvals } from '../../sync/model/decisions/approvals.ts'
import { UNDECIDED, identityOf, type SourceDecision, type Decisions } from '../../sync/model/decisions/decisions.ts'
import { disabledHere, firstPlace, type OutOfService } from '../../sync/model/decisions/out-of-service.ts'
import type { ListingForm } from '../../sync/model/listing-form.ts'
import { askedText, isObjectId } from '../../sync/model/revision.ts'
import type { Revision } from '../../sync/model/revision.ts'
import type { Offers } from '../../sync/model/server-listing.ts'
import type { Signers } from '../../sync/model/signers.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { isAwaitingDecision, isByChoice, mendOf, plainProblemOf, SyncError } from '../../sync/model/sync-error.ts'
import type { Problem, SyncErrorCode } from '../../sync/model/sync-error.ts'
import { findingProblem } from '../../sync/model/verdict/skill-problems.ts'
import { decidedIn, tallyOf, UNDECIDED_SKILLS } from '../../sync/model/verdict/skill-states.ts'
import type { DecidedSkills, SkillDecisions } from '../../sync/model/verdict/skill-states.ts'
import { byState, NO_WAYS } from '../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Tally, Verdict } from '../../sync/model/verdict/verdict.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'
import type { FollowedLock } from '../../sync/store/followed-lock.ts'
import { NO_SCANS } from '../../sync/store/scan-records.ts'
import type { SkillScan, SourceScans } from '../../sync/store/scan-records.ts'
import { hasMismatch } from '../../sync/store/skills/listing-mismatches.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'
import type { ExpiringToken } from '../access/tokens.ts'
import { credentialOf } from '../config/auth.ts'
import type { Config, ConfiguredSource, Mode } from '../config/config.ts'
import { lockStateOf, lostLock } from '../pull/trust/lock-rules.ts'
import type { LockRead, LockStanding } from '../pull/trust/lock-rules.ts'
import type { ReplicasStatus } from '../runtime/hub-replica.ts'
import { outProblem } from './decision-text.ts'
import { lockOriginStatusOf } from './lock-text.ts'
import { servedLost } from './lost-sources.ts'
import type { ServedLost } from './lost-sources.ts'
import { countsOf } from './marketplace-rows.ts'
import type { MarketplaceCounts } from './marketplace-rows.ts'
import { collisionsIn } from './name-collisions.ts'
import type { Collisions } from './name-collisions.ts'
import type { ChannelStatus, PublicationStatus } from './publication-status.ts'
import { sourceScanOf } from './source-scan.ts'
import type { SourceScanStatus } from './source-scan.ts'
import { isContractUnserved } from './unserved-contract.ts'
import { verdictsIn } from './verdicts.ts'
import { verifiedOfAll, type KeptDigests, type Verified } from './verified-files.ts'

/** The state of the installation, as plain data: the output of `skillsyncd status --json`. Times are ISO 8601, UTC. */
export interface Status {
  readonly version: string
  readonly state: string
  /** The served generation; 0 before the first. */
  readonly generation: number
  readonly skills: number
  readonly sources: readonly SourceStatus[]
  /** True if the command could not read the decisions, so that it judges no skill. */
  readonly isUnjudged?: true
  /** Names that skills of different sources and contents share. All of the skills are served. */
  readonly collisions: Collisions
  /** Problems between skills of the contract, across all sources. */
  readonly problems: readonly ContractDiagnostic[]
  /** The context budget of the served skills, computed by the command that prints the status. */
  readonly budget?: CatalogBudget
  /** The lock of the configuration; absent if the sources were named on a command line. */
  readonly lock?: LockStatus
  /**
   * The reason why the operator's decisions and their copy were lost, with the remedy. The record of them that remains
   * determines what is served.
   */
  readonly decisionsLost?: string
  /** Sources whose served content was lost on disk, with what is served until it is fetched again. */
  readonly servedLost: readonly ServedLost[]
  /** The scans of what is served; absent if the gate is no scanner, or no daemon runs. */
  readonly scans?: ScansStatus
  /** The repositories that the marketplace is published to; absent if there are none, or no daemon runs. */
  readonly publications?: readonly PublicationStatus[]
  /** The channels of this hub. */
  readonly channels?: readonly ChannelStatus[]
  /** The hub that is followed in place of sources; absent once a source of it is known. */
  readonly hub?: FollowedHub
  /** The rings in their order; absent if there are none. */
  readonly rings?: readonly RingStatus[]
  /** The process that answers; absent if none runs and the state folder was read. */
  readonly daemon?: DaemonStatus
  /**
   * A process that has the lock and cannot be queried from here: one in another container or machine, or one of this
   * machine that does not answer at its socket; absent if there is none.
   */
  readonly elsewhere?: WriterElsewhere
  /** The reason why that process does not write the state folder, with a remedy; absent if it writes. */
  readonly readOnly?: SourceProblem
  /** The processes of the hub, if it has several. */
  readonly replicas?: ReplicasStatus
  /** The HTTP state of that process, if it has an HTTP server. */
  readonly http?: HttpStatus
}

/** One ring, with the sources of which it serves another commit than the first ring. */
export interface RingStatus {
  readonly id: string
  /** The time for which the ring before serves a commit until this one takes it. */
  readonly minAgeMs: number
  /**
   * The rise of the share of failed uses, from 0 to 1, above which the ring does not take the new content of a skill.
   * `undefined` for the first ring, which takes each commit.
   */
  readonly mostFailures: number | undefined
  /** The share of the principals that no ring names, from 0 to 1; that of the last ring is what the others leave. */
  readonly share: number
  readonly sources: readonly RingSourceStatus[]
}

/** The content of one source in a ring. */
export interface RingSourceStatus {
  readonly source: SourceId
  /**
   * The commit that the ring serves, and the time from which it does. Absent if the ring serves nothing of the source yet,
   * or, beside a hold, what the first ring serves.
   */
  readonly commit?: string
  readonly since?: string
  /** The newest commit that the ring before serves, and that this ring may take; absent if there is none. */
  readonly next?: string
  /** The time at which the ring may take the next commit; absent if that is now, or if there is none. */
  readonly nextAt?: string
  /** The reason why the ring takes nothing now. */
  readonly problem?: { readonly code: string; readonly message: string }
  /** The hold of the operator: its time. */
  readonly heldAt?: string
}

/** The scans of the served contents, as `skillsyncd status --json` has them. */
export interface ScansStatus {
  /** The name of the scanner in the configuration. */
  readonly scanner: string
  readonly running?: ScanProgress
  /** The last run of this process. */
  readonly last?: {
    /** ISO 8601, UTC. */
    readonly at: string
    /** The number of contents with a scan, stored ones included. */
    readonly scanned: number
    readonly counts: SkillScan['counts']
    readonly failed: number
    readonly refused: number
  }
  /** The reason why the last run ended early. */
  readonly error?: string
  readonly waiting?: MassFinding
  /** The time of the next run, if there is one. */
  readonly next?: string
}

export interface ScanProgress {
  readonly done: number
  readonly of: number
}

export interface MassFinding {
  /** The number of skills that scans would keep out of service. */
  readonly skills: number
  readonly of: number
  readonly mostPercent: number
}

/** The process that answers, with its mode. */
export interface DaemonStatus extends Mode {
  readonly pid: number
  readonly startedAt: string
}

/** A process that has the lock of the state folder and cannot be queried. */
export interface WriterElsewhere {
  readonly pid: number
  /** The command with which it was started. */
  readonly command: string
  /** True if it renewed its lease during the check, or runs on this machine. */
  readonly isAlive: boolean
  /** The state of a process of this machine, as text. */
  readonly silent?: string
}

export interface LockStatus {
  readonly file: string
  /** The configured use of the lock. Some sources follow it in any case. */
  readonly use: Config['lockUse']
  readonly isThere: boolean
  /** The reason why it cannot be read. */
  readonly error?: string
  /** The number of sources that follow it. */
  readonly followed: number
  /** The repository that it is followed from, if it is. */
  readonly from?: LockOriginStatus
}

/** The repository whose lock is followed, the commit in force, and its problem. */
export interface LockOriginStatus {
  readonly url: string
  /** The configured ref; absent for the default branch. */
  readonly ref?: string
  readonly path: string
  /** The commit whose lock is in force, and the time at which it was taken; absent before the first. */
  readonly commit?: string
  readonly at?: string
  /** The reason why a newer commit is not in force. */
  readonly problem?: SourceProblem & { readonly since: string }
}

export interface HttpStatus {
  readonly url: string
  readonly sessions: number
  readonly streams: number
  /** The number of URIs with at least one subscription. */
  readonly subscribedUris: number
  /** The second listener, if there is one: it accepts webhooks. */
  readonly operations?: { readonly url: string }
  /** The reasons why `/readyz` sends requests elsewhere; empty if it does not. */
  readonly unready: readonly Unready[]
  /** True if a token is required, and the number of tokens; no number if they cannot be read. */
  readonly tokens: {
    readonly required: boolean
    readonly count?: number
    /** Those that expire within two weeks, or did in the last two; absent if they cannot be read. */
    readonly expiring?: readonly ExpiringToken[]
  }
}

export interface SourceStatus {
  readonly id: SourceId
  readonly kind: Source['kind']
  readonly url: string
  /** The address to which its host redirects, if it differs: the one to configure. */
  readonly movedTo?: string
  readonly ref: string | undefined
  readonly update: 'auto' | 'locked' | 'review'
  readonly lock: LockStanding
  /** The operator's decisions about it; empty if there are none. */
  readonly decision: SourceDecision
  /**
   * The number of skills of another MCP server that are withheld because it sent other bytes than it declares.
   */
  readonly mismatched: number
  /** For an MCP server: the form of its listing of the served skills. */
  readonly form?: ListingForm
  /** For an MCP server: true if it declares its listing private to the holder of the credential. */
  readonly isPrivate?: true
  /** For an MCP server: what it offers and is not taken. */
  readonly offers?: Offers
  /**
   * For an MCP server, from the process that answers: the bytes of its files fetched in the last hour, and
   * `budgets.hourly_bytes`.
   */
  readonly fetched?: { readonly bytes: number; readonly most: number }
  /** For an MCP server: its verified files. Present only if the state folder is read for it. */
  readonly verified?: Verified
  /** The plugin marketplace in the served commit, if it was read; without files if there is none. */
  readonly marketplace?: MarketplaceCounts
  /** The served commit. */
  readonly served: ServedCommit | undefined
  /**
   * The commit of the upstream's ref at its last answer. It equals the served one if that is up to date. Absent if
   * upstream has not reported it: it was not queried since, or a lock, a hold or the configuration names the commit.
   */
  readonly upstream: { readonly commit: string; readonly at: string } | undefined
  readonly lastAttempt: string | undefined
  readonly lastSuccess: string | undefined
  /** During a pull, the time at which that pull was due. */
  readonly nextPoll: string | undefined
  /** The start of the pull that is under way. */
  readonly lookingSince: string | undefined
  readonly problem: SourceProblem | undefined
  readonly tally: Tally
  /** The number of its skills that have the contract block although the source does not use the contract. */
  readonly unservedContracts: number
  /**
   * The skills that are not simply served, by state, and those that are disabled and not there. Empty in the answer of a
   * daemon, which must fit into one line of the socket: the command that prints the status judges them.
   */
  readonly verdicts: readonly PathVerdict[]
  /** The problems of the source that are of no skill; empty likewise. */
  readonly findings: readonly SkillProblem[]
  /** The findings of the scanner of `gate`. Absent if nothing of the source was scanned. */
  readonly scan?: SourceScanStatus
}

/** The verdict about the skill of a folder. */
export interface PathVerdict extends Verdict {
  /** Its real folder. */
  readonly path: string
}

export interface ServedCommit {
  readonly commit: string
  readonly ref: string
  readonly signers?: Signers
  /** The address that it came from, if the source has another one now. */
  readonly url?: string
  /** The commit was gone: its skills were restored from this source, by their locked digests. */
  readonly rebuiltFrom?: SourceId
}

/** The problem that a source has now. */
export interface SourceProblem extends Problem {
  readonly fix: string
  /** With `credentials-rejected`: the origin of the secret. Never the secret itself. */
  readonly credential?: string
}

/** A hub of which no source is known yet. */
export interface FollowedHub {
  readonly url: string
  /** The reason why its channel could not be read. */
  readonly problem?: SourceProblem
}

/** The data from which a status is made. */
export interface StatusInput {
  /**
   * True to leave out the verdicts and findings: collecting them takes long for thousands of skills, and not all readers
   * need them.
   */
  readonly leavesFindings?: boolean
  readonly config: Config
  readonly catalog: Catalog
  /** The record of the source at its present address. Of a record for another address only `followed` remains. */
  readonly recordOf: (source: Source) => SourceRecord
  readonly decisions: Decisions
  readonly outOfService: OutOfService
  /** The loss of `decisions.json` and its copy. */
  readonly loss: SyncError | undefined
  readonly approvals: Approvals
  readonly lock: LockRead
  /** The origin of a lock that is followed from a repository. */
  readonly followedLock?: FollowedLock
  readonly publications?: readonly PublicationStatus[]
  /** The channels of this hub. */
  readonly channels?: readonly ChannelStatus[]
  readonly hub?: FollowedHub | undefined
  readonly rings?: readonly RingStatus[] | undefined
  readonly scans?: ScansStatus | undefined
  readonly nextPolls: ReadonlyMap<SourceId, Date>
  readonly lookingSince: ReadonlyMap<SourceId, Date>
  /** The bytes of files that came from an MCP server in the last hour. `undefined` if no daemon runs. */
  readonly fetchedFrom: ((id: SourceId) => number) | undefined
  /** `undefined` if no daemon runs. */
  readonly startedAt: Date | undefined
  readonly lost: readonly LostSource[]
  /** The reason why that daemon does not write. */
  readonly readOnly?: SyncError | undefined
  readonly replicas?: ReplicasStatus | undefined
  readonly http: HttpStatus | undefined
}

export function statusOf(input: StatusInput): Status {
  const { config, catalog, startedAt, readOnly, replicas, http, loss, publications, channels, hub, rings, scans } =
    input
  return {
    version: VERSION,
    state: config.state,
    generation: catalog.generation,
    skills: catalog.listed.length,
    sources: config.sources.map((configured) => sourceStatus(configured, input)),
    collisions: collisionsIn(catalog),
    // The reader that prints the status computes them, because that would block this process.
    problems: [],
    ...(config.lock !== undefined && { lock: lockStatusOf(config.lock, input) }),
    ...(loss !== undefined && { decisionsLost: loss.message }),
    servedLost: servedLost(input.lost),
    ...((publications?.length ?? 0) > 0 && { publications }),
    ...((channels?.length ?? 0) > 0 && { channels }),
    ...(hub !== undefined && { hub }),
    ...(rings !== undefined && rings.length > 0 && { rings }),
    ...(scans !== undefined && { scans }),
    ...(replicas !== undefined && { replicas }),
    ...(readOnly !== undefined && {
      readOnly: { code: readOnly.code, message: readOnly.message, fix: mendOf(readOnly) },
    }),
    ...(startedAt !== undefined && {
      daemon: { pid: process.pid, startedAt: startedAt.toISOString(), ...config.mode },
    }),
    ...(http !== undefined && { http }),
  }
}

function lockStatusOf(file: string, { lock, config, decisions, followedLock }: StatusInput): LockStatus {
  const use = config.lockUse
  const origin = config.lockFrom && { from: lockOriginStatusOf(config.lockFrom, followedLock) }
  const standings = config.sources.map(({ source }) => lockStateOf(lock, config, source, decisions.get(source.id)))
  const followed = standings.filter(({ state }) => state === 'followed' || state === 'other-rules').length
  if (lock instanceof SyncError) return { file, use, isThere: true, error: lock.message, followed, ...origin }
  return { file, use, isThere: lock !== undefined, followed, ...origin }
}

function sourceStatus(configured: ConfiguredSource, input: StatusInput): SourceStatus {
  const { source } = configured
  const snapshot = input.catalog.snapshots.find((candidate) => candidate.source === source.id)
  const record = input.recordOf(source)
  const { movedTo, revision, lastAttempt, lastSuccess } = record
  const decided = snapshot === undefined ? UNDECIDED_SKILLS : decidedIn(snapshot, source, input)
  const decision = input.decisions.get(source.id) ?? UNDECIDED
  const lock = lockStateOf(input.lock, input.config, source, decision, record)
  const problem = record.problem ?? lossOf(lock, source, input)
  const isMoved = snapshot !== undefined && snapshot.url !== source.url
  return {
    id: source.id,
    kind: source.kind,
    url: source.url,
    ...(movedTo !== undefined && { movedTo }),
    ref: typeof source.ref === 'object' ? askedText(source.ref) : source.ref,
    update: source.update,
    lock,
    decision,
    // Without disabled skills: a person took these out of service already.
    mismatched: snapshot?.skills.filter((skill) => hasMismatch(skill) && !decided.out.has(skill.path)).length ?? 0,
    ...(snapshot?.form !== undefined && { form: snapshot.form }),
    ...(snapshot?.offers !== undefined && { offers: snapshot.offers }),
    ...(snapshot?.isPrivate === true && { isPrivate: true as const }),
    ...(source.kind === 'mcp' &&
      input.fetchedFrom !== undefined && {
        fetched: { bytes: input.fetchedFrom(source.id), most: source.budgets.hourlyBytes },
      }),
    ...(snapshot?.marketplace !== undefined && { marketplace: countsOf(snapshot.marketplace) }),
    served: snapshot && { ...servedOf(snapshot), ...(isMoved && { url: snapshot.url }) },
    upstream: seenUpstream(revision, lastSuccess),
    lastAttempt,
    lastSuccess,
    // A poll of a source that is held with --no-poll asks no host.
    nextPoll: decision.hold?.noPoll === true ? undefined : input.nextPolls.get(source.id)?.toISOString(),
    lookingSince: input.lookingSince.get(source.id)?.toISOString(),
    problem:
      problem === undefined || isPointless(problem.code, decision)
        ? undefined
        : problemOf(problem, revision, configured),
    tally: tallyOf(snapshot?.skills ?? [], decided),
    unservedContracts: snapshot?.skills.filter((skill) => isContractUnserved(source, skill)).length ?? 0,
    ...(input.leavesFindings === true
      ? { verdicts: verdictsOfDecided(snapshot, decided, input), findings: [] }
      : findingsOf(snapshot, source, input, input)),
  }
}

/** True if a hold came after the pull that met the problem: no host is asked any more, or nothing more waits. */
function isPointless(code: SyncErrorCode, { hold }: SourceDecision): boolean {
  if (hold === undefined || isByChoice(code)) return false
  return hold.noPoll === true || isAwaitingDecision(code)
}

/** A ref that is a commit id is not queried, so it says nothing about upstream. */
function seenUpstream(revision: Revision | undefined, at: string | undefined): SourceStatus['upstream'] {
  if (revision === undefined || at === undefined || isObjectId(revision.ref)) return undefined
  return { commit: revision.commit, at }
}

function servedOf({ revision, proof: { signers }, rebuiltFrom }: Snapshot): ServedCommit {
  const { commit, ref } = revision
  return { commit, ref, ...(signers !== undefined && { signers }), ...(rebuiltFrom !== undefined && { rebuiltFrom }) }
}

/** The loss of a lock, which the next pull finds too. */
function lossOf({ state, commit }: LockStanding, source: Source, { lock, config }: StatusInput): Problem | undefined {
  return state === 'lost' && commit !== undefined ? plainProblemOf(lostLock(lock, config, source, commit)) : undefined
}

/** `seen`: the upstream revision at its last answer. */
function problemOf(
  problem: NonNullable<SourceRecord['problem']>,
  seen: Revision | undefined,
  configured: ConfiguredSource,
): SourceProblem {
  const credential = problem.code === 'credentials-rejected' ? credentialsOf(configured) : undefined
  const fix = mendOf(problem, { source: configured.source.id, ...(seen && identityOf(seen)) })
  return { ...problem, fix, ...(credential !== undefined && { credential }) }
}

/**
 * Data in addition to the catalog: the verified files of other servers, the scans, and the sources in question if these
 * are not all.
 */
interface Beside {
  readonly kept: KeptDigests
  readonly scans: ReadonlyMap<SourceId, SourceScans>
  /** `undefined` if they cannot be read: then no skill is judged. */
  readonly decisions: SkillDecisions | undefined
  readonly about?: ReadonlySet<string> | undefined
}

/** A status with all verdicts, findings, problems and budgets, and the verified files of other servers, from the state folder. */
export function withFindings(status: Status, catalog: Catalog, config: Config, beside: Beside): Status {
  const { kept, scans, about, decisions } = beside
  const sources = status.sources.map((source) => {
    const snapshot = catalog.snapshots.find((candidate) => candidate.source === source.id)
    const configured = config.sources.find((candidate) => candidate.source.id === source.id)
    const verified = snapshot && verifiedOfAll(snapshot.skills, kept.get(source.id))
    const scan = sourceScanOf(snapshot, scans.get(source.id) ?? NO_SCANS)
    const findings = aboutNoSkill(source.id, snapshot)
    const isKnown = configured !== undefined && decisions !== undefined
    return {
      ...source,
      ...(verified !== undefined && { verified }),
      ...(isKnown
        ? findingsOf(snapshot, configured.source, decisions, { config, catalog })
        : { verdicts: [], findings }),
      ...(scan !== undefined && { scan }),
    }
  })
  const collisions = about === undefined ? status.collisions : collisionsIn(catalog, about)
  const all = contractDiagnostics(catalog)
  const problems = about === undefined ? all : diagnosticsAbout(about, all)
  const isUnjudged = decisions === undefined
  return {
    ...status,
    sources,
    ...(isUnjudged && { isUnjudged }),
    collisions,
    problems,
    budget: catalogBudget(catalog, config.packs, config.packBudgets),
  }
}

/** The credentials of the host and of the proxy before it. */
function credentialsOf({ access, proxy }: ConfiguredSource): string | undefined {
  const ofProxy = proxy.kind === 'named' ? credentialOf(proxy.access) : undefined
  const named = [credentialOf(access), ofProxy && `${ofProxy} for the proxy`].filter((name) => name !== undefined)
  return named.length === 0 ? undefined : named.join(', ')
}

/** The verdicts that the daemon itself has an item for: of the skills that wait for a person, or that one took out. */
function verdictsOfDecided(
  snapshot: Snapshot | undefined,
  decided: DecidedSkills,
  around: Pick<StatusInput, 'config' | 'catalog'>,
): readonly PathVerdict[] {
  const { out, waiting } = decided
  const skills = snapshot?.skills.filter((one) => out.has(one.path) || waiting.has(one.path) || hasMismatch(one)) ?? []
  if (snapshot === undefined || skills.length === 0) return []
  const verdictOf = verdictsIn(snapshot, decided, around)
  return skills.map((skill) => Object.assign({ path: skill.path }, verdictOf(skill)))
}

function aboutNoSkill(source: SourceId, snapshot: Snapshot | undefined): readonly SkillProblem[] {
  const found = [snapshot?.findings ?? [], snapshot?.docsFolder?.findings ?? []].flat()
  return found.map((finding) => findingProblem(source, finding.path, finding))
}

/** The skills that are not simply served, or have notes, the most urgent states first; and the findings of no skill. */
function findingsOf(
  snapshot: Snapshot | undefined,
  source: Source,
  decisions: SkillDecisions,
  around: Pick<StatusInput, 'config' | 'catalog'>,
): Pick<SourceStatus, 'verdicts' | 'findings'> {
  const there = snapshot && verdictsIn(snapshot, decidedIn(snapshot, source, decisions), around)
  const judged = (snapshot?.skills ?? []).flatMap((skill): PathVerdict[] => {
    const verdict = there?.(skill)
    return verdict === undefined || verdict.reasons.length === 0 ? [] : [{ path: skill.path, ...verdict }]
  })
  const known = new Set(snapshot?.skills.map(({ path }) => path))
  const gone = disabledHere(decisions.outOfService).flatMap((rule) => {
    const { source: of, path = '' } = firstPlace(rule) ?? {}
    if (rule.by === 'scan' || of !== source.id || known.has(path)) return []
    const by = { as: `${of}/${path}`, by: 'path', ...(rule.reason !== undefined && { reason: rule.reason }) } as const
    return [{ path, state: 'disabled', ways: NO_WAYS, reasons: [outProblem(of, path, by)] } as const]
  })
  return {
    verdicts: byState([...judged, ...gone]),
    findings: aboutNoSkill(source.id, snapshot),
  }
}
