import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isMapping } from '../../base/json-value.ts'
import { withoutHidden } from './hidden-unicode.ts'
import type { FrontmatterPath } from './skill-diagnostic.ts'
import { isSkillName } from './skill-name.ts'

/**
 * The statements about the life of a skill, from `metadata` in its frontmatter (Agent Skills: a mapping of
 * texts to texts). Invalid values are left out. All texts are on one line, bounded, and without invisible characters.
 */
export interface Lifecycle {
  /** The reason, or `true` without one. */
  readonly deprecated?: string | true
  /** The name of a skill, or its `skill://` URI. */
  readonly replacedBy?: string
  /** The person or team to ask. */
  readonly owner?: string
  /** Names of the skills that it needs, each once. */
  readonly dependsOn?: readonly string[]
}

/** A value of `metadata` that is not used, with the reason. */
export interface LifecycleFault {
  readonly keys: FrontmatterPath
  readonly message: string
}

/** The statements of the operator about a skill. Each replaces that of the author. */
export interface LifecycleEdit extends Omit<Lifecycle, 'deprecated'> {
  /** `false` takes back the deprecation by the author. */
  readonly deprecated?: string | boolean
}

/** The lifecycle that a skill has by its frontmatter and by the operator; empty if neither says anything. */
export function lifecycleOf(skill: SkillStatements | undefined): Lifecycle {
  const declared = reading(skill?.frontmatter).lifecycle
  if (skill?.lifecycle === undefined) return declared
  const { deprecated, ...rest } = { ...declared, ...skill.lifecycle }
  const isDeprecated = deprecated !== undefined && deprecated !== false
  return { ...(isDeprecated && { deprecated }), ...rest }
}

interface SkillStatements {
  readonly frontmatter: JsonObject | undefined
  readonly lifecycle?: LifecycleEdit
}

/** True for the name of a skill, or its `skill://` URI. */
export function isReplacement(text: string): boolean {
  return readReplacement(text).value !== undefined
}

/** The faults of the values that `lifecycleOf` leaves out, in the order of the fields. */
export function lifecycleFaults(frontmatter: JsonObject | undefined): readonly LifecycleFault[] {
  return reading(frontmatter).faults
}

/** A sentence for a list that says that the skill is deprecated, and what replaces it. `undefined` if it is not. */
export function deprecationText({ deprecated, replacedBy }: Lifecycle): string | undefined {
  if (deprecated === undefined) return undefined
  const use = replacedBy === undefined ? '' : `; use ${replacedBy} instead`
  return `Deprecated${use}${deprecated === true ? '' : `: ${deprecated}`}`
}

/** The description that a list shows: it begins with the deprecation, so that a shortened one still says it. */
export function listedDescription(description: string, lifecycle: Lifecycle): string {
  const text = deprecationText(lifecycle)
  return text === undefined ? description : `[${text}] ${description}`
}

/** The fields as lines for people, in a fixed order. */
export function lifecycleLines({ deprecated, replacedBy, owner, dependsOn }: Lifecycle): readonly string[] {
  return [
    ...(deprecated === undefined ? [] : [deprecated === true ? 'deprecated' : `deprecated: ${deprecated}`]),
    ...(replacedBy === undefined ? [] : [`replaced-by: ${replacedBy}`]),
    ...(owner === undefined ? [] : [`owner: ${owner}`]),
    ...(dependsOn === undefined ? [] : [`depends_on: ${dependsOn.join(' ')}`]),
  ]
}

interface Reading {
  readonly lifecycle: Lifecycle
  readonly faults: readonly LifecycleFault[]
}

const NOTHING: Reading = { lifecycle: {}, faults: [] }

function reading(frontmatter: JsonObject | undefined): Reading {
  const metadata = frontmatter?.['metadata']
  if (!isMapping(metadata)) return NOTHING
  const read = <Value>(key: string, by: (value: JsonValue) => Read<Value>): Read<Value> => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    return value === undefined ? {} : by(value)
  }
  const deprecated = read('deprecated', readDeprecated)
  const replacedBy = read('replaced-by', readReplacement)
  const owner = read('owner', (value) => readLine(value, MOST_OWNER))
  const dependsOn = read('depends_on', readNames)
  const reads = { deprecated, 'replaced-by': replacedBy, owner, depends_on: dependsOn }
  return {
    lifecycle: {
      ...(deprecated.value !== undefined && { deprecated: deprecated.value }),
      ...(replacedBy.value !== undefined && { replacedBy: replacedBy.value }),
      ...(owner.value !== undefined && { owner: owner.value }),
      ...(dependsOn.value !== undefined && { dependsOn: dependsOn.value }),
    },
    faults: Object.entries(reads).flatMap(([key, { fault }]) =>
      fault === undefined ? [] : [{ keys: ['metadata', key], message: `metadata.${key}: ${fault}` }],
    ),
  }
}

interface Read<Value> {
  readonly value?: Value
  readonly fault?: string
}

const MOST_REASON = 300
const MOST_OWNER = 200
const MOST_URI = 512
const MOST_NAMES = 64

/** YAML reads a plain `true` as a boolean. Its meaning is clear, but the specification requires a text. */
function readDeprecated(value: JsonValue): Read<string | true> {
  if (value === true) return { value: true, fault: 'is a boolean; quote it' }
  if (value === false) return { fault: 'is a boolean; leave it out for a skill that is not deprecated' }
  if (value === 'true') return { value: true }
  if (value === 'false') return {}
  return readLine(value, MOST_REASON)
}

function readReplacement(value: JsonValue): Read<string> {
  const isUri =
    typeof value === 'string' && value.length <= MOST_URI && /^skill:\/\/[\w.~%!$&'()*+,;=:@/-]+$/.test(value)
  if (isUri || (typeof value === 'string' && isSkillName(value))) return { value }
  return { fault: 'is neither the name of a skill nor a skill:// URI' }
}

function readLine(value: JsonValue, most: number): Read<string> {
  if (typeof value !== 'string') return { fault: 'is not text; quote it' }
  // Bounded first: a frontmatter has room for 64 KiB.
  const text = withoutHidden(value.slice(0, 4 * most).toWellFormed())
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (text === '') return { fault: 'is empty; give it a value, or leave it out' }
  if (text.length <= most) return { value: text }
  return { value: `${text.slice(0, most - 1).toWellFormed()}…`, fault: `has over ${most} characters; shorten it` }
}

function readNames(value: JsonValue): Read<readonly string[]> {
  if (typeof value !== 'string') return { fault: 'is not text; write the names with spaces between them' }
  const names = [...new Set(value.split(/[\s,]+/).filter((name) => name !== ''))]
  if (names.length === 0) return { fault: 'is empty; give it a value, or leave it out' }
  const valid = names.filter(isSkillName)
  const wrong = names.find((name) => !isSkillName(name))
  const kept = valid.slice(0, MOST_NAMES)
  const fault =
    wrong !== undefined
      ? `${JSON.stringify(wrong.slice(0, 80))} is not the name of a skill`
      : valid.length > MOST_NAMES
        ? `has over ${MOST_NAMES} names`
        : undefined
  return { ...(kept.length > 0 && { value: kept }), ...(fault !== undefined && { fault }) }
}
