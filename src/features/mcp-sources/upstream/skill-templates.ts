import { isMapping } from '../../../base/json-value.ts'
import type { ListingForm } from '../../../sync/model/listing-form.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { isAbsence, orSilence } from '../client/rpc-errors.ts'
import { indexItems } from './index-document.ts'
import type { ListingContext } from './listing-context.ts'
import { allOf, enumerationRefusal } from './pages.ts'
import { readTemplate } from './template.ts'

/** A server's URI template for the SKILL.md of many skills, which it need not list. */
export interface ServerTemplate {
  readonly template: string
  readonly variables: readonly string[]
  readonly name?: string
  readonly description?: string
}

/** The valid templates of a server, and the invalid ones with the reason. */
export interface SkillSpaces {
  readonly spaces: readonly ServerTemplate[]
  readonly refused: readonly { readonly template: string; readonly why: string }[]
}

/** Collects the templates of SKILL.md files from the server's list and from an index of the first revisions. */
export async function spacesOf(looking: ListingContext, form: ListingForm | undefined): Promise<SkillSpaces> {
  const offered = [
    ...(await listedTemplates(looking)),
    ...(form === 'skills/list' ? [] : await templatesInIndex(looking)),
  ]
  const met = new Map<string, Offered>()
  for (const one of offered) if (!met.has(one.template)) met.set(one.template, one)
  const spaces: ServerTemplate[] = []
  const refused: { readonly template: string; readonly why: string }[] = []
  for (const one of met.values()) {
    const judged = spaceOf(one)
    if ('why' in judged) refused.push(judged)
    else spaces.push(judged)
  }
  return { spaces: spaces.slice(0, MOST_SPACES), refused: [...refused.slice(0, MOST_REFUSED), ...overMost(spaces)] }
}

/** A server may have thousands, which no user can choose from. */
const MOST_SPACES = 200
const MOST_REFUSED = 32

interface Offered {
  readonly template: string
  readonly name: unknown
  readonly description: unknown
}

/** Returns only the templates of skills; others lead to arbitrary resources. */
export async function listedTemplates(looking: ListingContext): Promise<readonly Offered[]> {
  const asked = { method: 'resources/templates/list', key: 'resourceTemplates', firstMs: looking.rules.connectMs }
  const items = await orSilence(allOf(asked, looking))
  // Some servers answer an unknown method in a way that clients cannot receive.
  if (items instanceof Error) return []
  if ('ok' in items) {
    if (!isAbsence(items)) throw enumerationRefusal(asked.method, items)
    return []
  }
  return items.filter(isMapping).flatMap(({ uriTemplate: template, title, name, description }) => {
    const isOfSkills = typeof template === 'string' && template.endsWith('/SKILL.md')
    return isOfSkills ? [{ template, name: title ?? name, description }] : []
  })
}

/** Returns nothing if the index is unavailable now: other templates are still shown. */
async function templatesInIndex(looking: ListingContext): Promise<readonly Offered[]> {
  const items = await indexItems(looking)
  if (items === undefined || items instanceof Error) return []
  return items
    .map(withinDepth)
    .filter(isMapping)
    .flatMap(({ type, url, name, description }) => {
      const isTemplate = type === 'mcp-resource-template' && typeof url === 'string'
      return isTemplate ? [{ template: url, name, description }] : []
    })
}

function spaceOf({ template, name, description }: Offered): ServerTemplate | { template: string; why: string } {
  const read = readTemplate(template)
  if (!read.ok) return { template: shownValue(template), why: read.why }
  const { variables } = read.template
  return {
    template,
    variables,
    ...(typeof name === 'string' && { name: cut(name, 100) }),
    ...(typeof description === 'string' && { description: cut(description, 300) }),
  }
}

function overMost({ length }: readonly ServerTemplate[]): readonly { template: string; why: string }[] {
  if (length <= MOST_SPACES) return []
  return [{ template: `${length - MOST_SPACES} more`, why: `a server has at most ${MOST_SPACES} here` }]
}

function cut(text: string, mostCharacters: number): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters).toWellFormed()}…`
}
