import { matcher } from '../../base/globs.ts'
import { baseName, isBelow } from '../../base/paths.ts'
import { approvedIn, isApproved } from '../../sync/model/decisions/approvals.ts'
import { UNDECIDED, type SourceDecision } from '../../sync/model/decisions/decisions.ts'
import type { LockEntry } from '../../sync/model/decisions/lock.ts'
import type { AdmitRule } from '../../sync/model/decisions/rules.ts'
import { digestText } from '../../sync/model/digest.ts'
import { askedText, type Revision } from '../../sync/model/revision.ts'
import type { Signers } from '../../sync/model/signers.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { originOfSkill } from '../../sync/model/snapshot.ts'
import type { HubSource, PublishedBy, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { Since, Verdict } from '../../sync/model/verdict/verdict.ts'
import type { Store } from '../../sync/store/store.ts'
import type { LockStanding } from '../pull/trust/lock-rules.ts'
import { isFollowed } from './lock-text.ts'
import { lastChangesOf } from './page/last-changes.ts'
import type { SkillRow } from './skill-rows.ts'
import { nextScanOf } from './source-scan.ts'
import type { NextScan, ScanRow } from './source-scan.ts'
import type { LockOriginStatus } from './status.ts'
import { isContractUnserved } from './unserved-contract.ts'
import type { Verified } from './verified-files.ts'

/** The reason why a skill is served as it is, or not at all, as plain data. */
export interface Provenance {
  readonly source: string
  readonly path: string
  readonly name: string | undefined
  readonly uri: string | undefined
  readonly verdict: Verdict
  readonly digest: string | undefined
  readonly url: string
  /** The ref that the operator configured, and the ref to which it resolved. */
  readonly asked: string
  readonly ref: string
  readonly commit: string
  readonly tag: string | undefined
  readonly rule: SelectedBy
  readonly update: Source['update']
  readonly decision: SourceDecision
  /** For a skill of another MCP server: its URI there, and its approval, if one is required. */
  readonly upstream:
    | { readonly uri: string; readonly approved: { readonly at: string; readonly by: string } | undefined }
    | undefined
  /** True if it has the contract block although its source does not use the contract. */
  readonly hasUnservedContract?: true
  /** The verified files of a skill of another MCP server. */
  readonly verified?: Verified
  readonly lock: LockedAs
  /** The repository that the lock is followed from, if it is. */
  readonly lockOrigin?: LockOriginStatus
  /** The signers of the commit that the skill is from. */
  readonly signers: Signers | undefined
  /** Present for an earlier version that is served because a later commit broke the skill. */
  readonly kept?: SkillRow['kept']
  /** For a skill of the channel of another hub: the log entry that names it, and its source there. */
  readonly published?: { readonly log: string; readonly entry?: PublishedBy['entry']; readonly source: HubSource }
  /** The source from which the skill was restored by its locked digest, because the commit was gone. */
  readonly rebuiltFrom: SourceId | undefined
  /** The last scan of its content by the scanner of `gate`. Absent if it was not scanned. */
  readonly scan?: ScanRow
  /** The scan of its content in the commit that the scanner keeps out. Absent if there is none. */
  readonly nextScan?: NextScan
}

/** The configuration that selected the skill. */
export interface SelectedBy {
  readonly root: string
  /** The glob that selects it. */
  readonly include: string | undefined
  /** The glob that removes it from every list. */
  readonly unlisted: string | undefined
  /** True if the folder's name differs from the skill's; the skill is served by its own name. */
  readonly renamed: boolean
}

/**
 * The skill's state in the lock. `follows`: only the locked content of the source is served; `source`: the source's
 * state in the lock.
 */
export type LockedAs = { readonly follows: boolean; readonly source: LockStanding } & (
  | { readonly state: 'no-lock' | 'source-not-locked' | 'not-locked' }
  | { readonly state: 'same' | 'other'; readonly commit: string; readonly digest: string }
)

/** The skill in question, as its snapshot has it. */
export interface ProvenanceQuery {
  readonly source: Source
  readonly snapshot: Snapshot
  readonly skill: Skill
  readonly row: Pick<SkillRow, 'uri' | 'verdict' | 'verified' | 'scan' | 'kept'>
}

/** The lock's part. `entry`: `undefined` if the lock has no entry for the source. */
export interface LockSide {
  readonly standing: LockStanding
  readonly entry: LockEntry | undefined
}

/** Collects the known facts about one skill. */
export async function provenanceOf(asked: ProvenanceQuery, lock: LockSide, store: Store): Promise<Provenance> {
  const { source, snapshot, skill } = asked
  const { uri, verdict, verified, scan, kept } = asked.row
  const { revision } = snapshot
  const { path, name, digest } = skill
  const isServed = verdict.state === 'served' || verdict.state === 'partly'
  const since = isServed ? await sinceWhen(asked, store) : undefined
  const nextScan = nextScanOf(await store.scans.read(source.id), snapshot, path)
  return {
    source: source.id,
    path,
    name,
    uri,
    verdict: { ...verdict, ...(since !== undefined && { since }) },
    digest: digest && digestText(digest),
    url: snapshot.url,
    ...placeOf(revision),
    rule: selectedBy(source, skill),
    update: source.update,
    decision: (await store.decisions.read()).get(source.id) ?? UNDECIDED,
    upstream: upstreamOf(asked, store),
    ...(isContractUnserved(source, skill) && { hasUnservedContract: true as const }),
    ...(verified !== undefined && { verified }),
    ...publishedOf(source, snapshot, skill),
    lock: lockedAs(skill, lock),
    signers: originOfSkill(snapshot, skill).proof.signers,
    ...(kept !== undefined && { kept }),
    rebuiltFrom: snapshot.rebuiltFrom,
    ...(scan !== undefined && { scan }),
    ...(nextScan !== undefined && { nextScan }),
  }
}

function publishedOf(of: Source, { published }: Snapshot, { path }: Skill): Pick<Provenance, 'published'> {
  const isNamesake = of.kind === 'channel' && of.isNamesake === true
  const source = published?.sources.find((one) => isNamesake || isBelow(path, one.source))
  if (published === undefined || source === undefined) return {}
  const { log, entry } = published
  return { published: { log, ...(entry && { entry }), source } }
}

function upstreamOf({ source, skill }: ProvenanceQuery, store: Store): Provenance['upstream'] {
  if (skill.upstream === undefined) return undefined
  const approval = approvalOf(source, skill, store)
  return { uri: skill.upstream.uri, approved: approval && { at: approval.at, by: approval.who } }
}

/** The approval of the present declaration, if the source requires one. */
function approvalOf(source: Source, skill: Skill, { decisions }: Store): AdmitRule | undefined {
  if (source.kind !== 'mcp' || source.approval !== 'required') return undefined
  const approval = approvedIn(decisions.approvals, source.id).get(skill.path)
  return isApproved(skill, approval) ? approval : undefined
}

function placeOf({ asked, ref, commit, tag }: Revision): Pick<Provenance, 'asked' | 'ref' | 'commit' | 'tag'> {
  return { asked: askedText(asked), ref, commit, tag }
}

function selectedBy({ root, include, unlisted }: Source, { path, name }: Skill): SelectedBy {
  const first = (globs: readonly string[]): string | undefined => globs.find((glob) => matcher([glob])(path))
  const renamed = path !== '' && name !== undefined && baseName(path) !== name
  return { root, include: first(include), unlisted: first(unlisted), renamed }
}

function lockedAs(skill: Skill, { standing, entry }: LockSide): LockedAs {
  const told = { follows: isFollowed(standing) || standing.by !== undefined, source: standing }
  if (standing.state === 'missing') return { ...told, state: 'no-lock' }
  if (entry === undefined) return { ...told, state: 'source-not-locked' }
  const locked = entry.skills.get(skill.path)
  if (locked === undefined) return { ...told, state: 'not-locked' }
  const state = locked.digest === skill.digest ? 'same' : 'other'
  return { ...told, state, commit: entry.revision.commit, digest: digestText(locked.digest) }
}

/** The generation since which the skill has its content, as far back as the records go; before its approval it waited. */
async function sinceWhen({ source, skill }: ProvenanceQuery, store: Store): Promise<Since | undefined> {
  const changes = (await lastChangesOf(store)).find((one) => one.source === source.id)
  const moment = changes?.moments.find(({ paths }) => paths.includes(skill.path))
  if (moment === undefined) return undefined
  const since = { generation: moment.generation, createdAt: moment.at }
  const approvedAt = approvalOf(source, skill, store)?.at
  const isApprovedSince = approvedAt !== undefined && moment.at <= approvedAt
  return isApprovedSince
    ? { ...since, isOldestKept: false, approvedAt }
    : { ...since, isOldestKept: moment.change === 'unknown' }
}
