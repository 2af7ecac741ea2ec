import { runInSlices } from '../../../base/async/cooperative.ts'
import { fewText } from '../../../base/text/first-few.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { offeredIn, offeringIn } from '../../../sync/catalog/tool-catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import { contentKeyOf } from '../../../sync/model/skill.ts'
import { withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { namesAtOnce, skillNamesIn, offeredAt } from './skill-names.ts'
import type { Withheld } from './skill-names.ts'
import { refusal } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/**
 * Returns the skills that an id can mean: those with the id, else the one at the URI, else those with the name in any
 * case.
 */
export async function skillsMeant(catalog: Catalog, id: string): Promise<readonly Offered[]> {
  const exact = await skillsOfId(catalog, id)
  return exact.length > 0 ? exact : asOne((await skillNamesIn(catalog)).called(id))
}

/** Returns the skills with exactly this id, or the one at this URI. */
export async function skillsOfId(catalog: Catalog, id: string): Promise<readonly Offered[]> {
  const offered = await offeringIn(catalog)
  const found = offered.find(id)
  return asOne(found.length > 0 ? found : offeredAt(catalog, offered, id))
}

/** Places with equal content are one skill; the first represents it. */
function asOne(found: readonly Offered[]): readonly Offered[] {
  return new Set(found.map(({ skill }) => contentKeyOf(skill))).size === 1 ? found.slice(0, 1) : found
}

/**
 * Returns the only skill that an id means, for a caller that has prepared the catalog; `undefined` if there are none or
 * several. It works in one step.
 */
export function skillMeantAtOnce(catalog: Catalog, id: string): Offered | undefined {
  const offered = offeredIn(catalog)
  const found = [() => offered.find(id), () => offeredAt(catalog, offered, id), () => namesAtOnce(catalog).called(id)]
  for (const finding of found) {
    const [first, ...others] = asOne(finding())
    if (first !== undefined) return others.length === 0 ? first : undefined
  }
  return undefined
}

/** Returns a note on other skills with the id as their name, with their ids; `undefined` if there are none. */
export async function namesakesNote(catalog: Catalog, id: string, { skill }: Offered): Promise<string | undefined> {
  const names = await skillNamesIn(catalog)
  const others = names.declaring(id).filter((other) => contentKeyOf(other.skill) !== contentKeyOf(skill))
  if (others.length === 0) return undefined
  const ids = fewText(others, MOST_NAMESAKES, quotedId)
  return others.length === 1
    ? `Another skill is named ${quote(id)} and has the id ${ids}.`
    : `Other skills are named ${quote(id)} and have the ids ${ids}.`
}

const MOST_NAMESAKES = 5

/**
 * Explains to a model what to do about an id without a single skill. It never mentions a skill that the caller does not
 * see.
 */
export async function notTheOne(catalog: Catalog, id: string, candidates: readonly Offered[]): Promise<ToolAnswer> {
  if (candidates.length > 0) return refusal(ambiguous(id, candidates))
  const names = await skillNamesIn(catalog)
  const withheld = names.withheld(id)
  if (withheld.length > 0) return refusal(withheldReason(id, withheld))
  const near = await runInSlices(names.near(id))
  const meant =
    near.length === 0 ? '' : `; near it ${near.length === 1 ? 'is' : 'are'} ${near.map(quotedId).join(', ')}`
  return refusal(`There is no skill with the id ${quote(id)}${meant}; list_skills gives the ids of all skills`)
}

function ambiguous(id: string, candidates: readonly Offered[]): string {
  const named = fewText(candidates, MOST_NAMED, (offered) => `${quote(offered.id)} (${offered.name})`)
  return `The id ${quote(id)} can mean ${candidates.length} skills; use one of ${named}`
}

const MOST_NAMED = 32

function quotedId({ id }: Offered): string {
  return quote(id)
}

function withheldReason(id: string, withheld: readonly Withheld[]): string {
  const told = withheld.slice(0, MOST_REASONS).map((one) => `${quote(one.id)}: ${reasonOf(one)}`)
  const more = withheld.length > MOST_REASONS ? [`and ${withheld.length - MOST_REASONS} more of that name`] : []
  return [
    `The skill ${quote(id)} exists, but is withheld until its authors or the operator fix it.`,
    ...told,
    ...more,
  ].join('\n')
}

const MOST_REASONS = 3

function reasonOf({ skill: { findings } }: Withheld): string {
  const told = withHiddenEscaped(findings.map(({ message }) => message).join('; '))
  return told.length > MOST_REASON ? `${told.slice(0, MOST_REASON)}…` : told
}

const MOST_REASON = 600

/** Quotes a text of the client, cut to a bounded length. */
function quote(text: string): string {
  return JSON.stringify(text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text)
}

const MOST_QUOTED = 1_200
