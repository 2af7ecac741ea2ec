import { createHash } from 'node:crypto'
import type { Skill } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import type { Source } from '../source.ts'

/**
 * The skills of other MCP servers that the operator reviewed and approved, by source and path. An approval covers
 * exactly what was declared, and nothing else that later has the same name.
 */
export type Approvals = ReadonlyMap<SourceId, ReadonlyMap<string, Approval>>

export interface Approval {
  /** `declarationOf` the skill. */
  readonly declaration: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The system user that approved the skill. */
  readonly by: string
  /**
   * True once the server declared something else: it approves nothing any more, and stays as what the next review
   * compares with.
   */
  readonly isRevoked?: true
}

/**
 * SHA-256 of everything that the entry of a skill declares: paths, sizes and digests of its files, and the frontmatter,
 * which clients see before the SKILL.md that contains it is read. 64 hex digits; `undefined` if the entry declares no
 * files.
 */
export function declarationOf(skill: Skill): string | undefined {
  const { digest, frontmatter } = skill
  if (digest === undefined) return undefined
  const known = KNOWN.get(skill)
  if (known !== undefined) return known
  // The keys of a frontmatter are always sorted, whatever its origin.
  const made = createHash('sha256')
    .update(`${digest}\n${JSON.stringify(frontmatter)}`)
    .digest('hex')
  KNOWN.set(skill, made)
  return made
}

const KNOWN = new WeakMap<Skill, string>()

export const NONE_APPROVED: Approvals = new Map()

/** The approvals with this one added, or removed if it is `undefined`. Returns the same value if nothing changes. */
export function withApproval(
  before: Approvals,
  source: SourceId,
  path: string,
  approval: Approval | undefined,
): Approvals {
  const ofSource = new Map(before.get(source))
  const known = ofSource.get(path)
  if (known?.declaration === approval?.declaration && known?.isRevoked === approval?.isRevoked) return before
  if (approval === undefined) ofSource.delete(path)
  else ofSource.set(path, approval)
  const rest = [...before].filter(([other]) => other !== source)
  return new Map(ofSource.size === 0 ? rest : [...rest, [source, ofSource]])
}

/** The skills of a snapshot that wait for approval and could be served otherwise. */
export function pendingIn({ source, skills }: Snapshot, approvals: Approvals): Skill[] {
  const approved = approvals.get(source)
  return skills.filter((skill) => skill.standing !== 'withheld' && !isApproved(skill, approved?.get(skill.path)))
}

/** True if the approval is for the skill as it is declared now, and was never revoked. */
export function isApproved(skill: Skill, approval: Approval | undefined): boolean {
  return approval !== undefined && approval.isRevoked === undefined && approval.declaration === declarationOf(skill)
}

/**
 * The approvals by path that are for another declaration than the current one. Once revoked, such an approval stays
 * invalid even if the old declaration returns.
 */
export function outdatedIn({ source, skills }: Snapshot, approvals: Approvals): (readonly [string, Approval])[] {
  const there = new Map(skills.map((skill) => [skill.path, skill]))
  return [...(approvals.get(source) ?? [])].filter(([path, approval]) => {
    const skill = there.get(path)
    return skill !== undefined && approval.isRevoked === undefined && !isApproved(skill, approval)
  })
}

/** The paths of the skills of a source that wait for approval; none if the source requires none. */
export function pendingPaths(source: Source, snapshot: Snapshot | undefined, approvals: Approvals): readonly string[] {
  if (source.kind !== 'mcp' || source.approval !== 'required' || snapshot === undefined) return []
  return pendingIn(snapshot, approvals).map(({ path }) => path)
}
