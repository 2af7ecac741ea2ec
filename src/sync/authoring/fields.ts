import { joinPath } from '../model/paths.ts'
import type { JsonValue } from '../model/frontmatter.ts'
import { xmlTagIn } from '../model/xml-tag.ts'
import type { Authored } from './authored.ts'
import type { Flaw, Rule } from './rule.ts'
import { placeOf } from './written.ts'

/** The optional fields of the specification, which a survey leaves to whoever reads them. */
export function fieldFlaws(skill: Authored): Flaw[] {
  const { document, frontmatter } = skill
  if (document === undefined || frontmatter === undefined) return []
  const path = joinPath(skill.path, skill.documentName)
  const flaw = (rule: Rule, field: string, message: string): Flaw => {
    return { rule, path, place: placeOf(document, [field], 'value'), message }
  }
  const field = (name: string): JsonValue | undefined => frontmatter[name]
  const compatibility = compatibilityFault(field('compatibility'))
  return [
    ...(compatibility === undefined ? [] : [flaw('compatibility-invalid', 'compatibility', compatibility)]),
    ...(isTextOrAbsent(field('license')) ? [] : [flaw('license-not-text', 'license', 'The license is not text')]),
    ...(isTextOrAbsent(field('allowed-tools'))
      ? []
      : [
          flaw(
            'allowed-tools-not-text',
            'allowed-tools',
            `allowed-tools is ${kindOf(field('allowed-tools'))}, not text`,
          ),
        ]),
    ...['name', 'description'].flatMap((name) => {
      const tag = tagIn(field(name))
      return tag === undefined ? [] : [flaw('tags-in-text', name, `The ${name} holds ${JSON.stringify(tag)}`)]
    }),
  ]
}

/** The specification: 1 to 500 characters. */
const COMPATIBILITY_CHARACTERS = 500

function compatibilityFault(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') return `compatibility is ${kindOf(value)}, not text`
  const characters = Array.from(value).length
  if (characters >= 1 && characters <= COMPATIBILITY_CHARACTERS) return undefined
  return `compatibility has ${characters} characters; 1 to ${COMPATIBILITY_CHARACTERS} are allowed`
}

function isTextOrAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || typeof value === 'string'
}

function kindOf(value: JsonValue | undefined): string {
  if (value === null) return 'empty'
  if (typeof value !== 'object') return `a ${typeof value}`
  return Array.isArray(value) ? 'a list' : 'a mapping'
}

/** The beginning of one tells which it is. */
function tagIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? xmlTagIn(value)?.slice(0, 100) : undefined
}
