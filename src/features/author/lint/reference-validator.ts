import { isAlias, isCollection, isNode, visit } from 'yaml'
import { joinPath } from '../../../base/paths.ts'
import { AGENT_SKILLS_FIELDS } from '../../../sync/skill/standard-fields.ts'
import type { LintDiagnostic, LintCode } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { START } from './lines.ts'
import type { TextPosition } from './lines.ts'
import type { Authored } from './lint-input.ts'

/**
 * The additional refusals of skills-ref, the reference validator, beyond the specification: its YAML dialect has no
 * brackets and no anchors, and any three dashes end the frontmatter.
 */
export function referenceValidatorDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document, frontmatter } = skill
  if (document?.yaml === undefined) return []
  const { yaml, text, lines } = document
  const path = joinPath(skill.path, skill.documentName)
  const diagnostic = (code: LintCode, place: TextPosition, message: string): LintDiagnostic => ({
    code,
    path,
    place,
    message,
  })
  const diagnostics = Object.keys(frontmatter ?? {})
    .filter((field) => !KNOWN.has(field))
    .map((field) =>
      diagnostic('unknown-field', positionOf(document, [field], 'key'), `The specification has no field "${field}"`),
    )
  if (text.startsWith('\uFEFF'))
    diagnostics.push(diagnostic('byte-order-mark', START, 'The file begins with a byte order mark'))
  const dashes = yaml.text.indexOf('---')
  if (dashes !== -1)
    diagnostics.push(
      diagnostic('dashes-in-frontmatter', lines.at(yaml.start + dashes), 'There are three dashes in a row here'),
    )
  const flow = flowIn(yaml.document.contents)
  if (flow !== undefined)
    diagnostics.push(diagnostic('flow-style', lines.at(yaml.start + flow.at), `There is ${flow.what} here`))
  return diagnostics
}

const KNOWN: ReadonlySet<string> = new Set(AGENT_SKILLS_FIELDS)

/** Finds the first one. */
function flowIn(contents: unknown): { readonly at: number; readonly what: string } | undefined {
  let found: { readonly at: number; readonly what: string } | undefined
  if (!isNode(contents)) return undefined
  visit(contents, {
    Node(_, node) {
      const what = flowOf(node)
      if (what === undefined) return undefined
      found = { at: node.range?.[0] ?? 0, what }
      return visit.BREAK
    },
  })
  return found
}

function flowOf(node: unknown): string | undefined {
  if (isAlias(node)) return 'an alias'
  if (isCollection(node) && node.flow === true) return 'a list or a mapping in brackets'
  return isNode(node) && 'anchor' in node && node.anchor !== undefined ? 'an anchor' : undefined
}
