import { joinPath } from '../../base/paths.ts'
import type { Authored } from './lint-input.ts'
import type { Flaw } from './diagnostic.ts'

/** Checks that the whole SKILL.md is UTF-8: a survey decodes only the frontmatter. */
export function encodingFlaws({ path, documentName, document }: Authored): Flaw[] {
  if (document?.fault === undefined) return []
  const { lines, fault } = document
  const message = `The file is not valid UTF-8: the byte 0x${fault.byte.toString(16).toUpperCase()} stands here in no character`
  return [{ rule: 'encoding-invalid', path: joinPath(path, documentName), place: lines.at(fault.offset), message }]
}
