import { isDeepStrictEqual } from 'node:util'
import type { Steps } from '../../base/async/cooperative.ts'
import { baseName } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import { placing, withoutPlacement } from '../model/serving-paths.ts'
import type { PlacementRules } from '../model/serving-paths.ts'
import type { KeptVersion, Skill } from '../model/skill.ts'
import type { Selection } from '../model/source.ts'
import { isWorse } from '../model/worst-standing.ts'
import type { SkillCode, SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/** A skill, with the findings of those parts of it that keep it from full service. */
export interface JudgedSkill {
  readonly skill: Skill
  readonly causes: readonly SkillDiagnostic[]
}

/** A version of a skill from before it was broken. */
export interface GoodVersion {
  /** As the present rules judge it. */
  readonly skill: Skill
  /** The commit that it is from. */
  readonly commit: ObjectId
  /** The first commit with a broken version; `undefined` for the present one. */
  readonly since?: ObjectId | undefined
}

/**
 * Finds the last good versions of skills, by their paths below the root, which has no links; those without one are left
 * out.
 */
export type LastGood = (
  paths: ReadonlySet<string>,
  again: JudgeAgain,
  root: string,
) => Promise<ReadonlyMap<string, GoodVersion>>

/** Judges a skill of the served snapshot by the present rules; `undefined` if they withhold it, or if it is damaged. */
export type JudgeAgain = (served: Skill) => Promise<Skill | undefined>

/** The means to replace broken versions. */
interface Keeping {
  readonly names: Selection['names']
  /** The commit with the broken versions. */
  readonly commit: ObjectId
  readonly again: JudgeAgain
  readonly root: string
  readonly lastGood: LastGood
}

/**
 * Returns the earlier versions that take the place of broken ones, by path: those that are offered more than the versions of
 * this commit.
 */
export async function keptVersions(
  fresh: readonly JudgedSkill[],
  { names, commit, again, root, lastGood }: Keeping,
): Promise<ReadonlyMap<string, Skill>> {
  const broken = brokenVersions(fresh, names)
  const kept = new Map<string, Skill>()
  if (broken.size === 0) return kept
  const good = await lastGood(new Set(broken.keys()), again, root)
  for (const [path, { skill: found, causes }] of broken) {
    const version = good.get(path)
    if (version === undefined || !isWorse(found.standing, withoutPlacement(version.skill).standing)) continue
    const faults = mistakesAmong(causes).slice(0, MOST_FAULTS)
    kept.set(path, keptSkill(version.skill, { commit: version.commit, since: version.since ?? commit, faults }))
  }
  return kept
}

/** More are reported after these are mended. */
const MOST_FAULTS = 8

/** The versions that are broken by a mistake of their author, by path. */
function brokenVersions(judged: readonly JudgedSkill[], names: Selection['names']): ReadonlyMap<string, JudgedSkill> {
  const broken = new Map<string, JudgedSkill>()
  for (const one of judged) {
    const version = names === 'exact' ? exactlyNamed(one) : one
    if (areMistakes(version.causes)) broken.set(version.skill.path, version)
  }
  return broken
}

/** With `names: exact`, a later step withholds a skill whose folder has another name. */
function exactlyNamed({ skill, causes }: JudgedSkill): JudgedSkill {
  const { path, name } = skill
  if (path === '' || name === undefined || name === baseName(path)) return { skill, causes }
  const message = `The name "${name}" is not the name of its folder "${baseName(path)}"`
  const cause: SkillDiagnostic = { rule: 'name-unlike-folder', path, message }
  return { skill: { ...skill, standing: 'withheld' }, causes: [...causes, cause] }
}

/**
 * Returns the skill as an earlier version, with the finding that says so. It is the old object if nothing changed, so that
 * values derived from it stay valid.
 */
export function keptSkill(skill: Skill, kept: KeptVersion): Skill {
  const findings = [...skill.findings.filter(({ rule }) => rule !== 'kept-version'), keptFinding(skill.path, kept)]
  const isSame = isDeepStrictEqual(kept, skill.kept) && isDeepStrictEqual(findings, skill.findings)
  return isSame ? skill : { ...skill, kept, findings }
}

function keptFinding(path: string, { commit, since, faults }: KeptVersion): SkillDiagnostic {
  const [first] = faults
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : ''
  const why = first === undefined ? '' : `: ${first.message} (${first.rule}${more})`
  const message = `The version of commit ${short(commit)} is served, because commit ${short(since)} broke the skill${why}`
  return { rule: 'kept-version', path, message }
}

function short(commit: ObjectId): string {
  return commit.slice(0, 12)
}

/**
 * Gives every skill its path, with the earlier versions in place of those that were judged. The skills of the commit come
 * first: where one of them has the URI of an earlier version, or contains its folder, the judged version stays.
 */
export function* placingWithKept(
  judged: readonly Skill[],
  kept: ReadonlyMap<string, Skill>,
  rules: PlacementRules,
): Steps<readonly Skill[]> {
  const placed = yield* placing(withKept(judged, kept), rules)
  if (kept.size === 0) return placed
  const displaced = new Set(placed.flatMap((skill) => (isDisplaced(skill) ? [skill.path] : [])))
  const left = new Map([...kept].filter(([path]) => !displaced.has(path)))
  return left.size === kept.size ? placed : yield* placing(withKept(judged, left), rules)
}

function withKept(judged: readonly Skill[], kept: ReadonlyMap<string, Skill>): readonly Skill[] {
  return kept.size === 0 ? judged : judged.map((skill) => kept.get(skill.path) ?? skill)
}

function isDisplaced({ kept, findings }: Skill): boolean {
  return kept !== undefined && findings.some(({ rule }) => rule === 'name-clash' || rule === 'nested-skill')
}

/** The folders of earlier versions: their versions in the next commit are read again. */
export function keptPaths(skills: readonly Skill[]): string[] {
  return skills.flatMap(({ kept, path }) => (kept === undefined ? [] : [path]))
}

/**
 * True if the findings that keep a version from full service allow an earlier version in its place: a mistake of its
 * author is among them, and nothing that must take the skill out of service.
 */
function areMistakes(causes: readonly SkillDiagnostic[]): boolean {
  return (
    causes.some(({ rule }) => ON_BROKEN[rule] === 'keep') && !causes.some(({ rule }) => ON_BROKEN[rule] === 'never')
  )
}

/** The findings among the causes that are mistakes of the author. */
function mistakesAmong(causes: readonly SkillDiagnostic[]): readonly SkillDiagnostic[] {
  return causes.filter(({ rule }) => ON_BROKEN[rule] === 'keep')
}

/**
 * The effect of a rule that a new version breaks, with `on_broken: keep`. `keep`: the earlier version stays. `never`: the
 * skill is withheld, whatever else is wrong with it. `beside`: the rule alone keeps no version from service, or judges
 * what no repository has.
 */
export type BrokenEffect = 'keep' | 'never' | 'beside'

export const ON_BROKEN: Readonly<Record<SkillCode, BrokenEffect>> = {
  // The author wrote a SKILL.md that cannot be read, or lacks what it must have.
  'frontmatter-missing': 'keep',
  'frontmatter-unterminated': 'keep',
  'frontmatter-invalid': 'keep',
  'frontmatter-too-large': 'keep',
  'encoding-invalid': 'keep',
  'name-missing': 'keep',
  'name-invalid': 'keep',
  'description-missing': 'keep',
  'description-too-long': 'keep',
  'file-name-case': 'keep',
  // With `names: exact`, the author renamed the folder or the skill alone.
  'name-unlike-folder': 'keep',
  // The author added files that are too many, too large, missing, or not portable.
  'limit-files': 'keep',
  'limit-bytes': 'keep',
  'lfs-pointer': 'keep',
  'path-collision': 'keep',
  'path-refused': 'keep',
  // SKILL.md became a link that leads nowhere or out of the skill. Nothing is read through it.
  'link-refused': 'keep',
  // The author broke the block of a skill that satisfied the contract. The earlier version still satisfies it.
  'contract-violated': 'keep',
  // Only text that smuggles, reorders or conceals withholds a skill: an attack, until a person has read it.
  'hidden-unicode': 'never',
  // Other skills of the commit decide these: they own the URI, or contain the folder.
  'name-clash': 'never',
  'nested-skill': 'never',
  // Notes: the version is served with them.
  'frontmatter-unquoted': 'beside',
  'yaml-comment': 'beside',
  'description-padded': 'beside',
  'metadata-not-text': 'beside',
  'compatibility-invalid': 'beside',
  'field-refused': 'beside',
  'unrendered-text': 'beside',
  'look-alike-letters': 'beside',
  'lfs-left-out': 'beside',
  submodule: 'beside',
  'contract-noted': 'beside',
  // The version is served as it was, for this reason.
  'not-read': 'beside',
  'kept-version': 'beside',
  // They are about no skill.
  'skill-ignored': 'beside',
  'docs-missing': 'beside',
  'marketplace-unread': 'beside',
  'marketplace-differs': 'beside',
  'plugin-refused': 'beside',
  // They are about listings of MCP servers, which have no earlier commits.
  'archive-refused': 'beside',
  'entry-refused': 'beside',
  'listing-incomplete': 'beside',
  'no-answer-for-entry': 'beside',
  'size-unknown': 'beside',
  'not-verifiable': 'beside',
  'content-mismatch': 'beside',
}
