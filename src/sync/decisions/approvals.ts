import { createHash } from 'node:crypto'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Source } from '../model/source.ts'

/**
 * Which skills of other MCP servers people looked at and let through: by source and path. It is exactly what was declared that
 * was approved, and nothing else that comes under the same name.
 */
export type Approvals = ReadonlyMap<SourceId, ReadonlyMap<string, Approval>>

export interface Approval {
  /** `declarationOf` the skill. */
  readonly declaration: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The user of the system who did it. */
  readonly by: string
}

/**
 * SHA-256 of all that the entry of a skill declares: paths, sizes and digests of its files, and the frontmatter, which is shown
 * to clients before anybody has read the SKILL.md that has it too. 64 hex digits; undefined where the entry declares no files.
 */
export function declarationOf(skill: Skill): string | undefined {
  const { digest, frontmatter } = skill
  if (digest === undefined) return undefined
  const known = KNOWN.get(skill)
  if (known !== undefined) return known
  // The keys of a frontmatter are sorted wherever it is from.
  const made = createHash('sha256')
    .update(`${digest}\n${JSON.stringify(frontmatter)}`)
    .digest('hex')
  KNOWN.set(skill, made)
  return made
}

const KNOWN = new WeakMap<Skill, string>()

export const NONE_APPROVED: Approvals = new Map()

/** What is approved once this is, or, undefined, is no longer. The same value where that changes nothing. */
export function withApproval(
  before: Approvals,
  source: SourceId,
  path: string,
  approval: Approval | undefined,
): Approvals {
  const ofSource = new Map(before.get(source))
  if (ofSource.get(path)?.declaration === approval?.declaration) return before
  if (approval === undefined) ofSource.delete(path)
  else ofSource.set(path, approval)
  const rest = [...before].filter(([other]) => other !== source)
  return new Map(ofSource.size === 0 ? rest : [...rest, [source, ofSource]])
}

/** The skills of a snapshot that wait for a person: those that could be served but for that. */
export function pendingIn({ source, skills }: Snapshot, approvals: Approvals): Skill[] {
  const approved = approvals.get(source)
  return skills.filter((skill) => skill.standing !== 'withheld' && !isApproved(skill, approved?.get(skill.path)))
}

function isApproved(skill: Skill, approval: Approval | undefined): boolean {
  return approval !== undefined && approval.declaration === declarationOf(skill)
}

/** The paths whose approval was for something else than they have now: it does not come back with what there was. */
export function outdatedIn({ source, skills }: Snapshot, approvals: Approvals): string[] {
  const there = new Map(skills.map((skill) => [skill.path, skill]))
  return [...(approvals.get(source) ?? [])].flatMap(([path, approval]) => {
    const skill = there.get(path)
    return skill !== undefined && !isApproved(skill, approval) ? [path] : []
  })
}

/** The paths of the skills of a source that wait for approval; none if the source requires none. */
export function pendingPaths(source: Source, snapshot: Snapshot | undefined, approvals: Approvals): readonly string[] {
  if (source.kind !== 'mcp' || source.approval !== 'required' || snapshot === undefined) return []
  return pendingIn(snapshot, approvals).map(({ path }) => path)
}
