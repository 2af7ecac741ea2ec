import { createHash } from 'node:crypto'
import type { Skill } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import type { Source } from '../source.ts'
import { withRule, type AdmitRule, type Rule } from './rules.ts'

/**
 * The skills of other MCP servers that the operator reviewed and approved. An approval covers exactly what was declared,
 * and nothing else that later has the same name.
 */
export type Approvals = readonly AdmitRule[]

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

/** The approvals of the skills of a source, by path. */
export function approvedIn(approvals: Approvals, source: SourceId): ReadonlyMap<string, AdmitRule> {
  return new Map(approvals.flatMap((rule) => (rule.on.source === source ? [[rule.on.path, rule]] : [])))
}

/** The rules with this approval. Returns the same value if nothing changes. */
export function withApproval(before: readonly Rule[], approval: AdmitRule): readonly Rule[] {
  const { source, path, declaration } = approval.on
  const isSkill = (rule: Rule): rule is AdmitRule =>
    rule.effect === 'admit' && rule.on.source === source && rule.on.path === path
  const known = before.find(isSkill)
  const isKnown = known?.on.declaration === declaration && known.ended === undefined
  return isKnown ? before : withRule(before, approval, isSkill)
}

/** The skills of a snapshot that wait for approval and could be served otherwise. */
export function pendingIn({ source, skills }: Snapshot, approvals: Approvals): Skill[] {
  const approved = approvedIn(approvals, source)
  return skills.filter((skill) => skill.standing !== 'withheld' && !isApproved(skill, approved.get(skill.path)))
}

/** True if the approval is for the skill as it is declared now, and has not ended. */
export function isApproved(skill: Skill, approval: AdmitRule | undefined): boolean {
  return approval !== undefined && approval.ended === undefined && approval.on.declaration === declarationOf(skill)
}

/** The approvals that are for another declaration than the current one. */
export function outdatedIn({ source, skills }: Snapshot, rules: readonly Rule[]): readonly AdmitRule[] {
  const there = new Map(skills.map((skill) => [skill.path, skill]))
  return rules.filter((rule): rule is AdmitRule => {
    if (rule.effect !== 'admit' || rule.ended !== undefined || rule.on.source !== source) return false
    const skill = there.get(rule.on.path)
    return skill !== undefined && !isApproved(skill, rule)
  })
}

/**
 * The rules in which the outdated approvals have ended: they stay invalid even if the old declaration returns. Returns the
 * same value if there are none, because the skills were approved anew.
 */
export function withEnded(rules: readonly Rule[], snapshot: Snapshot, ended: string): readonly Rule[] {
  const outdated = new Set<Rule>(outdatedIn(snapshot, rules))
  return outdated.size === 0 ? rules : rules.map((rule) => (outdated.has(rule) ? { ...rule, ended } : rule))
}

/** The paths of the skills of a source that wait for approval; none if the source requires none. */
export function pendingPaths(source: Source, snapshot: Snapshot | undefined, approvals: Approvals): readonly string[] {
  if (source.kind !== 'mcp' || source.approval !== 'required' || snapshot === undefined) return []
  return pendingIn(snapshot, approvals).map(({ path }) => path)
}
