import type { Steps } from '../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../base/async/incremental.ts'
import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { offeringSteps, pathIdOf } from '../../../sync/catalog/tool-catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import { isOff } from '../../../sync/skill/contract/contract-flags.ts'
import { withoutHidden } from '../../../sync/skill/hidden-unicode.ts'

/** A skill that a person may start by its name. */
export interface SkillPrompt {
  readonly offered: Offered
  readonly listed: ListedPrompt
}

/** The entry of the skill in `prompts/list`. */
export interface ListedPrompt {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments?: readonly [{ readonly name: 'arguments'; readonly description: string; readonly required: false }]
}

/**
 * Returns the listed skills that are prompts, by name, in the order of ids. A skill with `user-invocable: false` is not
 * a prompt. A skill with an unreadable frontmatter is not one either, because it may say so.
 */
export function skillPromptsIn(catalog: Catalog): ReadonlyMap<string, SkillPrompt> {
  return PROMPTS_IN.of(catalog)
}

/** Builds them in slices. */
export async function promptingSkills(catalog: Catalog): Promise<ReadonlyMap<string, SkillPrompt>> {
  return PROMPTS_IN.ready(catalog)
}

const PROMPTS_IN = new IncrementalCache<Catalog, ReadonlyMap<string, SkillPrompt>>(prompting)

function* prompting(catalog: Catalog): Steps<ReadonlyMap<string, SkillPrompt>> {
  const prompts = new Map<string, SkillPrompt>()
  const { listed } = yield* offeringSteps(catalog)
  for (const offered of listed) {
    yield
    const { frontmatter } = offered.skill
    if (frontmatter === undefined || isOff(frontmatter['user-invocable'])) continue
    const prompt = { offered, listed: listedOf(offered, frontmatter) }
    prompts.set(prompt.listed.name, prompt)
  }
  return prompts
}

/** Returns true if the prompts of two catalogs have equal entries. */
export function* areSamePrompts(before: Catalog, after: Catalog): Steps<boolean> {
  const [was, is] = [yield* PROMPTS_IN.steps(before), [...(yield* PROMPTS_IN.steps(after)).values()]]
  if (was.size !== is.length) return false
  return [...was.values()].every((prompt, index) => saysAlike(prompt.listed, is[index]?.listed))
}

function saysAlike(listed: ListedPrompt, other: ListedPrompt | undefined): boolean {
  return (
    listed.name === other?.name &&
    listed.title === other.title &&
    listed.description === other.description &&
    listed.arguments?.[0].description === other.arguments?.[0].description
  )
}

function listedOf(offered: Offered, frontmatter: JsonObject): ListedPrompt {
  const hint = hintIn(frontmatter['argument-hint']) ?? hintIn(frontmatter['arguments'])
  return {
    // The longest of its ids always leads to it.
    name: TAKEN.has(offered.id) ? pathIdOf(offered) : offered.id,
    title: offered.name,
    description: offered.description,
    ...(hint !== undefined && {
      arguments: [{ name: 'arguments', description: withoutHidden(hint), required: false }],
    }),
  }
}

export const INIT_SKILLS = {
  name: 'init-skills',
  title: 'How to work with skills',
  description: 'Background on skills and how to work with them; it informs and starts nothing',
} as const

export const SKILLS_CATALOG = {
  name: 'skills-catalog',
  title: 'The skills that there are',
  description: 'Name, description and source of each skill that is available, to be put before a model',
} as const

/** The names of the prompts that always exist. */
export const TAKEN: ReadonlySet<string> = new Set<string>([INIT_SKILLS.name, SKILLS_CATALOG.name])

/** `[issue]` is meant as text, but is a YAML list: it is shown as the author wrote it. */
function hintIn(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value === 'number') return String(value)
  if (!Array.isArray(value)) return undefined
  const words = value.filter((item) => typeof item === 'string' || typeof item === 'number')
  return words.length === 0 ? undefined : `[${words.join(', ')}]`
}
