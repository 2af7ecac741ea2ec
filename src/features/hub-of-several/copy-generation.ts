import { z } from 'zod'
import { digestOf } from '../../sync/model/digest.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isSourceId } from '../../sync/model/source-id.ts'
import { Damaged, undefinedIfDamaged } from '../../sync/model/sync-error.ts'
import { FORM_LIMITS, formProblem, nameProblem } from '../../sync/skill/skill-path.ts'
import { GenerationParts } from '../../sync/store/generation-parts.ts'
import { readOutline } from '../../sync/store/generation-store.ts'
import { fileObjectsOf } from '../../sync/store/kept-contents.ts'
import type { Digest, ObjectStore, StoreHead } from '../../sync/store/objects/object-store.ts'
import { snapshotsInTrails } from '../../sync/store/ring-states.ts'
import { isDigest } from '../../sync/store/skills/stored-path.ts'
import { SNAPSHOT_LABEL, SnapshotStore } from '../../sync/store/snapshot-store.ts'

/** The stores between which a generation is copied. */
export interface CopiedStores {
  readonly from: ObjectStore
  readonly to: ObjectStore
}

/**
 * Copies a generation with all that it names into another store, and returns the number of new objects. What the present
 * head of that store has in common with it is not read: it is there whole. All else is looked up, since a collection may
 * have removed a part of it. The caller holds a lease of both stores. Throws `Damaged` if the first one lacks something.
 */
export async function copyGeneration(head: StoreHead, stores: CopiedStores, signal: AbortSignal): Promise<number> {
  const { from, to } = stores
  const outline = await readOutline(from, head, new GenerationParts(from))
  // Reading it again tells why.
  if (outline === undefined) return copyObjects([head.generation], stores, signal)
  const present = await snapshotsAt(to)
  const { generation } = outline
  let copied = 0
  for (const { source, snapshot } of [...generation.sources, ...snapshotsInTrails(generation)]) {
    const before = present.of.get(source)
    if (!present.all.has(snapshot)) copied += await copySnapshot(snapshot, { ...stores, before }, signal)
  }
  // The generation itself is the first.
  return copied + (await copyObjects(await to.missing(outline.objects.toReversed()), stores, signal))
}

/** The snapshots of the present head: those of the first ring by source, and all of them. */
async function snapshotsAt(
  store: ObjectStore,
): Promise<{ readonly of: ReadonlyMap<SourceId, Digest>; readonly all: ReadonlySet<Digest> }> {
  const head = await store.head()
  const outline = head && (await readOutline(store, head, new GenerationParts(store)))
  const { sources = [], rings } = outline?.generation ?? {}
  return {
    of: new Map(sources.map(({ source, snapshot }) => [source, snapshot])),
    all: new Set([...sources, ...snapshotsInTrails({ rings })].map(({ snapshot }) => snapshot)),
  }
}

/** `before`: the snapshot of the source that the second store has whole. */
interface SnapshotCopy extends CopiedStores {
  readonly before: Digest | undefined
}

async function copySnapshot(digest: Digest, copy: SnapshotCopy, signal: AbortSignal): Promise<number> {
  const { from, to, before } = copy
  const reading = new SnapshotStore(from)
  const { snapshot, parts } = await reading.outline(digest)
  expectSnapshot(snapshot, digest)
  const whole = before === undefined ? undefined : await new SnapshotStore(to).outline(before).catch(undefinedIfDamaged)
  const known = new Set(whole?.parts)
  const newParts = parts.filter((part) => !known.has(part))
  const files = new Set(fileObjectsOf(snapshot))
  for (const part of newParts) {
    const skills = await reading.part(part)
    expectSkills(skills, part)
    for (const file of fileObjectsOf({ skills })) files.add(file)
  }
  const objects = [...(await to.missing(files)), ...(await to.missing(newParts))]
  const copied = await copyObjects(objects, copy, signal)
  return copied + (await copyObjects(await to.missing([digest]), copy, signal, SNAPSHOT_LABEL))
}

/** Copies those objects of a snapshot that the second store lacks, or that are damaged there. */
export async function restoreSnapshot(digest: Digest, stores: CopiedStores, signal: AbortSignal): Promise<void> {
  const { from, to } = stores
  const reading = new SnapshotStore(from)
  const { snapshot, parts } = await reading.outline(digest)
  const objects = new Set([...fileObjectsOf(snapshot), ...parts])
  for (const part of parts) for (const file of fileObjectsOf({ skills: await reading.part(part) })) objects.add(file)
  const damaged: Digest[] = []
  for (const object of objects) if ((await to.get(object).catch(undefinedIfDamaged)) === undefined) damaged.push(object)
  await copyObjects(damaged, stores, signal)
}

async function copyObjects(
  digests: readonly Digest[],
  { from, to }: CopiedStores,
  signal: AbortSignal,
  label?: string,
): Promise<number> {
  let batch: Uint8Array[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    signal.throwIfAborted()
    if (batch.length > 0) await to.put(batch, label)
    ;[batch, bytes] = [[], 0]
  }
  for await (const object of from.each(digests)) {
    batch.push(object)
    bytes += object.byteLength
    if (bytes >= BATCH_BYTES || batch.length >= BATCH_OBJECTS) await flush()
  }
  await flush()
  return digests.length
}

/** One write. */
const BATCH_BYTES = 2 ** 22
const BATCH_OBJECTS = 1_000

// Another process wrote what is copied, perhaps with rights on the database alone. What could lead outside the store, or
// end a process, is refused here; all else is as it was written.

const DIGEST = z.string().refine(isDigest)
const COUNT = z.int().nonnegative()
const PATH = z.string().refine((path) => (formProblem(path, FORM_LIMITS) ?? nameProblem(path)) === undefined)

const FILE = z.looseObject({ path: PATH, executable: z.boolean(), size: COUNT, sha256: DIGEST })
const CONTENT = { files: z.array(FILE), size: COUNT, digest: DIGEST.optional() }

/** A folder in a repository may have any name; no part of it leads out of the repository. */
const FOLDER = z.string().refine((path) => !path.split('/').some((name) => name === '..' || name.includes('\0')))

const DETAILS = {
  path: FOLDER,
  servedPath: FOLDER.optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  frontmatter: z.record(z.string(), z.unknown()).optional(),
  findings: z.array(z.looseObject({ rule: z.string(), path: z.string(), message: z.string() })),
}

/** The files of a withheld skill are not stored, and may be the reason. */
const SKILL = z.discriminatedUnion('standing', [
  z.looseObject({ ...CONTENT, ...DETAILS, standing: z.enum(['served', 'unlisted', 'tools']) }),
  z.looseObject({ ...DETAILS, standing: z.literal('withheld'), files: z.array(z.unknown()), size: COUNT }),
])

const SNAPSHOT = z.looseObject({
  source: z.string().refine(isSourceId),
  url: z.string(),
  revision: z.looseObject({ ref: z.string(), commit: z.string().refine(isObjectId) }),
  tree: z.string(),
  rules: z.string(),
  skills: z.array(z.unknown()),
  findings: z.array(z.unknown()),
  folders: z.record(z.string(), z.string()),
  proof: z.looseObject({ commit: z.string() }),
  docs: z.looseObject(CONTENT).optional(),
})

/** Throws `Damaged` if skills of a snapshot do not have the form of ours, or the digest of their files. */
export function expectSkills(skills: readonly Skill[], of: Digest): void {
  for (const skill of skills) {
    if (!SKILL.safeParse(skill).success) throw misshapen(of)
    // What another server declares is verified when its files are read.
    if (skill.upstream === undefined && skill.standing !== 'withheld') expectDigest(skill, of)
  }
}

/** Throws `Damaged` if a snapshot, without its parts, does not have the form of ours. */
function expectSnapshot(snapshot: Snapshot, of: Digest): void {
  if (!SNAPSHOT.safeParse(snapshot).success) throw misshapen(of)
  expectSkills(snapshot.skills, of)
  if (snapshot.docs !== undefined) expectDigest(snapshot.docs, of)
}

function expectDigest({ digest, files }: Pick<Skill, 'digest' | 'files'>, of: Digest): void {
  if (digest !== undefined && digest !== digestOf(files)) throw misshapen(of)
}

function misshapen(digest: Digest): Damaged {
  return new Damaged(`Cannot take over the object "${digest}": it is not what a skillsyncd writes`)
}
