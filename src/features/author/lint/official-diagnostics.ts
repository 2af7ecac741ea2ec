import { isDeepStrictEqual } from 'node:util'
import { joinPath } from '../../../base/paths.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import type { TextPosition } from './lines.ts'
import type { Authored } from './lint-input.ts'

/** Reads the frontmatter of a document like the official MCP client. */
export type OfficialReader = (document: string) => Promise<OfficialReading>

type OfficialReading =
  | { readonly kind: 'read'; readonly frontmatter: object }
  | { readonly kind: 'refused'; readonly line: number; readonly why: string }
  | { readonly kind: 'unsaid' }

/**
 * The diagnostics for which that client refuses the file: it cannot read the frontmatter, or its reading differs in the
 * comparison.
 */
export async function officialDiagnostics(skill: Authored, read: OfficialReader): Promise<LintDiagnostic[]> {
  const { document, frontmatter } = skill
  if (document?.yaml === undefined || frontmatter === undefined) return []
  const reading = await read(`---\n${document.yaml.text}---\n`)
  if (reading.kind === 'unsaid') return []
  if (reading.kind === 'refused')
    return [diagnosticAt(skill, { line: reading.line, column: 1 }, `It cannot be read there: ${reading.why}`)]
  const theirs = new Map<string, unknown>(Object.entries(plain(reading.frontmatter)))
  const key = [...new Set([...Object.keys(frontmatter), ...theirs.keys()])].find(
    (each) => !isDeepStrictEqual(frontmatter[each], theirs.get(each)),
  )
  if (key === undefined) return []
  const message = `It reads ${shownValue(key)} as ${shownValue(theirs.get(key))}, and YAML has it as ${shownValue(frontmatter[key])}`
  return [diagnosticAt(skill, positionOf(document, [key], 'value'), message)]
}

function diagnosticAt({ path, documentName }: Authored, place: TextPosition, message: string): LintDiagnostic {
  return {
    code: 'yaml-subset',
    path: joinPath(path, documentName),
    place,
    message: `${message}; the official client of MCP refuses SKILL.md`,
  }
}

/** Plain JSON objects, whatever prototype their reader gave them. */
function plain(value: object): object {
  const made: unknown = JSON.parse(JSON.stringify(value))
  return typeof made === 'object' && made !== null ? made : {}
}
