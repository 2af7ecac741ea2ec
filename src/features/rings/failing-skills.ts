import type { Skill } from '../../sync/model/skill.ts'
import { withHiddenEscaped } from '../../sync/skill/hidden-unicode.ts'
import { contentKeyText } from '../usage/content-uses.ts'
import type { SkillContent } from '../usage/content-uses.ts'
import type { UsageReader } from '../usage/local-usage.ts'
import { isFailureRise } from './failure-rise.ts'
import type { UseFigures } from './failure-rise.ts'
import type { RingCandidate } from './ring-contents.ts'

/** A skill that fails more often with its new content. */
export interface FailingSkill {
  /** `<source>/<path>`. */
  readonly skill: string
  /** The figures of the content that the ring would get, and of the content that it has; `undefined` without uses. */
  readonly after: UseFigures
  readonly before: UseFigures | undefined
}

/**
 * Finds the skills that a ring would get, or get with other content, whose failures have risen. Figures are of the content,
 * so they are those of the rings that have it, from the time at which they got it. `mostFailures`: the rise that is allowed.
 * Throws `store-failed` if the figures cannot be read.
 */
export async function failingSkillsIn(
  { source, snapshot, from }: RingCandidate,
  usage: Pick<UsageReader, 'contentUses'>,
  mostFailures: number,
): Promise<readonly FailingSkill[]> {
  const before = new Map(from?.skills.map((skill) => [skill.path, skill]))
  const pairs = snapshot.skills
    .filter(({ path, digest }) => digest !== undefined && before.get(path)?.digest !== digest)
    .map((skill) => ({ after: contentOf(source, skill), before: contentOf(source, before.get(skill.path)) }))
  if (pairs.length === 0) return []
  const wanted = pairs.flatMap((pair) => [pair.after, pair.before]).filter((one) => one !== undefined)
  const found = new Map((await usage.contentUses(wanted)).map((use) => [contentKeyText(use), use]))
  const figuresOf = (one: SkillContent | undefined): UseFigures | undefined => one && found.get(contentKeyText(one))
  return pairs.flatMap((pair) => {
    const [after, known] = [figuresOf(pair.after), figuresOf(pair.before)]
    if (pair.after === undefined || after === undefined || !isFailureRise(known, after, mostFailures)) return []
    return [{ skill: pair.after.skill, after, before: known }]
  })
}

/** Names the first skills, with their figures, in the order of their paths. */
export function failingText(failing: readonly FailingSkill[]): string {
  const some = failing.slice(0, MOST_NAMED).map(textOf)
  const more = failing.length > MOST_NAMED ? [`${failing.length - MOST_NAMED} more`] : []
  return `failures have risen: ${[...some, ...more].join('; ')}`
}

const MOST_NAMED = 3

function textOf({ skill, after, before }: FailingSkill): string {
  const earlier = before === undefined ? 'no use of the content before' : `before ${figuresText(before)}`
  return `${JSON.stringify(skill)} failed ${figuresText(after)}, ${earlier}`
}

function figuresText({ uses, failures }: UseFigures): string {
  return `${failures} of ${uses} times`
}

function contentOf(source: string, skill: Skill | undefined): SkillContent | undefined {
  if (skill?.digest === undefined) return undefined
  return { skill: `${source}/${withHiddenEscaped(skill.path)}`, content: skill.digest }
}
