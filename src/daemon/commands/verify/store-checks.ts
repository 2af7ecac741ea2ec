import type { Generation } from '../../../sync/model/generation.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { UpstreamSkill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { Damaged, SyncError } from '../../../sync/model/sync-error.ts'
import type { DecisionStore } from '../../../sync/store/decision-store.ts'
import type { StoredSkill } from '../../../sync/store/skills/stored-path.ts'
import { storedOf, storedSkill } from '../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../sync/store/store.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import { heldInRings, placeIn } from './verify-context.ts'
import type { Verifying } from './verify-context.ts'

/** Checks the operator's decisions: a hold that cannot be read has no effect. */
export async function* decisionsAreWhole({ store }: Pick<Verifying, 'store'>): AsyncGenerator<CheckResult> {
  if (store !== undefined) yield* await decisionFindings(store.decisions)
}

/** Reads the decisions, and tells what is lost or damaged of them. */
export async function decisionFindings(decisions: DecisionStore): Promise<readonly CheckResult[]> {
  const damaged = verdicts('decisions-damaged')
  try {
    await decisions.read()
    const { damage, loss } = decisions
    if (loss !== undefined) return [verdicts('decisions-lost').fail(loss.message)]
    if (damage === undefined) return []
    return [damaged.fail(damage.message, 'Nothing: the daemon writes it again at its next poll')]
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return [damaged.fail(error.message)]
  }
}

/** Runs SQLite's own check of the database. Damage to what no object is in is found by this alone. */
export async function* databaseIsWhole({ store, show }: Verifying): AsyncGenerator<CheckResult> {
  if (store === undefined) return
  show('SQLite checks the database')
  const damage = store.objects.damage()
  if (damage !== undefined) yield databaseDamage(store.folder.database, damage)
}

/** The finding for a database in which SQLite itself has found damage. */
export function databaseDamage(path: string, damage: string): CheckResult {
  return verdicts('database-damaged').fail(`SQLite finds damage in "${path}" (${damage})`)
}

/** Checks the served generation, and each snapshot that it refers to. */
export async function* servedIsWhole(verifying: Verifying): AsyncGenerator<CheckResult> {
  const { store, served } = verifying
  if (store === undefined) return
  for (const number of await store.generations.numbers()) {
    if (number <= (served?.number ?? 0)) break
    // A daemon may have published one since.
    if (await isWhole(store, number)) continue
    yield verdicts('generation-damaged').fail(`generation ${number} cannot be served${insteadText(served)}`)
  }
  if (served !== undefined) yield* damagedSnapshots(verifying, served)
}

async function isWhole(store: Store, number: number): Promise<boolean> {
  const generation = await store.generations.read(number)
  if (generation === undefined) return false
  const held = [...generation.sources, ...heldInRings(generation)]
  const snapshots = held.map(({ snapshot }) => store.snapshots.has(snapshot))
  return (await Promise.all(snapshots)).every(Boolean)
}

function insteadText(served: Generation | undefined): string {
  return served === undefined ? ', and there is no other' : `; ${served.number} is, in its place`
}

async function* damagedSnapshots({ store, checked }: Verifying, generation: Generation): AsyncGenerator<CheckResult> {
  const ofRings = heldInRings(generation)
  for (const held of [...generation.sources, ...ofRings]) {
    const { source, snapshot } = held
    checked.add(snapshot)
    if ((await store?.snapshots.readWhole(snapshot)) !== undefined) continue
    const fix = ofRings.includes(held) ? fixInRings(source) : undefined
    const message = `the snapshot ${snapshot} of generation ${generation.number} is damaged or missing`
    yield verdicts('snapshot-damaged', source).fail(message, fix)
  }
}

/** A pull brings the content of the first ring. */
function fixInRings(source: SourceId): string {
  return `A running daemon writes it again with skillsyncd sync ${source}, and after a restart skillsyncd promote ${source} --now has the rings take newer content`
}

/** Reads the record of each generation of the last 90 days. Contents do not depend on it. */
export async function* recordsAreWhole({ store, show, signal }: Verifying): AsyncGenerator<CheckResult> {
  if (store === undefined) return
  show('the record of generations')
  for (const number of await store.generations.records.numbers()) {
    signal.throwIfAborted()
    if ((await store.generations.records.read(number)) === undefined)
      yield verdicts('record-damaged').warn(`the record of generation ${number} cannot be read`)
  }
}

/** Reads and hashes every file of the served content. */
export async function* filesAreWhole(verifying: Verifying): AsyncGenerator<CheckResult> {
  for (const snapshot of [...verifying.snapshots, ...verifying.snapshotsInRings]) yield* inspect(snapshot, verifying)
}

async function* inspect(snapshot: Snapshot, verifying: Verifying): AsyncGenerator<CheckResult> {
  const { store, named, looked, checked, show, signal } = verifying
  const { source } = snapshot
  if (!named.has(source)) return
  for (const skill of snapshot.skills.filter(isOfUpstream)) yield* keptOf(skill, verifying)
  for (const [stored, of] of storedWithNames(snapshot)) {
    if (store === undefined) return
    const place = store.checkouts.pathOf(stored)
    if (looked.has(place)) continue
    signal.throwIfAborted()
    looked.add(place)
    if (looked.size % SHOWN_EVERY === 0) show(`${looked.size} skills checked`)
    for (const { sha256 } of stored.files) checked.add(sha256)
    const inStore = await store.skills.damageIn(stored)
    for (const { path, problem } of inStore) yield verdicts('file-damaged', placeIn(source, of, path)).fail(problem)
    yield* checkoutAsMade(stored, { source, skill: of }, store)
  }
}

/** Compares a checkout with what it was made from. */
async function* checkoutAsMade(
  stored: StoredSkill,
  { source, skill }: { readonly source: SourceId; readonly skill: string | undefined },
  { checkouts }: Store,
): AsyncGenerator<CheckResult> {
  if (!(await checkouts.has(stored))) return
  const place = checkouts.pathOf(stored)
  for (const { path, problem } of await checkouts.damageIn(stored))
    yield verdicts('checkout-edited', placeIn(source, skill, path)).fail(`in ${place}: ${problem}`)
  const what = skill === undefined ? 'the docs' : 'the skill'
  for (const path of await checkouts.strangersIn(stored))
    yield verdicts('stranger', placeIn(source, path)).warn(`is in ${place} and does not belong to ${what}`)
}

/** Checks the files of another MCP server's skill that were fetched on demand. */
async function* keptOf(skill: UpstreamSkill, { store, looked, signal }: Verifying): AsyncGenerator<CheckResult> {
  const { source } = skill.upstream
  const place = `${source}/${skill.path}`
  if (store === undefined || looked.has(place)) return
  looked.add(place)
  for (const file of skill.files) {
    signal.throwIfAborted()
    const kept = await store.upstreams.read(source, file)
    if (kept.kind === 'damaged') yield verdicts('file-damaged', placeIn(source, skill.path, file.path)).fail(kept.why)
  }
  if (skill.digest !== undefined && skill.standing !== 'withheld')
    yield* checkoutAsMade(storedSkill(skill), { source, skill: skill.path }, store)
}

/** The stored skills and docs of a snapshot, each with the path of its skill. */
function storedWithNames({ skills, docs }: Snapshot): (readonly [StoredSkill, string | undefined])[] {
  const kept = skills.filter(
    (skill) => skill.digest !== undefined && skill.standing !== 'withheld' && !isOfUpstream(skill),
  )
  const named = kept.map((skill) => [storedOf(skill), skill.path] as const)
  return docs === undefined ? named : [...named, [storedOf(docs), undefined]]
}

/** The number of skills for each line of progress. */
const SHOWN_EVERY = 100

/** Checks the other kept generations, to which a rollback can return. */
export async function* keptAreWhole(verifying: Verifying): AsyncGenerator<CheckResult> {
  for await (const { generation, snapshots } of keptSnapshots(verifying)) {
    if (typeof generation === 'number') {
      yield verdicts('generation-damaged').fail(`generation ${generation} cannot be read`)
      continue
    }
    yield* damagedSnapshots(verifying, generation)
    for (const snapshot of snapshots) yield* inspect(snapshot, verifying)
  }
}

/** Checks the objects that no other check has read, such as those that wait for an approval. */
export async function* objectsAreWhole({ store, checked, show, signal }: Verifying): AsyncGenerator<CheckResult> {
  if (store === undefined) return
  show('all other objects')
  for await (const digest of store.objects.digests()) {
    signal.throwIfAborted()
    const damage = checked.has(digest) ? undefined : await damageOf(store, digest)
    if (damage !== undefined) yield verdicts('object-damaged').fail(damage.message)
  }
}

async function damageOf(store: Store, digest: string): Promise<Damaged | undefined> {
  try {
    await store.objects.get(digest)
    return undefined
  } catch (error) {
    if (error instanceof Damaged) return error
    throw error
  }
}

interface Kept {
  /** Only the number if it cannot be read. */
  readonly generation: Generation | number
  /** The snapshots that no previous generation contained. */
  readonly snapshots: readonly Snapshot[]
}

async function* keptSnapshots({ store, served, show, signal }: Verifying): AsyncGenerator<Kept> {
  if (store === undefined) return
  const ofServed = served === undefined ? [] : [...served.sources, ...heldInRings(served)]
  const seen = new Set(ofServed.map(({ snapshot }) => snapshot))
  for (const number of await store.generations.numbers()) {
    if (number >= (served?.number ?? 0)) continue
    signal.throwIfAborted()
    show(`generation ${number}`)
    const generation = await store.generations.read(number)
    const snapshots: Snapshot[] = []
    for (const { snapshot } of generation === undefined ? [] : [...generation.sources, ...heldInRings(generation)]) {
      const read = seen.has(snapshot) ? undefined : await store.snapshots.readWhole(snapshot)
      seen.add(snapshot)
      if (read !== undefined) snapshots.push(read)
    }
    yield { generation: generation ?? number, snapshots }
  }
}
