import { canonicalJson } from '../../../base/canonical-json.ts'
import type { Generation } from '../../model/generation.ts'
import { SyncError } from '../../model/sync-error.ts'
import { isUnwritable } from '../files/disk-error.ts'
import type { StoreHead } from '../objects/object-store.ts'
import { storedIn, type StoredSkill } from '../skills/stored-path.ts'
import { SNAPSHOT_LABEL } from '../snapshot-store.ts'
import type { Store } from '../store.ts'
import { EarlierState } from './earlier-state.ts'

/** The result of a migration. */
export interface MigratedState {
  readonly generations: number
  readonly snapshots: number
  readonly files: number
  /** The files that were damaged or gone: they are fetched again when a client asks for them. */
  readonly damaged: number
}

/** The means of a migration besides the store. */
export interface MigrationContext {
  /** Called with the number of finished snapshots, and of all. */
  readonly onProgress: (done: number, all: number) => void
  readonly signal: AbortSignal
}

/**
 * Migrates the state of an earlier version: its files become objects. A kill in between leaves every
 * earlier file in place, and links may lead to checkouts already; the next start goes on with what is in the store. Only
 * for the one writer.
 */
export async function migrateState(store: Store, migration: MigrationContext): Promise<MigratedState> {
  try {
    return await migrateAll(store, migration)
  } catch (error) {
    throw isUnwritable(error) ? await migrationFailure(store.folder.path, error) : error
  }
}

/** The error for a migration of this state folder that the disk refuses. It names the space that a migration takes. */
export async function migrationFailure(state: string, refusal: SyncError): Promise<SyncError> {
  const megabytes = Math.ceil((await new EarlierState(state).size()) / 1e6) + LOG_MB
  return new SyncError(
    'store-failed',
    `Cannot migrate the state folder "${state}", which an earlier version wrote: ${refusal.message}; ` +
      `a migration takes about ${megabytes} MB of space; or move the folder away to start with an empty one`,
    { cause: refusal.cause, fix: refusal.fix },
  )
}

/** The space of SQLite's log: a thousand pages of 16 KiB, and one batch more. */
const LOG_MB = 20

async function migrateAll(store: Store, migration: MigrationContext): Promise<MigratedState> {
  const earlier = new EarlierState(store.folder.path)
  using _lease = store.objects.lease()
  const taken = await migrateSnapshots(store, earlier, migration)
  const generations = await earlier.generations()
  // Those of a migration that was killed are not the newest if an earlier program has published since.
  await store.objects.adopt(await headsOf(store, generations))
  await store.folder.endMigration()
  return { ...taken, generations: generations.length }
}

async function migrateSnapshots(
  store: Store,
  earlier: EarlierState,
  { onProgress, signal }: MigrationContext,
): Promise<Omit<MigratedState, 'generations'>> {
  const digests = await earlier.snapshots()
  const links = await earlier.links()
  const linked = new Map<string, StoredSkill>()
  let [snapshots, files, damaged] = [0, 0, 0]
  for (const [done, digest] of digests.entries()) {
    signal.throwIfAborted()
    onProgress(done, digests.length)
    const found = await earlier.snapshot(digest)
    if (found === undefined) continue
    for (const skill of storedIn(found.snapshot)) {
      const { taken, lost } = await takeFiles(store, earlier, skill, signal)
      files += taken
      damaged += lost
      const names = lost === 0 ? links.filter((link) => link.folder === `${skill.digest}/${skill.folderName}`) : []
      if (names.length > 0) await store.checkouts.ensure(skill)
      for (const { name } of names) linked.set(name, skill)
    }
    const head = found.objects.at(-1)
    await store.objects.put(found.objects.slice(0, -1))
    if (head !== undefined) await store.objects.put([head], SNAPSHOT_LABEL)
    snapshots += 1
  }
  onProgress(digests.length, digests.length)
  // Before the folders go that they led to.
  await store.links.follow(linked)
  return { snapshots, files, damaged }
}

async function takeFiles(
  store: Store,
  earlier: EarlierState,
  skill: StoredSkill,
  signal: AbortSignal,
): Promise<{ readonly taken: number; readonly lost: number }> {
  const missing = new Set(await store.objects.missing(skill.files.map(({ sha256 }) => sha256)))
  const wanted = skill.files.filter(({ sha256 }) => missing.has(sha256))
  const bytes: Buffer[] = []
  for (const file of wanted) {
    signal.throwIfAborted()
    const read = await earlier.file(skill, file)
    if (read !== undefined) bytes.push(read)
  }
  await store.objects.put(bytes)
  return { taken: bytes.length, lost: wanted.length - bytes.length }
}

async function headsOf(store: Store, generations: readonly Generation[]): Promise<readonly StoreHead[]> {
  const objects = generations.map((generation) => Buffer.from(canonicalJson(generation)))
  const digests = await store.objects.put(objects)
  return generations.map(({ number }, at) => ({ sequence: number, generation: digests[at] ?? '' }))
}
