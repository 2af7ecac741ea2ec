import { isDeepStrictEqual } from 'node:util'
import { inSlices } from '../../../base/async/cooperative.ts'
import type { PublishedRecall } from '../../../sync/model/decisions/published-recall.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { putJson } from '../../../sync/store/objects/json-object.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { SnapshotParts, splitIntoParts } from '../../../sync/store/snapshot-parts.ts'
import { keepRecallList } from '../recall/recall-list.ts'
import { isPublishable, parseSkills } from './channel-schema.ts'
import type { ChannelHead, DigestList, PublishedSource } from './channel-schema.ts'
import { expectObject, objectsOf } from './channel-tree.ts'
import { MOST_PACKED_BYTES, packObjects } from './packed-objects.ts'

/** The content of a channel at one moment. */
export interface KeptChannel {
  /** The object that names all others. Equal content has an equal one. */
  readonly head: Digest
  /** All of its objects: the head, those that it names, and the files of skills. */
  readonly named: ReadonlySet<Digest>
  /** Those of its objects that are lists of skills. */
  readonly lists: ReadonlySet<Digest>
}

/** The contents of a channel to be kept. */
export interface PublishedContents {
  readonly snapshots: readonly Snapshot[]
  readonly disabled: ReadonlyMap<string, ReadonlySet<string>>
  readonly earlier: readonly PublishedSource[]
  readonly recalls: readonly PublishedRecall[]
}

/** Stores what a channel has as objects, beside the files that the store has already. */
export class ChannelContents {
  readonly #objects: ObjectStore
  readonly #parts: SnapshotParts
  /** A skill as the channel has it. An unchanged one is the same value, so that its part is found without its JSON. */
  readonly #published = new WeakMap<Skill, Skill | undefined>()

  constructor(objects: ObjectStore) {
    this.#objects = objects
    this.#parts = new SnapshotParts(objects)
  }

  /**
   * Stores the objects of a channel with these snapshots. `disabled`: the folders of the skills that are out of service,
   * by source. `earlier`: sources that stay at their revision for as long as their skills are the same. The files
   * themselves must be stored.
   */
  async keep({ snapshots, disabled, earlier, recalls }: PublishedContents, signal: AbortSignal): Promise<KeptChannel> {
    const sources: Digest[] = []
    const named = new Set<Digest>()
    const lists = new Set<Digest>()
    for (const snapshot of snapshots) {
      if (!isPublished(snapshot)) continue
      const out = disabled.get(snapshot.source)
      const skills: Skill[] = []
      const add = (skill: Skill): void => {
        const published = out?.has(skill.path) === true ? undefined : this.#asPublished(skill)
        if (published !== undefined) skills.push(published)
      }
      await inSlices(snapshot.skills, add, signal)
      const source = await this.#keepSkills(snapshot, skills, { named, lists }, signal)
      const before = earlier.find((one) => isDeepStrictEqual(one, atRevisionOf(one, source)))
      sources.push(await putJson(this.#objects, before ?? source))
    }
    const list = await keepDigestList(this.#objects, sources)
    const recalled = recalls.length === 0 ? undefined : await keepRecallList(this.#objects, recalls)
    const stored: ChannelHead = { format: 1, sources: list.top, ...(recalled && { recalls: recalled }) }
    const head = await putJson(this.#objects, stored)
    for (const digest of [...sources, ...list.objects, ...(recalled ? [recalled] : []), head]) named.add(digest)
    return { head, named, lists }
  }

  async #keepSkills(
    snapshot: Snapshot,
    skills: readonly Skill[],
    { named, lists }: { readonly named: Set<Digest>; readonly lists: Set<Digest> },
    signal: AbortSignal,
  ): Promise<PublishedSource> {
    const { source, url, revision, proof, findings } = snapshot
    const parts = await this.#parts.keep(await splitIntoParts(skills, signal), signal)
    const list = await keepDigestList(this.#objects, parts)
    for (const digest of [...parts, ...list.objects]) named.add(digest)
    for (const digest of parts) lists.add(digest)
    await inSlices(skills, ({ files }) => {
      for (const { sha256 } of files) named.add(sha256)
    })
    const { ref, commit, tag } = revision
    return {
      source,
      url,
      ref,
      commit,
      ...(tag !== undefined && { tag }),
      ...(proof.signers !== undefined && { signers: proof.signers }),
      findings,
      skills: list.top,
    }
  }

  #asPublished(skill: Skill): Skill | undefined {
    if (this.#published.has(skill)) return this.#published.get(skill)
    const published = [asPublished(skill), withheld(skill)].find(isPublishable)
    this.#published.set(skill, published)
    return published
  }
}

function atRevisionOf(before: PublishedSource, source: PublishedSource): PublishedSource {
  const { commit, tag, signers } = before
  const { tag: _tag, signers: _signers, ...rest } = source
  return { ...rest, commit, ...(tag !== undefined && { tag }), ...(signers !== undefined && { signers }) }
}

/** Skills of other MCP servers are not published: their files need not be here, and were given to this machine alone. */
function isPublished({ form }: Snapshot): boolean {
  return form === undefined
}

/**
 * A withheld skill is published with the reason, and without files: none is served. An earlier version is published with
 * the finding that names its commit: followers take its files from the channel. What the operator says about skills stays
 * here.
 */
function asPublished(skill: Skill): Skill {
  const { contract, kept, lifecycle, ...rest } = skill
  if (skill.standing !== 'withheld') return [contract, kept, lifecycle].every((one) => one === undefined) ? skill : rest
  return { ...rest, files: [], size: 0, digest: undefined }
}

/** A skill that followers could not parse as it is: one of them must not keep the others from the channel. */
function withheld({ path, findings }: Skill): Skill {
  const nothing = { servedPath: undefined, name: undefined, description: undefined, frontmatter: undefined }
  return { path, standing: 'withheld', ...nothing, files: [], size: 0, digest: undefined, findings }
}

/** Finds the content of a channel that was kept before. `undefined` if the store lacks an object of it. */
export async function keptAt(
  head: Digest,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<KeptChannel | undefined> {
  const lists = new Set<Digest>()
  const named = await objectsOf([head], objects, signal, (list) => lists.add(list))
  const isWhole = named.has(head) && (await objects.missing([...named])).length === 0
  return isWhole ? { head, named, lists } : undefined
}

/** Packs the files of a list of skills; `undefined` if they are too large for it. */
export async function packFiles(objects: Pick<ObjectStore, 'get'>, list: Digest): Promise<Uint8Array | undefined> {
  const skills = parseSkills(await expectObject(objects, list)) ?? []
  const files = new Map(skills.flatMap((skill) => skill.files.map(({ sha256, size }) => [sha256, size] as const)))
  const bytes = [...files.values()].reduce((sum, size) => sum + size + 4, 0)
  if (bytes > MOST_PACKED_BYTES) return undefined
  const packed: Uint8Array[] = []
  for (const digest of files.keys()) packed.push(await expectObject(objects, digest))
  return packObjects(packed)
}

/** A stored list of digests. */
interface KeptList {
  readonly top: DigestList
  /** The objects that its parts are in. */
  readonly objects: readonly Digest[]
}

/**
 * Stores a list of digests, in parts if it is long. A digest decides by itself if a part ends after it, so a changed one
 * changes one part of some 32 digests, and the list of the parts.
 */
async function keepDigestList(objects: ObjectStore, digests: readonly Digest[]): Promise<KeptList> {
  if (digests.length <= MOST_INLINE) return { top: { items: digests }, objects: [] }
  let parts = await keepParts(objects, digests, 'items')
  const kept = [...parts]
  while (parts.length > MOST_INLINE) {
    parts = await keepParts(objects, parts, 'lists')
    kept.push(...parts)
  }
  return { top: { lists: parts }, objects: kept }
}

async function keepParts(
  objects: ObjectStore,
  digests: readonly Digest[],
  kind: 'items' | 'lists',
): Promise<readonly Digest[]> {
  const kept: Digest[] = []
  for (const part of cut(digests)) kept.push(await putJson(objects, { [kind]: part }))
  return kept
}

function cut(digests: readonly Digest[]): readonly (readonly Digest[])[] {
  const parts: Digest[][] = []
  let part: Digest[] = []
  for (const digest of digests) {
    part.push(digest)
    if (part.length < MOST_INLINE && !isCutAfter(digest)) continue
    parts.push(part)
    part = []
  }
  return part.length === 0 ? parts : [...parts, part]
}

const MOST_INLINE = 64

/** True for one digest in 32. */
function isCutAfter(digest: Digest): boolean {
  return Number.parseInt(digest.slice(0, 2), 16) < 8
}
