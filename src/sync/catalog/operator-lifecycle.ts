import { createHash } from 'node:crypto'
import { matcher } from '../../base/globs.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { LifecycleRule } from '../model/source.ts'
import type { LifecycleEdit } from '../skill/lifecycle.ts'

/** The rules of the operator about the lifecycle of skills, by source. */
export type LifecycleRules = ReadonlyMap<SourceId, readonly LifecycleRule[]>

/**
 * The snapshot with what the operator says about its skills. Equal inputs give the same objects, so that values derived
 * from them stay valid; a skill that no rule is about is the same object as before.
 */
export function withLifecycles(snapshot: Snapshot, all: LifecycleRules = NONE): Snapshot {
  const rules = all.get(snapshot.source) ?? []
  if (rules.length === 0) return snapshot
  const known = SNAPSHOTS.get(snapshot)
  if (known?.rules === rules) return known.value
  const editOf = editsBy(rules)
  const skills = snapshot.skills.map((skill) => withEdit(skill, rules, editOf))
  const lifecycles = createHash('sha256').update(JSON.stringify(rules)).digest('hex')
  const value: Snapshot = { ...snapshot, skills, lifecycles }
  SNAPSHOTS.set(snapshot, { rules, value })
  return value
}

const NONE: LifecycleRules = new Map()

interface Made<Value> {
  readonly rules: readonly LifecycleRule[]
  readonly value: Value
}

const SNAPSHOTS = new WeakMap<Snapshot, Made<Snapshot>>()
const SKILLS = new WeakMap<Skill, Made<Skill>>()

function withEdit(
  skill: Skill,
  rules: readonly LifecycleRule[],
  editOf: (path: string) => LifecycleEdit | undefined,
): Skill {
  const known = SKILLS.get(skill)
  if (known?.rules === rules) return known.value
  const lifecycle = editOf(skill.path)
  const value = lifecycle === undefined ? skill : { ...skill, lifecycle }
  SKILLS.set(skill, { rules, value })
  return value
}

/** The edit of a skill by its path: of several rules about it, the last one with a field counts. */
function editsBy(rules: readonly LifecycleRule[]): (path: string) => LifecycleEdit | undefined {
  const each = rules.map(({ include, edit }) => ({ matches: matcher(include), edit }))
  return (path) => {
    const edits = each.filter(({ matches }) => matches(path)).map(({ edit }) => edit)
    return edits.length === 0 ? undefined : Object.assign({}, ...edits)
  }
}
