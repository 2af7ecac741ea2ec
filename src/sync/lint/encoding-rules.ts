import { joinPath } from '../../base/paths.ts'
import type { Authored } from './lint-input.ts'
import type { Flaw } from './diagnostic.ts'

/** Whether SKILL.md is UTF-8 to its end: a survey reads the frontmatter alone as text. */
export function encodingFlaws({ path, documentName, document }: Authored): Flaw[] {
  if (document?.fault === undefined) return []
  const { lines, fault } = document
  const message = `The file is not valid UTF-8: the byte 0x${fault.byte.toString(16).toUpperCase()} stands here in no character`
  return [{ rule: 'encoding-invalid', path: joinPath(path, documentName), place: lines.at(fault.offset), message }]
}
