import { isOfUpstream } from '../sync/model/skill.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import type { Store } from '../sync/store/store.ts'

/**
 * Whether the folder of something that a snapshot serves is gone from the store. Each look asks that, since it costs a listing;
 * whether the files in it are what they were is seen by whoever reads them.
 */
export async function hasLostFolders({ skills: store }: Store, { skills, docs }: Snapshot): Promise<boolean> {
  const kept = skills.filter((skill) => skill.standing !== 'withheld' && !isOfUpstream(skill))
  const there = new Set(await store.digests())
  if (kept.some(({ digest }) => digest !== undefined && !there.has(digest))) return true
  return docs !== undefined && !(await store.digests('docs')).includes(docs.digest)
}
