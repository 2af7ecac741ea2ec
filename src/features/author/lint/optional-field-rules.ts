import type { JsonValue } from '../../../base/json-value.ts'
import { joinPath } from '../../../base/paths.ts'
import { kindOf } from '../../../sync/skill/entry-faults.ts'
import { lifecycleFaults } from '../../../sync/skill/lifecycle.ts'
import { xmlTagIn } from '../../../sync/skill/xml-tag.ts'
import type { LintDiagnostic, LintCode } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import type { Authored } from './lint-input.ts'

/**
 * Checks the optional fields of the specification, which a survey leaves to the readers of the skill. `contract`: the
 * frontmatter contract applies to the skill.
 */
export function fieldDiagnostics(skill: Authored, contract: boolean): LintDiagnostic[] {
  const { document, frontmatter } = skill
  if (document === undefined || frontmatter === undefined) return []
  const path = joinPath(skill.path, skill.documentName)
  const diagnostic: MakeDiagnostic = (code, field, message) => {
    return { code, path, place: positionOf(document, [field], 'value'), message }
  }
  const field = (name: string): JsonValue | undefined => frontmatter[name]
  return [
    ...(isTextOrNothing(field('license'))
      ? []
      : [diagnostic('license-not-text', 'license', notText('license', field('license')))]),
    ...toolsDiagnostics(field('allowed-tools'), contract, diagnostic),
    ...['license', 'allowed-tools'].flatMap((name) =>
      isEmpty(field(name))
        ? [diagnostic('field-empty', name, `${name} is empty; give it a value, or leave it out`)]
        : [],
    ),
    ...lifecycleFaults(frontmatter).map(({ keys, message }): LintDiagnostic => {
      return { code: 'lifecycle-invalid', path, place: positionOf(document, keys, 'value'), message }
    }),
    ...['name', 'description'].flatMap((name) => {
      const tag = tagIn(field(name))
      return tag === undefined ? [] : [diagnostic('tags-in-text', name, `The ${name} holds ${JSON.stringify(tag)}`)]
    }),
  ]
}

/**
 * The specification requires a text; the frontmatter contract also allows a list of texts, and most clients read one.
 */
function toolsDiagnostics(
  tools: JsonValue | undefined,
  contract: boolean,
  diagnostic: MakeDiagnostic,
): LintDiagnostic[] {
  const name = 'allowed-tools'
  if (isTextOrNothing(tools)) return []
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string'))
    return [diagnostic('allowed-tools-not-text', name, notText(name, tools))]
  return contract ? [] : [diagnostic('allowed-tools-list', name, notText(name, tools))]
}

type MakeDiagnostic = (code: LintCode, field: string, message: string) => LintDiagnostic

function notText(name: string, value: JsonValue | undefined): string {
  return `${name} is ${kindOf(value)}, not text`
}

function isTextOrNothing(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

/** The beginning of a tag identifies it. */
function tagIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? xmlTagIn(value)?.slice(0, 100) : undefined
}
