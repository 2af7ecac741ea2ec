import type { ObjectId } from '../model/revision.ts'
import { othersThan } from '../model/skill-delta.ts'
import type { SkillFile } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { SyncError } from '../model/sync-error.ts'
import type { SkillWriter, BytesOrigin } from '../store/skills/skill-writer.ts'
import { keptIn, storedIn, storedOf } from '../store/skills/stored-path.ts'
import type { StoredSkill } from '../store/skills/stored-path.ts'
import type { Survey } from '../survey/survey.ts'

/** The stored snapshots that a new one shares content with. */
export interface StoredBefore {
  /** The snapshot whose unchanged parts are reused unread. */
  readonly earlier: Snapshot | undefined
  readonly served: Snapshot | undefined
}

/** Writes found content that the store lacks, and returns that content. */
export type FreshWriter = (
  found: Pick<Survey, 'skills' | 'docs' | 'taken'>,
  signal: AbortSignal,
) => Promise<readonly StoredSkill[]>

/** Returns a function that writes found content that the store lacks, and returns that content. */
export function freshWriter({ earlier, served }: StoredBefore, writer: SkillWriter): FreshWriter {
  const before = earlier?.skills ?? []
  return async (found, signal) => {
    const others = storedIn({ ...found, skills: othersThan(before, found.skills) })
    const digests = new Set(others.map(({ digest }) => digest))
    const alike = earlier?.skills.filter(({ digest }) => digest !== undefined && digests.has(digest)) ?? []
    const kept = new Set(storedIn({ ...earlier, skills: alike }).map(placeOf))
    const fresh = others.filter((stored) => !kept.has(placeOf(stored)))
    const blobs = fresh.flatMap(({ files }) => files.map(({ blob }) => blob))
    // The served snapshot provides only replacements for unreadable files, and these were checked.
    const stored = storedBlobs(
      [served, earlier],
      new Set(blobs.filter((blob) => found.taken.get(blob)?.kind !== 'blob')),
    )
    await writer.add(fresh, (_, file) => originOf(file, found.taken, stored), signal)
    return fresh
  }
}

/** Other rules can read another name out of the same files, and the folder is called by it. */
function placeOf({ place, digest, folderName }: StoredSkill): string {
  return `${place}/${digest}/${folderName}`
}

function originOf(file: SkillFile, brought: Survey['taken'], stored: ReadonlyMap<ObjectId, BytesOrigin>): BytesOrigin {
  const taken = brought.get(file.blob)
  if (taken?.kind === 'blob') return { kind: 'scratch', file: taken.file, at: taken.at }
  const known = stored.get(file.blob)
  if (known === undefined)
    throw new SyncError('store-failed', `Cannot keep "${file.path}": nobody has the blob ${file.blob}`)
  return known
}

function storedBlobs(
  snapshots: readonly (Snapshot | undefined)[],
  wanted: ReadonlySet<ObjectId>,
): ReadonlyMap<ObjectId, BytesOrigin> {
  const origins = new Map<ObjectId, BytesOrigin>()
  if (wanted.size === 0) return origins
  // Both snapshots are usually the same one.
  for (const snapshot of new Set(snapshots)) {
    for (const from of snapshot === undefined ? [] : keptIn(snapshot)) {
      for (const { blob, path } of from.files)
        if (wanted.has(blob)) origins.set(blob, { kind: 'stored', skill: storedOf(from), path })
    }
  }
  return origins
}
