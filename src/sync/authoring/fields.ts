import { joinPath } from '../model/paths.ts'
import type { JsonValue } from '../model/frontmatter.ts'
import { xmlTagIn } from '../model/xml-tag.ts'
import type { Authored } from './authored.ts'
import type { Flaw, Rule } from './rule.ts'
import { placeOf } from './written.ts'

/** The optional fields of the specification, which a survey leaves to its readers. `contract`: the skill keeps the frontmatter contract. */
export function fieldFlaws(skill: Authored, contract: boolean): Flaw[] {
  const { document, frontmatter } = skill
  if (document === undefined || frontmatter === undefined) return []
  const path = joinPath(skill.path, skill.documentName)
  const flaw: FlawOf = (rule, field, message) => {
    return { rule, path, place: placeOf(document, [field], 'value'), message }
  }
  const field = (name: string): JsonValue | undefined => frontmatter[name]
  const compatibility = compatibilityFault(field('compatibility'))
  return [
    ...(compatibility === undefined ? [] : [flaw('compatibility-invalid', 'compatibility', compatibility)]),
    ...(isTextOrNothing(field('license'))
      ? []
      : [flaw('license-not-text', 'license', notText('license', field('license')))]),
    ...toolsFlaws(field('allowed-tools'), contract, flaw),
    ...['license', 'allowed-tools', 'metadata'].flatMap((name) =>
      isEmpty(field(name)) ? [flaw('field-empty', name, `${name} is empty; give it a value, or leave it out`)] : [],
    ),
    ...['name', 'description'].flatMap((name) => {
      const tag = tagIn(field(name))
      return tag === undefined ? [] : [flaw('tags-in-text', name, `The ${name} holds ${JSON.stringify(tag)}`)]
    }),
  ]
}

/** The specification has a text; the frontmatter contract allows a list of texts too, and most clients read one. */
function toolsFlaws(tools: JsonValue | undefined, contract: boolean, flaw: FlawOf): Flaw[] {
  const name = 'allowed-tools'
  if (isTextOrNothing(tools)) return []
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string'))
    return [flaw('allowed-tools-not-text', name, notText(name, tools))]
  return contract ? [] : [flaw('allowed-tools-list', name, notText(name, tools))]
}

type FlawOf = (rule: Rule, field: string, message: string) => Flaw

function notText(name: string, value: JsonValue | undefined): string {
  return `${name} is ${kindOf(value)}, not text`
}

/** The specification: 1 to 500 characters. */
const COMPATIBILITY_CHARACTERS = 500

function compatibilityFault(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined
  if (value === null || value === '')
    return `compatibility is empty; 1 to ${COMPATIBILITY_CHARACTERS} characters are allowed`
  if (typeof value !== 'string') return `compatibility is ${kindOf(value)}, not text`
  const characters = Array.from(value).length
  if (characters <= COMPATIBILITY_CHARACTERS) return undefined
  return `compatibility has ${characters} characters; 1 to ${COMPATIBILITY_CHARACTERS} are allowed`
}

function isTextOrNothing(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

function kindOf(value: JsonValue | undefined): string {
  if (typeof value !== 'object') return `a ${typeof value}`
  return Array.isArray(value) ? 'a list' : 'a mapping'
}

/** The beginning of one tells which it is. */
function tagIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? xmlTagIn(value)?.slice(0, 100) : undefined
}
