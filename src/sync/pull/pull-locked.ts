import { joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { docsChange } from '../model/changes/skill-changes.ts'
import { isLocked, lockDifferences, skillsToLock } from '../model/decisions/lock.ts'
import type { LockEntry } from '../model/decisions/lock.ts'
import { comparePaths } from '../model/digest.ts'
import type { Drift, Outcome, Updated } from '../model/outcome.ts'
import { isSameRevision } from '../model/revision.ts'
import type { ObjectId, Revision } from '../model/revision.ts'
import type { Snapshot, ServedSource, KeptRevision } from '../model/snapshot.ts'
import { isAway } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import type { Workspace } from '../store/objects/blob-store.ts'
import { isAboutMarketplace } from '../survey/find-marketplace.ts'
import { keptSkill } from '../survey/last-good.ts'
import { isByRules } from '../survey/survey-rules.ts'
import type { TreeUpstream } from '../upstream/upstream.ts'
import { proveAgain, signerUpdate, withSigners } from './check-signers.ts'
import { findLockedSkills } from './fallback/fallback-source.ts'
import type { Fallback } from './fallback/fallback-source.ts'
import { RebuiltTree } from './fallback/rebuilt-tree.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { gateAndStore } from './gate-and-store.ts'
import { lookPast } from './lagging-replica.ts'
import { VersionLost } from './last-good-versions.ts'
import { revisionText } from './move-policy.ts'
import { rulesFor } from './pull-context.ts'
import type { LockedPull, OpenPull, Pull } from './pull-context.ts'

/**
 * Brings a source to the locked state, in this order: if that is served, nothing is taken; if the store has it,
 * whatever happened upstream, no host is queried for it. A change upstream is reported, and moves nothing.
 */
export async function pullLocked(pull: Pull, entry: LockEntry): Promise<Outcome> {
  const locked: LockedPull = { ...pull, entry }
  const known = (await stopIfLockedServed(locked)) ?? (await takeStored(locked))
  if (known !== undefined) return known
  if (isCutOff(pull)) throw await cutOffError(locked)
  return takeLocked(locked)
}

function isCutOff({ orders, source }: Pull): boolean {
  return orders.offline && isAway(source)
}

/** Ends a pull whose locked content is served and whole. */
async function stopIfLockedServed(pull: LockedPull): Promise<Outcome | undefined> {
  const { current, orders } = pull
  if (orders.isDamaged === true || current === undefined || !isMeant(pull, current.snapshot)) return undefined
  const update = await signerUpdate(pull)
  if (update !== undefined) return update
  return isCutOff(pull) ? { kind: 'unchanged', revision: undefined } : unchangedWithDrift(pull)
}

/** Serves the locked content from the store, unless it may be damaged. */
async function takeStored(pull: LockedPull): Promise<Outcome | undefined> {
  const stored = pull.orders.isDamaged === true ? undefined : await findLocked(pull, isMeant)
  return stored && outcomeOfStored(pull, stored)
}

/** Fetches the locked commit, and expects the locked skills in it. */
async function takeLocked(pull: LockedPull): Promise<Outcome> {
  const { source, io, entry, signal } = pull
  await using workspace = await io.store.workspace(signal)
  const opened = { ...pull, upstream: io.open(source, workspace), blobs: workspace.blobs }
  io.onResolved?.(entry.revision)
  const snapshot = await fetchLocked(opened)
  const outcome = await gateAndStore({ ...pull, snapshot, rewritten: false })
  return outcome.kind === 'updated' ? { ...outcome, ...(await seenBeside(opened)) } : outcome
}

/**
 * The target of the ref, and its drift from the lock. The locked content is here: if upstream cannot report its ref
 * now, nothing is lost, and the next pull reports it.
 */
async function seenBeside(pull: LockedPull & OpenPull): Promise<Pick<Updated, 'seen' | 'drift'>> {
  try {
    const seen = await pull.upstream.resolve(pull.signal)
    const drift = await driftTo(pull, seen)
    return { seen, ...(drift !== undefined && { drift }) }
  } catch (error) {
    if (error instanceof SyncError) return {}
    throw error
  }
}

/** The locked content is in the store: no host is queried, so nothing can have been lost. */
async function outcomeOfStored(pull: LockedPull, { snapshot }: ServedSource): Promise<Outcome> {
  const proved = withSigners(snapshot, await proveAgain(snapshot, pull.io.prove))
  const outcome = await gateAndStore({ ...pull, snapshot: proved, rewritten: false })
  return outcome.kind === 'updated' ? { ...outcome, isFromStore: true } : outcome
}

/** True if the snapshot is the locked one by the current rules: the digests do not cover which skills are listed. */
function isMeant(pull: LockedPull, snapshot: Snapshot): boolean {
  return isByRules(rulesFor(pull), snapshot) && isLocked(pull.entry, snapshot) && canBeProved(pull, snapshot)
}

/** False for a rebuilt commit if signatures are required: it has no objects that could be signed. */
function canBeProved({ io }: Pull, { rebuiltFrom }: Snapshot): boolean {
  return io.prove === undefined || rebuiltFrom === undefined
}

async function cutOffError(pull: LockedPull): Promise<SyncError> {
  const { source, entry } = pull
  const what = `Cannot fetch commit ${entry.revision.commit} of "${source.id}", which is locked`
  return new SyncError('not-stored', `${what}: ${await whyNotStored(pull)}, and --offline forbids network access`)
}

async function whyNotStored(pull: LockedPull): Promise<string> {
  if (pull.orders.isDamaged === true) return 'something that is stored of it is damaged'
  const isThere = (await findLocked(pull, isOfCommit)) !== undefined
  return isThere ? 'the store has it by other rules than are configured now' : 'the store does not have it'
}

function isOfCommit({ entry }: LockedPull, { url, revision }: Snapshot): boolean {
  return url === entry.url && revision.commit === entry.revision.commit
}

/** Finds the locked snapshot, from whichever generation. `undefined` if the store does not have it. */
async function findLocked(pull: LockedPull, isIt: typeof isMeant): Promise<ServedSource | undefined> {
  const { source, io, entry } = pull
  const { store } = io
  let found: ServedSource | undefined
  for (const digest of await store.snapshots.digests()) {
    const snapshot = await store.snapshots.readWhole(digest)
    if (snapshot?.source !== source.id || !isIt(pull, snapshot)) continue
    found = { held: { source: source.id, snapshot: digest }, snapshot }
    // The same commit may also be stored from a branch; the tag may be the object that must be signed.
    if (isSameRevision(snapshot.revision, entry.revision)) return found
  }
  return found
}

async function unchangedWithDrift(pull: LockedPull): Promise<Outcome> {
  const { source, io, signal } = pull
  await using workspace = await io.store.workspace(signal)
  const upstream = io.open(source, workspace)
  const opened = { ...pull, upstream }
  const seen = await upstream.resolve(signal)
  const apart = await driftTo(opened, seen)
  const { wait } = io
  const revision = apart && (await lookPast(seen, pull.entry.revision.commit, { ...opened, ...(wait && { wait }) }))
  const drift = revision === undefined || revision === seen ? apart : await driftTo(opened, revision)
  return { kind: 'unchanged', revision: revision ?? seen, ...(drift !== undefined && { drift }) }
}

/** The difference of upstream from the lock; `undefined` if commits on top of the locked one explain it. */
async function driftTo(pull: LockedPull & OpenPull, found: Revision): Promise<Drift | undefined> {
  const { source, entry, upstream, signal } = pull
  const { revision: locked } = entry
  if (locked.ref !== found.ref) return undefined
  const moved = `${found.ref} of "${source.id}" is locked at ${revisionText(locked)} and is at ${revisionText(found)} upstream`
  const isSame = locked.commit === found.commit && locked.tag === found.tag
  if (!isSame && found.ref.startsWith('refs/tags/'))
    return { error: { code: 'tag-moved', message: `The tag was moved: ${moved}` }, newest: found }
  if (isSame || (await upstream.relation(locked.commit, found.commit, signal)) !== 'rewritten') return undefined
  return { error: { code: 'history-rewritten', message: `The branch was rewritten: ${moved}` }, newest: found }
}

/** A locked pull with its upstream open, and with the place for rebuilt files. */
type OpenLockedPull = LockedPull & OpenPull & Pick<Workspace, 'blobs'>

/** Takes the locked commit from upstream, or from the fallback if upstream no longer has it. */
async function fetchLocked(pull: OpenLockedPull): Promise<Snapshot> {
  const snapshot = await snapshotOfLocked(pull)
  expectLocked(pull, snapshot)
  return snapshot
}

async function snapshotOfLocked(pull: OpenLockedPull): Promise<Snapshot> {
  const { io, entry } = pull
  const { revision } = entry
  try {
    return await fetchSnapshot({ ...pull, revision })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    if (error.code === 'repository-not-found' && io.fallback !== undefined) return fromFallback(pull, error)
    if (error.code !== 'ref-not-found') throw error
    if (error instanceof VersionLost) {
      if (io.fallback === undefined) throw error
      return fromFallback(pull)
    }
    // The tag may have been created anew and the old one collected, while the commit still exists.
    const { tag, ...bare } = revision
    if (tag === undefined || io.prove !== undefined) return fromFallback(pull)
    return { ...(await snapshotOfLocked({ ...pull, entry: { ...entry, revision: bare } })), revision }
  }
}

/** `missing`: the whole repository is missing, and not only its commit. */
async function fromFallback(pull: OpenLockedPull, missing?: SyncError): Promise<Snapshot> {
  const gone = 'upstream no longer has it'
  const { fallback } = pull.io
  if (fallback === undefined) throw notHere(pull, gone)
  const found = await rebuildCommit(pull, { fallback, blobs: pull.blobs })
  if (!('why' in found)) return found
  if (missing === undefined) throw notHere(pull, `${gone}, and ${found.why}`)
  throw new SyncError(missing.code, `${missing.message}, and ${found.why}`, { cause: missing })
}

function notHere({ source: { id }, entry }: LockedPull, why: string): SyncError {
  const tries = `restore the state folder of a machine that has it, or move the lock with skillsyncd update ${id}`
  return new SyncError(
    'ref-not-found',
    `Cannot fetch commit ${entry.revision.commit} of "${id}", which is locked: ${why}; ${tries}`,
  )
}

/**
 * Throws unless the snapshot has what is locked. The commit is the locked one, and so are its bytes: other skills are
 * caused by other rules, or by an edited lock.
 */
function expectLocked({ source, entry }: LockedPull, snapshot: Snapshot): void {
  if (isLocked(entry, snapshot)) return
  const changes = lockDifferences(entry.skills, skillsToLock(snapshot))
  const some = changes.slice(0, 5).map(({ path, difference }) => `"${path}" ${WORDS[difference]}`)
  const more = changes.length > some.length ? ` and ${changes.length - some.length} more` : ''
  const docs = docsChange(entry.docs, snapshot.docs?.digest)
  const wrong = docs === undefined ? some : [...some, `the docs folder ${WORDS[docs]}`]
  const message = `Cannot serve "${source.id}": commit ${entry.revision.commit} does not have what is locked: ${wrong.join(', ')}${more}`
  throw new SyncError('lock-mismatch', message)
}

const WORDS = {
  added: 'is not in the lock',
  removed: 'is in the lock and not to be served',
  changed: 'has another digest or name',
} as const

/** The server that a locked commit is rebuilt from, and the place for its files. */
interface Rebuild extends Pick<Workspace, 'blobs'> {
  readonly fallback: Fallback
}

/**
 * Rebuilds the locked commit of a source from another server's copies of the locked skills, or returns the reason why
 * that fails. The digests prove the skills, but nothing proves the commit: only the lock says that it had them.
 */
async function rebuildCommit(pull: LockedPull, rebuild: Rebuild): Promise<Snapshot | { readonly why: string }> {
  const name = `its fallback "${rebuild.fallback.id}"`
  if (pull.io.prove !== undefined)
    return { why: `${name} cannot restore a source with \`signed\`: it has no signed commit` }
  if (pull.entry.docs !== undefined)
    return { why: `${name} cannot restore a source with \`docs\`: they are locked, and no server lists them` }
  try {
    return await fromListing(pull, rebuild)
  } catch (error) {
    // A failure of our own disk is temporary, and no reason to report a problem of the lock.
    if (error instanceof SyncError && error.code !== 'store-failed')
      return { why: `${name} does not give it: ${error.message}` }
    throw error
  }
}

async function fromListing(
  pull: LockedPull,
  { fallback, blobs }: Rebuild,
): Promise<Snapshot | { readonly why: string }> {
  const { entry, signal } = pull
  const { id } = fallback
  const { skills, missing } = findLockedSkills(entry, await fallback.list(signal))
  if (missing.length > 0)
    return { why: `its fallback "${id}" lists nothing with the digest of ${quotedPaths(missing)}` }
  const placed = new Map([...skills].map(([path, found]) => [joinPath(entry.root, path), found]))
  const tree = new RebuiltTree({ revision: entry.revision, root: entry.tree, fallback, blobs }, placed)
  const snapshot = await fetchSnapshot({ ...pull, revision: entry.revision, upstream: upstreamOf(tree) })
  // Without tree ids, so that no pull reuses this result for an equal tree of another commit: withheld content is
  // missing here.
  const { marketplace: _marketplace, findings: all, ...ofSkills } = snapshot
  // The files of a marketplace are missing: it is not known.
  const findings = all.filter((finding) => !isAboutMarketplace(finding))
  const whole: Snapshot = { ...withKept(ofSkills, entry), findings, folders: {}, rebuiltFrom: id }
  if (isLocked(entry, whole)) return whole
  return { why: `of what its fallback "${id}" has, this version makes other skills than are locked` }
}

/** The skills with the origins that the lock names. The versions that broke them are not known. */
function withKept<Of extends Pick<Snapshot, 'skills' | 'revision'>>(snapshot: Of, entry: LockEntry): Of {
  const { asked, commit: since } = entry.revision
  const from = new Map<ObjectId, KeptRevision>()
  const skills = snapshot.skills.map((skill) => {
    const origin = entry.skills.get(skill.path)?.from
    if (origin === undefined) return skill
    from.set(origin.commit, { revision: { ...origin, asked }, proof: { commit: '' } })
    return keptSkill(skill, { commit: origin.commit, since, faults: [] })
  })
  const keptFrom = [...from.values()].toSorted((a, b) => comparePaths(a.revision.commit, b.revision.commit))
  return { ...snapshot, skills, ...(keptFrom.length > 0 && { keptFrom }) }
}

/** An upstream that never moves and has only the one commit. */
function upstreamOf(tree: RebuiltTree): TreeUpstream {
  return {
    kind: 'tree',
    resolve: async () => tree.revision,
    relation: async () => 'unknown',
    fetch: async () => tree,
  }
}

function quotedPaths(paths: readonly string[]): string {
  return fewText(paths, MOST_NAMED, (path) => `"${path}"`)
}

const MOST_NAMED = 5
