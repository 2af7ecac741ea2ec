import type { SkillFile, UpstreamSkill } from '../sync/model/skill.ts'
import type { Store } from '../sync/store/store.ts'
import type { KeptFile } from '../sync/store/upstream-files.ts'
import { mismatchOf } from '../sync/verify-declared.ts'
import type { Config } from './config.ts'

/**
 * What the store has of a file for this skill. A SKILL.md of these bytes may be there for another skill, whose entry has another
 * frontmatter: what this one declares was never compared with it, and it is as good as absent.
 */
export async function readKept(
  skill: UpstreamSkill,
  file: SkillFile,
  { store, config }: { readonly store: Store; readonly config: Config },
): Promise<KeptFile> {
  const kept = await store.upstreams.read(skill.upstream.source, file)
  if (kept.kind !== 'whole' || file.path !== 'SKILL.md') return kept
  return mismatchOf(skill, file, kept.bytes, config.limits.frontmatter) === undefined ? kept : { kind: 'absent' }
}
