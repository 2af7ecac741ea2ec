import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import { frontmatterBy } from '../../sync/skill/document-reader.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import type { FrontmatterReading } from '../../sync/skill/frontmatter.ts'
import type { KeptFile } from '../../sync/store/skills/upstream-files.ts'
import type { Store } from '../../sync/store/store.ts'
import { READ_HERE } from '../../sync/survey/document-reading.ts'
import { mismatchOf } from '../../sync/survey/verify-file.ts'
import type { Config } from '../config/config.ts'

/**
 * The stored file for this skill. The store may hold a SKILL.md with these bytes for another skill, whose entry has
 * another frontmatter. It was never compared with this declaration, so it counts as absent.
 */
export async function readKept(
  skill: UpstreamSkill,
  file: SkillFile,
  { store, config, reader = READ_HERE }: KeptParts,
  signal: AbortSignal,
): Promise<KeptFile> {
  const kept = await store.upstreams.read(skill.upstream.source, file)
  if (kept.kind !== 'whole' || file.path !== 'SKILL.md') return kept
  const read = (bytes: Uint8Array): Promise<FrontmatterReading> =>
    frontmatterBy(reader, bytes, config.limits.frontmatter, signal)
  return (await mismatchOf(skill, file, kept.bytes, read)) === undefined ? kept : { kind: 'absent' }
}

interface KeptParts {
  readonly store: Store
  readonly config: Config
  /** Absent: read on this thread. */
  readonly reader?: DocumentReader
}
