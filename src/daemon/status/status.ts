import { pendingPaths } from '../../sync/decisions/approvals.ts'
import { hasMismatch } from '../../sync/survey/listing-mismatches.ts'
import type { Approvals } from '../../sync/decisions/approvals.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { contractProblems, problemsOf } from '../../sync/catalog/contract-problems.ts'
import type { ContractProblem } from '../../sync/catalog/contract-problems.ts'
import type { Finding } from '../../sync/skill-md/finding.ts'
import { UNDECIDED, identityOf, type Decision, type Decisions } from '../../sync/decisions/decisions.ts'
import { disabledIn, type DisabledMatch, type DisabledMatches } from '../../sync/decisions/disabled-matches.ts'
import type { DisabledSkills } from '../../sync/decisions/disabled-skills.ts'
import type { ListingForm } from '../../sync/model/listing-form.ts'
import { askedText, isObjectId } from '../../sync/model/revision.ts'
import type { Revision } from '../../sync/model/revision.ts'
import { strayLinks, tallyOf } from '../../sync/model/snapshot.ts'
import type { Snapshot, Tally } from '../../sync/model/snapshot.ts'
import type { Source } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Signers } from '../../sync/model/signers.ts'
import { mendOf, SyncError } from '../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Loss } from '../../sync/pull/publisher.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'
import { archiveFindings } from './archive-findings.ts'
import { collisionsIn } from './name-collisions.ts'
import type { Collisions } from './name-collisions.ts'
import { credentialOf } from '../config/auth.ts'
import type { Config, ConfiguredSource, Mode } from '../config/config.ts'
import { standingIn } from '../trust/lock-rules.ts'
import type { LockRead, LockStanding } from '../trust/lock-rules.ts'
import { servedLost } from './lost-sources.ts'
import type { ServedLost } from './lost-sources.ts'
import type { Notice } from './upgrade-notices.ts'
import { isContractUnserved } from './unserved-contract.ts'
import { verifiedOfAll, type Kept, type Verified } from './verified-files.ts'
import type { Unready } from '../../serve/http/routes/health.ts'
import { VERSION } from '../../serve/version.ts'

/** How it stands, as plain data: what `skillsyncd status --json` prints. Times are ISO 8601, UTC. */
export interface Status {
  readonly version: string
  readonly state: string
  /** The generation that is served; 0 before the first. */
  readonly generation: number
  readonly skills: number
  readonly sources: readonly SourceStatus[]
  /** Names that skills of different sources and contents share. All of the skills are served. */
  readonly collisions: Collisions
  /** What is wrong between skills that keep the contract, whichever sources they are of. */
  readonly problems: readonly ContractProblem[]
  /** The lock of the configuration; absent where the sources were named on a command line. */
  readonly lock?: LockStatus
  /** What people decided is lost but for a record of it, by which it is served: why, and what a person can do. */
  readonly decisionsLost?: string
  /** Sources of which the disk lost what was served: what is served of them now, until that is fetched again. */
  readonly servedLost: readonly ServedLost[]
  /** What this version does otherwise than the one before it, where this installation meets it; empty once it was told. */
  readonly notices: readonly Notice[]
  /** Of the process that answers; absent where none runs and the state folder was read. */
  readonly daemon?: DaemonStatus
  /** A process of another container or machine that has the lock and cannot be asked from here; absent where none has. */
  readonly elsewhere?: WriterElsewhere
  /** Why that process does not write the state folder, and what a person can try; absent where it does. */
  readonly readOnly?: Condition
  /** Of the HTTP side of that process, where it has one. */
  readonly http?: HttpStatus
}

/** The process that answers, and what it was started with. */
export interface DaemonStatus extends Mode {
  readonly pid: number
  readonly startedAt: string
}

/** A process of another container or machine that has the lock of the state folder. */
export interface WriterElsewhere {
  readonly pid: number
  /** What it was started as. */
  readonly command: string
  /** It renewed its lease while that was looked at. */
  readonly isAlive: boolean
}

export interface LockStatus {
  readonly file: string
  /** What the configuration has done with it, but for sources that are to follow it in any case. */
  readonly use: Config['lockUse']
  readonly isThere: boolean
  /** Why it cannot be read. */
  readonly error?: string
  /** How many sources follow it. */
  readonly followed: number
}

export interface HttpStatus {
  readonly url: string
  readonly sessions: number
  readonly streams: number
  /** URIs that anybody is subscribed to. */
  readonly subscribedUris: number
  /** Of the second listener, where there is one: webhooks are taken there. */
  readonly operations?: { readonly url: string }
  /** Why `/readyz` sends requests elsewhere; empty where it does not. */
  readonly unready: readonly Unready[]
  /** Whether one is needed, and how many there are; no number where they cannot be read. */
  readonly tokens: { readonly required: boolean; readonly count?: number }
}

export interface SourceStatus {
  readonly id: SourceId
  readonly kind: Source['kind']
  readonly url: string
  /** The address that its host redirects to, where that is another: the one to configure. */
  readonly movedTo?: string
  readonly ref: string | undefined
  readonly update: 'auto' | 'locked' | 'review'
  readonly lock: LockStanding
  /** What a person decided about it; empty where nothing. */
  readonly decision: Decision
  /** The skills that a person disabled, there or not: how many, and the folders of the first of them. */
  readonly disabled: { readonly count: number; readonly paths: readonly string[] } & DisabledPlaces
  /** The skills of another MCP server that wait for a person: how many, and the first of them. */
  readonly pending: { readonly count: number; readonly paths: readonly string[] }
  /** The skills of another MCP server that are withheld since it sent other bytes than it declares: likewise. */
  readonly mismatched: { readonly count: number; readonly paths: readonly string[] }
  /** Of an MCP server: how it told of the skills that are served. */
  readonly form?: ListingForm
  /** The same: it says that what it lists is for the holder of the credential alone. */
  readonly isPrivate?: true
  /** The same, of the process that answers: the bytes of its files that came in the last hour, and `budgets.hourly_bytes`. */
  readonly fetched?: { readonly bytes: number; readonly most: number }
  /** The same: what of its files was checked. Where the state folder is read for it. */
  readonly verified?: Verified
  /** What is served, and from which commit. */
  readonly served: ServedCommit | undefined
  /**
   * The commit that the upstream's ref pointed to when it last answered. Equal to the served one: up to date. Absent where upstream
   * has not said it: it was not asked since, a lock or a pin named the commit, or the configuration does.
   */
  readonly upstream: { readonly commit: string; readonly at: string } | undefined
  readonly lastAttempt: string | undefined
  readonly lastSuccess: string | undefined
  /** While it is looked at, when that was due. */
  readonly nextPoll: string | undefined
  /** While it is looked at: when that began. */
  readonly lookingSince: string | undefined
  readonly condition: Condition | undefined
  readonly tally: Tally
  /** The number of its skills that have the block of the contract while the source does not ask for it. */
  readonly unservedContracts: number
  /** Every finding of the source, those of withheld skills first. */
  readonly findings: readonly SourceFinding[]
}

/** The skills of the source that are out of service for a disabled one, here or elsewhere: how many, and the first of them. */
export interface DisabledPlaces {
  readonly matching: number
  readonly matches: readonly DisabledRow[]
}

/** A skill, the one that a person disabled, and by what it is that one. */
export interface DisabledRow extends DisabledBy {
  /** Its true folder. */
  readonly path: string
}

/** Why a skill is out of service. */
export interface DisabledBy {
  /** The skill that a person disabled: `source/path`. */
  readonly as: string
  readonly by: DisabledMatch['by']
}

export interface ServedCommit {
  readonly commit: string
  readonly ref: string
  readonly signers?: Signers
  /** Where it is from, if the source is elsewhere by now. */
  readonly url?: string
  /** The commit was gone: its skills were had from this source, by their locked digests. */
  readonly rebuiltFrom?: SourceId
}

export interface Condition {
  readonly code: SyncErrorCode
  readonly message: string
  /** What a person can try. */
  readonly mend: string
  /** With `credentials-rejected`: what the secret is read from. Never the secret. */
  readonly credential?: string
}

export interface SourceFinding extends Finding {
  /** `link`: as `strayLinks` has it. */
  readonly standing: 'served' | 'unlisted' | 'tools' | 'withheld' | 'source' | 'link'
}

/** What a status is made from. */
export interface StatusInput {
  /** To go through all findings takes long for thousands of skills, and not all readers want them. */
  readonly leavesFindings?: boolean
  readonly config: Config
  readonly catalog: Catalog
  /** How it went where the source is now. */
  readonly recordOf: (source: Source) => SourceRecord
  readonly decisions: Decisions
  readonly disabled: DisabledSkills
  /** Of `decisions.json` and its copy. */
  readonly loss: SyncError | undefined
  readonly approvals: Approvals
  readonly lock: LockRead
  readonly notices: readonly Notice[]
  readonly nextPolls: ReadonlyMap<SourceId, Date>
  readonly lookingSince: ReadonlyMap<SourceId, Date>
  /** Bytes of files that came from an MCP server in the last hour. Undefined where no daemon runs. */
  readonly fetchedFrom: ((id: SourceId) => number) | undefined
  /** Undefined where no daemon runs. */
  readonly startedAt: Date | undefined
  readonly lost: readonly Loss[]
  /** Why that daemon does not write. */
  readonly readOnly?: SyncError | undefined
  readonly http: HttpStatus | undefined
}

export function statusOf(input: StatusInput): Status {
  const { config, catalog, startedAt, readOnly, http, loss } = input
  return {
    version: VERSION,
    state: config.state,
    generation: catalog.generation,
    skills: catalog.listed.length,
    sources: config.sources.map((configured) => sourceStatus(configured, input)),
    collisions: collisionsIn(catalog),
    // Whoever prints it asks: that takes time in which this process serves nobody.
    problems: [],
    ...(config.lock !== undefined && { lock: lockStatusOf(config.lock, input) }),
    ...(loss !== undefined && { decisionsLost: loss.message }),
    servedLost: servedLost(input.lost),
    notices: input.notices,
    ...(readOnly !== undefined && {
      readOnly: { code: readOnly.code, message: readOnly.message, mend: mendOf(readOnly.code) },
    }),
    ...(startedAt !== undefined && {
      daemon: { pid: process.pid, startedAt: startedAt.toISOString(), ...config.mode },
    }),
    ...(http !== undefined && { http }),
  }
}

function lockStatusOf(file: string, { lock, config, decisions }: StatusInput): LockStatus {
  const use = config.lockUse
  const standings = config.sources.map(({ source }) => standingIn(lock, config, source, decisions.get(source.id)))
  const followed = standings.filter(({ state }) => state === 'followed' || state === 'other-rules').length
  if (lock instanceof SyncError) return { file, use, isThere: true, error: lock.message, followed }
  return { file, use, isThere: lock !== undefined, followed }
}

function sourceStatus(configured: ConfiguredSource, input: StatusInput): SourceStatus {
  const { source } = configured
  const snapshot = input.catalog.snapshots.find((candidate) => candidate.source === source.id)
  const { movedTo, revision, lastAttempt, lastSuccess, condition } = input.recordOf(source)
  const disabled = [...(input.disabled.get(source.id)?.keys() ?? [])]
  const matches = snapshot === undefined ? new Map<string, DisabledMatch>() : disabledIn(snapshot, input.disabled)
  const pending = pendingPaths(configured.source, snapshot, input.approvals)
  const mismatched = mismatchedPaths(snapshot, matches)
  const decision = input.decisions.get(source.id) ?? UNDECIDED
  const isMoved = snapshot !== undefined && snapshot.url !== source.url
  return {
    id: source.id,
    kind: source.kind,
    url: source.url,
    ...(movedTo !== undefined && { movedTo }),
    ref: typeof source.ref === 'object' ? askedText(source.ref) : source.ref,
    update: source.update,
    lock: standingIn(input.lock, input.config, source, decision),
    decision,
    disabled: { count: disabled.length, paths: disabled.slice(0, MOST_DISABLED), ...placesIn(matches) },
    pending: firstOf(pending),
    mismatched: firstOf(mismatched),
    ...(snapshot?.form !== undefined && { form: snapshot.form }),
    ...(snapshot?.isPrivate === true && { isPrivate: true as const }),
    ...(source.kind === 'mcp' &&
      input.fetchedFrom !== undefined && {
        fetched: { bytes: input.fetchedFrom(source.id), most: source.budgets.hourlyBytes },
      }),
    served: snapshot && { ...servedOf(snapshot), ...(isMoved && { url: snapshot.url }) },
    upstream: seenUpstream(revision, lastSuccess),
    lastAttempt,
    lastSuccess,
    // A poll of a paused source asks upstream nothing.
    nextPoll: decision.paused === true ? undefined : input.nextPolls.get(source.id)?.toISOString(),
    lookingSince: input.lookingSince.get(source.id)?.toISOString(),
    condition: condition && conditionOf(condition, revision, configured),
    tally: tallyOf(snapshot?.skills ?? [], matches, new Set(pending)),
    unservedContracts: snapshot?.skills.filter((skill) => isContractUnserved(source, skill)).length ?? 0,
    findings:
      snapshot === undefined || input.leavesFindings === true ? [] : findingsOf(snapshot, input.catalog, configured),
  }
}

/** A ref that is a commit id is not asked for, and so says nothing of upstream. */
function seenUpstream(revision: Revision | undefined, at: string | undefined): SourceStatus['upstream'] {
  if (revision === undefined || at === undefined || isObjectId(revision.ref)) return undefined
  return { commit: revision.commit, at }
}

function placesIn(matches: DisabledMatches): DisabledPlaces {
  const first = [...matches].slice(0, MOST_DISABLED)
  const rowOf = (path: string, { as, by }: DisabledBy): DisabledRow => ({ path, as, by })
  return { matching: matches.size, matches: first.map(([path, match]) => rowOf(path, disabledBy(match))) }
}

export function disabledBy({ source, path, by }: DisabledMatch): DisabledBy {
  return { as: `${source}/${path}`, by }
}

/** Skips disabled skills: a person took these out of service already. */
function mismatchedPaths(snapshot: Snapshot | undefined, disabled: DisabledMatches): readonly string[] {
  const skills = snapshot?.skills.filter((skill) => hasMismatch(skill) && !disabled.has(skill.path)) ?? []
  return skills.map(({ path }) => path)
}

function firstOf(paths: readonly string[]): SourceStatus['pending'] {
  return { count: paths.length, paths: paths.slice(0, MOST_DISABLED) }
}

/** A status fits into a line of the socket, however many there are: skillsyncd list shows all. */
const MOST_DISABLED = 20

function servedOf({ revision, proof: { signers }, rebuiltFrom }: Snapshot): ServedCommit {
  const { commit, ref } = revision
  return { commit, ref, ...(signers !== undefined && { signers }), ...(rebuiltFrom !== undefined && { rebuiltFrom }) }
}

/** `seen`: what upstream had when it last answered. */
function conditionOf(
  condition: NonNullable<SourceRecord['condition']>,
  seen: Revision | undefined,
  configured: ConfiguredSource,
): Condition {
  const credential = condition.code === 'credentials-rejected' ? credentialsOf(configured) : undefined
  const { id: source } = configured.source
  const mend = mendOf(condition.code, seen && { source, ...identityOf(seen) })
  return { ...condition, mend, ...(credential !== undefined && { credential }) }
}

/** Beside the catalog: what was checked of other servers, and the sources that are asked about where these are not all. */
interface Beside {
  readonly kept: Kept
  readonly about?: ReadonlySet<string> | undefined
}

/** A status with all that is wrong, and what was checked of other servers, as the state folder has it. */
export function withFindings(status: Status, catalog: Catalog, config: Config, { kept, about }: Beside): Status {
  const sources = status.sources.map((source) => {
    const snapshot = catalog.snapshots.find((candidate) => candidate.source === source.id)
    const configured = config.sources.find((candidate) => candidate.source.id === source.id)
    const isKnown = snapshot !== undefined && configured !== undefined
    const verified = snapshot && verifiedOfAll(snapshot.skills, kept.get(source.id))
    const findings = isKnown ? findingsOf(snapshot, catalog, configured) : []
    return { ...source, ...(verified !== undefined && { verified }), findings }
  })
  const collisions = about === undefined ? status.collisions : collisionsIn(catalog, about)
  const problems = contractProblems(catalog)
  return { ...status, sources, collisions, problems: about === undefined ? problems : problemsOf(about, problems) }
}

/** That of the host, and that of the proxy before it. */
function credentialsOf({ access, proxy }: ConfiguredSource): string | undefined {
  const ofProxy = proxy.kind === 'named' ? credentialOf(proxy.access) : undefined
  const named = [credentialOf(access), ofProxy && `${ofProxy} for the proxy`].filter((name) => name !== undefined)
  return named.length === 0 ? undefined : named.join(', ')
}

const ORDER: readonly SourceFinding['standing'][] = ['withheld', 'tools', 'source', 'link', 'served', 'unlisted']

function findingsOf(snapshot: Snapshot, catalog: Catalog, configured: ConfiguredSource): SourceFinding[] {
  const links = strayLinks(snapshot.skills)
  const ofSkills = snapshot.skills.flatMap((skill): SourceFinding[] => {
    const standing = links.has(skill) ? 'link' : skill.standing
    return skill.findings.map((finding) => ({ ...finding, standing }))
  })
  const ofSource = [snapshot.findings, snapshot.docsFolder?.findings ?? []].flatMap((findings) =>
    findings.map((finding) => ({ ...finding, standing: 'source' as const })),
  )
  const ofArchives = archiveFindings(catalog, configured)
  return [...ofSkills, ...ofSource, ...ofArchives].toSorted(
    (a, b) => ORDER.indexOf(a.standing) - ORDER.indexOf(b.standing),
  )
}
