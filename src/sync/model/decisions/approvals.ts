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
  if (ofSource.get(path)?.declaration === approval?.declaration) return before
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

function isApproved(skill: Skill, approval: Approval | undefined): boolean {
  return approval !== undefined && approval.declaration === declarationOf(skill)
}

/**
 * The paths whose approval is for another declaration than the current one. Such an approval stays invalid even if the
 * old declaration returns.
 */
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
