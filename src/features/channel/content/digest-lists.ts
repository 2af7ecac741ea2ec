import { putJson } from '../../../sync/store/objects/json-object.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import type { DigestList } from './channel-schema.ts'

/** A stored list of digests. */
export interface KeptList {
  readonly top: DigestList
  /** The objects that its parts are in. */
  readonly objects: readonly Digest[]
}

/**
 * Stores a list of digests, in parts if it is long. A digest decides by itself if a part ends after it, so a changed one
 * changes one part of some 32 digests, and the list of the parts.
 */
export async function keepDigestList(objects: ObjectStore, digests: readonly Digest[]): Promise<KeptList> {
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
