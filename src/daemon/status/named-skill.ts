import { closestTo } from '../../base/text/closest.ts'
import type { Config } from '../config/config.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { leftSkillIn } from './changes/history.ts'

/** The names by which a skill can be addressed. */
export interface SkillReference {
  /** The id that search and the tools print, if they offer the skill or would do so without the operator's decision. */
  readonly id?: string
  readonly source: string
  /** The real folder, relative to the source's root. */
  readonly path: string
  /** The URI of its SKILL.md, if it has one. */
  readonly uri: string | undefined
  readonly name: string | undefined
}

/** The skill that the operator means. Throws if there is none, or several: the choice is the operator's. */
export function theOnly<Skill extends SkillReference>(all: readonly Skill[], asked: string): Skill {
  return theOnlyIfAny(all, asked) ?? noneCalled(all, asked)
}

/** Throws that none of these skills has the name. */
export function noneCalled(all: readonly SkillReference[], asked: string): never {
  throw new OperatorError('unknown-skill', `No skill is called "${asked}"; ${unknownNameHint(all, asked)}`)
}

/** The skill that was probably meant by a name that none has, or where all of them are listed. */
export function unknownNameHint(all: readonly SkillReference[], asked: string): string {
  if (all.length === 0) return 'none is served yet: skillsyncd sync brings them, or shows why it cannot'
  const names = new Set(all.flatMap((one) => [...ALONE(one), ...FULL(one), ...OF_SOURCE(one)]))
  const meant = closestTo(asked, [...names])
  return meant === undefined ? 'skillsyncd list shows them' : `did you mean "${meant}"?`
}

/** The same, and the error tells of a skill that was served earlier how it left. */
export async function theOnlyOrFormer<Skill extends SkillReference>(
  all: readonly Skill[],
  asked: string,
  { state }: Pick<Config, 'state'>,
): Promise<Skill> {
  const left = theOnlyIfAny(all, asked) === undefined ? await leftSkillIn(state, asked) : undefined
  if (left === undefined) return theOnly(all, asked)
  const [reason] = left.verdict.reasons
  throw new OperatorError(
    'unknown-skill',
    printableLine(`No skill is called "${asked}" now. ${reason.place}: ${reason.message}`),
  )
}

/** The skill that the operator means; `undefined` if there is none. Throws if there are several. */
export function theOnlyIfAny<Skill extends SkillReference>(all: readonly Skill[], asked: string): Skill | undefined {
  const skills = matching(all, asked)
  const [skill, ...others] = skills
  if (others.length === 0) return skill
  const candidates = skills.map(({ source, path }) => `${source}/${path}`).join(', ')
  throw new OperatorError('ambiguous-skill', `"${asked}" can mean ${skills.length} skills: ${candidates}`)
}

/**
 * The best matches of the text: as URI or `source/path`, as the id that search prints, as `source/name`, as path or
 * name alone. Exact matches come first, then matches that ignore case.
 */
function matching<Skill extends SkillReference>(all: readonly Skill[], asked: string): readonly Skill[] {
  for (const as of [toTheLetter, folded]) {
    const wanted = as(asked)
    for (const forms of [FULL, AS_OFFERED, OF_SOURCE, ALONE]) {
      const found = all.filter((skill) => forms(skill).some((form) => as(form) === wanted))
      if (found.length > 0) return found
    }
  }
  return []
}

const FULL = ({ uri, source, path }: SkillReference): string[] => [
  ...(uri === undefined ? [] : [uri, uri.slice(0, -'/SKILL.md'.length)]),
  `${source}/${path}`,
]
const AS_OFFERED = ({ id }: SkillReference): string[] => (id === undefined ? [] : [id])
const OF_SOURCE = ({ source, name }: SkillReference): string[] => (name === undefined ? [] : [`${source}/${name}`])
const ALONE = ({ path, name }: SkillReference): string[] => (name === undefined ? [path] : [path, name])

const toTheLetter = (text: string): string => text
const folded = (text: string): string => text.normalize('NFC').toLowerCase()
