import { digestOf } from '../model/digest.ts'
import type { LockEntry } from '../decisions/lock.ts'
import { isOfUpstream } from '../model/skill.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../model/skill.ts'
import type { SourceId } from '../model/source-id.ts'

/** Another MCP server that has the skills of a repository. What it gives is taken by digest alone. */
export interface Fallback {
  readonly id: SourceId
  /** What it lists now. */
  readonly list: (signal: AbortSignal) => Promise<readonly Skill[]>
  /** The bytes of a file, checked against what is listed. */
  readonly read: (skill: UpstreamSkill, file: SkillFile) => Promise<Uint8Array>
}

/** What a server has of a lock entry. */
export interface Found {
  /** By their locked path; the files with the executable flags that the digest is made with. */
  readonly skills: ReadonlyMap<string, FoundSkill>
  /** The locked paths of all others. */
  readonly missing: readonly string[]
}

export interface FoundSkill {
  readonly skill: UpstreamSkill
  readonly files: readonly SkillFile[]
}

/** Looks the skills of a lock entry up by their digests: what they are called elsewhere says nothing. */
export function findLockedSkills({ skills: locked }: LockEntry, listed: readonly Skill[]): Found {
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

/** No listing has the executable flag, which the digest covers. What a server says of it besides, the digest proves. */
function withExecutables({ files, upstream: { executables = [] } }: UpstreamSkill): readonly SkillFile[] {
  const executable = new Set(executables)
  return files.map((file) => ({ ...file, executable: executable.has(file.path) }))
}
