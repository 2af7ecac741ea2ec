import type { LockEntry } from '../../model/decisions/lock.ts'
import { digestOf } from '../../model/digest.ts'
import { isOfUpstream } from '../../model/skill.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../model/skill.ts'
import type { SourceId } from '../../model/source-id.ts'

/** Another MCP server that has the skills of a repository. Its content is accepted only by digest. */
export interface Fallback {
  readonly id: SourceId
  /** Its current listing. */
  readonly list: (signal: AbortSignal) => Promise<readonly Skill[]>
  /** The bytes of a file, verified against the listing. */
  readonly read: (skill: UpstreamSkill, file: SkillFile) => Promise<Uint8Array>
}

/** A server's matches for a lock entry. */
export interface FallbackMatches {
  /** By locked path; the files have the executable flags that give the digest. */
  readonly skills: ReadonlyMap<string, FoundSkill>
  /** The locked paths of all skills without a match. */
  readonly missing: readonly string[]
}

export interface FoundSkill {
  readonly skill: UpstreamSkill
  readonly files: readonly SkillFile[]
}

/** Finds the skills of a lock entry by their digests: their names on the other server do not matter. */
export function findLockedSkills({ skills: locked }: LockEntry, listed: readonly Skill[]): FallbackMatches {
  const offered = new Map<string, FoundSkill>()
  for (const skill of listed) {
    if (skill.standing === 'withheld' || skill.digest === undefined || !isOfUpstream(skill)) continue
    for (const files of [skill.files, withExecutables(skill)]) offered.set(digestOf(files), { skill, files })
  }
  const skills = new Map<string, FoundSkill>()
  for (const [path, { digest }] of locked) {
    const found = offered.get(digest)
    if (found !== undefined) skills.set(path, found)
  }
  return { skills, missing: [...locked.keys()].filter((path) => !skills.has(path)) }
}

/**
 * No listing has the executable flag, which the digest covers. If a server provides it separately, the digest proves
 * it.
 */
function withExecutables({ files, upstream: { executables = [] } }: UpstreamSkill): readonly SkillFile[] {
  const executable = new Set(executables)
  return files.map((file) => ({ ...file, executable: executable.has(file.path) }))
}
