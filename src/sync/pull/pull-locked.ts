import { docsChange, isLocked, skillChanges, skillsToLock } from '../decisions/lock.ts'
import type { LockEntry } from '../decisions/lock.ts'
import type { Drift, Outcome, Updated } from '../model/outcome.ts'
import { isSameRevision, type Revision } from '../model/revision.ts'
import type { Snapshot, Current } from '../model/snapshot.ts'
import { proofOf } from '../model/snapshot.ts'
import { isAway, type Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { isByEarlierVersion, isByRules } from '../survey/survey-rules.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { gateAndStore, resigned, withSigners } from './gate-and-store.ts'
import { revisionText } from './move-policy.ts'
import { rulesFor } from './pull-context.ts'
import type { Pull } from './pull-context.ts'
import { rebuilt } from './rebuild-commit.ts'

/**
 * Brings a source to the locked state: from the store if it has that, whatever happened upstream. A change upstream is
 * reported, and moves nothing.
 */
export async function pullLocked(one: Pull, entry: LockEntry): Promise<Outcome> {
  const { current, orders, io } = one
  const isDamaged = orders.isDamaged === true
  const isCutOff = orders.offline && isAway(one.source)
  if (!isDamaged && current !== undefined && isMeant(one, entry, current.snapshot)) {
    const changed = await resigned(one)
    if (changed !== undefined) return changed
    return isCutOff ? { kind: 'unchanged', revision: undefined } : unchangedBut(one, entry)
  }
  const stored = isDamaged ? undefined : await findLocked(one, entry, isMeant)
  if (stored !== undefined) return fromStore(one, stored)
  if (isCutOff) return fromEarlierVersion(one, entry)
  await using scratch = await io.store.scratch()
  const upstream = one.io.open(one.source, scratch.path)
  io.onResolved?.(entry.revision)
  const snapshot = await takeLocked(one, entry, { upstream, scratch: scratch.path })
  expectLocked(one.source, entry, snapshot)
  const outcome = await gateAndStore(one, snapshot, false)
  if (outcome.kind !== 'updated') return outcome
  return { ...outcome, ...(await seenBeside(one, entry, upstream)) }
}

/**
 * The target of the ref, and its drift from the lock. The locked content is here: if upstream cannot report its ref
 * now, nothing is lost, and the next pull reports it.
 */
async function seenBeside(one: Pull, entry: LockEntry, upstream: Upstream): Promise<Pick<Updated, 'seen' | 'drift'>> {
  try {
    const seen = await upstream.resolve(one.signal)
    const drift = await driftOf(one, entry.revision, seen, upstream)
    return { seen, ...(drift !== undefined && { drift }) }
  } catch (error) {
    if (error instanceof SyncError) return {}
    throw error
  }
}

/** The locked content is in the store: no host is queried, so nothing can have been lost. */
async function fromStore(one: Pull, { snapshot }: Current): Promise<Outcome> {
  const proved = withSigners(snapshot, await one.io.prove?.(proofOf(snapshot), snapshot.revision, 'again'))
  const outcome = await gateAndStore(one, proved, false)
  return outcome.kind === 'updated' ? { ...outcome, isFromStore: true } : outcome
}

/** True if the snapshot is the locked one by the current rules: the digests do not cover which skills are listed. */
function isMeant(one: Pull, entry: LockEntry, snapshot: Snapshot): boolean {
  return isByRules(rulesFor(one), snapshot) && isLocked(entry, snapshot) && canBeProved(one, snapshot)
}

/** False for a rebuilt commit if signatures are required: it has no objects that could be signed. */
function canBeProved({ io }: Pull, { rebuiltFrom }: Snapshot): boolean {
  return io.prove === undefined || rebuiltFrom === undefined
}

/**
 * Without network access, the locked commit is served as an earlier version of skillsyncd surveyed it, if only the
 * version differs: the skills are the locked ones.
 */
async function fromEarlierVersion(one: Pull, entry: LockEntry): Promise<Outcome> {
  const { current, orders } = one
  if (orders.isDamaged === true) throw cutOff(one.source, entry, 'something that is stored of it is damaged')
  if (current !== undefined && isOfEarlierVersion(one, entry, current.snapshot))
    return (await resigned(one)) ?? { kind: 'unchanged', revision: undefined }
  const stored = await findLocked(one, entry, isOfEarlierVersion)
  if (stored !== undefined) return fromStore(one, stored)
  const isThere = (await findLocked(one, entry, isOfCommit)) !== undefined
  const why = isThere ? 'the store has it by other rules than are configured now' : 'the store does not have it'
  throw cutOff(one.source, entry, why)
}

function cutOff({ id }: Source, { revision }: LockEntry, why: string): SyncError {
  const what = `Cannot take commit ${revision.commit} of "${id}", which is locked`
  return new SyncError('not-stored', `${what}: ${why}, and --offline lets nobody be asked`)
}

function isOfEarlierVersion(one: Pull, entry: LockEntry, snapshot: Snapshot): boolean {
  return isByEarlierVersion(rulesFor(one), snapshot) && isLocked(entry, snapshot) && canBeProved(one, snapshot)
}

function isOfCommit(_: Pull, { url, revision }: LockEntry, snapshot: Snapshot): boolean {
  return snapshot.url === url && snapshot.revision.commit === revision.commit
}

/** Finds the locked snapshot, from whichever generation. `undefined` if the store does not have it. */
async function findLocked(one: Pull, entry: LockEntry, isIt: typeof isMeant): Promise<Current | undefined> {
  const { source, io } = one
  const { store } = io
  let found: Current | undefined
  for (const digest of await store.snapshots.digests()) {
    const snapshot = await store.snapshots.readWhole(digest)
    if (snapshot?.source !== source.id || !isIt(one, entry, snapshot)) continue
    found = { held: { source: source.id, snapshot: digest }, snapshot }
    // The same commit may also be stored from a branch; the tag may be the object that must be signed.
    if (isSameRevision(snapshot.revision, entry.revision)) return found
  }
  return found
}

/** The upstream to take from, and an existing folder for it. */
interface Place {
  readonly upstream: Upstream
  readonly scratch: string
}

async function takeLocked(one: Pull, entry: LockEntry, place: Place): Promise<Snapshot> {
  const { revision } = entry
  try {
    return await fetchSnapshot(one, revision, place.upstream)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    if (error.code === 'repository-not-found' && one.io.fallback !== undefined)
      return fromFallback(one, entry, place, error)
    if (error.code !== 'ref-not-found') throw error
    // The tag may have been created anew and the old one collected, while the commit still exists.
    const { tag, ...bare } = revision
    if (tag === undefined || one.io.prove !== undefined) return fromFallback(one, entry, place)
    return { ...(await takeLocked(one, { ...entry, revision: bare }, place)), revision }
  }
}

/** `missing`: the whole repository is missing, and not only its commit. */
async function fromFallback(one: Pull, entry: LockEntry, { scratch }: Place, missing?: SyncError): Promise<Snapshot> {
  const gone = 'upstream does not have it any more'
  const { fallback } = one.io
  if (fallback === undefined) throw notHere(one.source, entry, gone)
  const found = await rebuilt(one, { entry, fallback, scratch })
  if (!('why' in found)) return found
  if (missing === undefined) throw notHere(one.source, entry, `${gone}, and ${found.why}`)
  throw new SyncError(missing.code, `${missing.message}, and ${found.why}`, { cause: missing })
}

function notHere({ id }: Source, { revision }: LockEntry, why: string): SyncError {
  const tries = `restore the state folder of a machine that has it, or move the lock with skillsyncd update ${id}`
  return new SyncError(
    'ref-not-found',
    `Cannot take commit ${revision.commit} of "${id}", which is locked: ${why}; ${tries}`,
  )
}

/**
 * Throws unless the snapshot has what is locked. The commit is the locked one, and so are its bytes: other skills are
 * caused by other rules, or by an edited lock.
 */
function expectLocked({ id }: Source, entry: LockEntry, snapshot: Snapshot): void {
  if (isLocked(entry, snapshot)) return
  const changes = skillChanges(entry.skills, skillsToLock(snapshot))
  const some = changes.slice(0, 5).map(({ path, change }) => `"${path}" ${WORDS[change]}`)
  const more = changes.length > some.length ? ` and ${changes.length - some.length} more` : ''
  const docs = docsChange(entry.docs, snapshot.docs?.digest)
  const wrong = docs === undefined ? some : [...some, `the docs folder ${WORDS[docs]}`]
  const message = `Cannot serve "${id}": commit ${entry.revision.commit} does not have what is locked: ${wrong.join(', ')}${more}`
  throw new SyncError('lock-mismatch', message)
}

const WORDS = {
  added: 'is not in the lock',
  removed: 'is in the lock and not to be served',
  changed: 'has another digest or name',
} as const

async function unchangedBut(one: Pull, entry: LockEntry): Promise<Outcome> {
  await using scratch = await one.io.store.scratch()
  const upstream = one.io.open(one.source, scratch.path)
  const revision = await upstream.resolve(one.signal)
  const drift = await driftOf(one, entry.revision, revision, upstream)
  return { kind: 'unchanged', revision, ...(drift !== undefined && { drift }) }
}

/** The difference of upstream from the lock; `undefined` if commits on top of the locked one explain it. */
async function driftOf(
  { source, signal }: Pull,
  locked: Revision,
  found: Revision,
  upstream: Upstream,
): Promise<Drift | undefined> {
  if (locked.ref !== found.ref) return undefined
  const moved = `${found.ref} of "${source.id}" is locked at ${revisionText(locked)} and is at ${revisionText(found)} upstream`
  const isSame = locked.commit === found.commit && locked.tag === found.tag
  if (!isSame && found.ref.startsWith('refs/tags/'))
    return { error: { code: 'tag-moved', message: `The tag was moved: ${moved}` }, newest: found }
  if (isSame || (await upstream.relation(locked.commit, found.commit, signal)) !== 'rewritten') return undefined
  return { error: { code: 'history-rewritten', message: `The branch was rewritten: ${moved}` }, newest: found }
}
