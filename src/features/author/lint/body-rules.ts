import { joinPath } from '../../../base/paths.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import type { Authored } from './lint-input.ts'

/** The specification's advice: under 500 lines and under 5,000 tokens. */
const MOST_LINES = 500
const MOST_TOKENS = 5_000

/** Checks whether the instructions are short enough to be read whole at each use of the skill. */
export function bodyDiagnostics({ path, documentName, document }: Authored): LintDiagnostic[] {
  if (document === undefined) return []
  const { text, lines, bodyStart } = document
  const at = joinPath(path, documentName)
  const diagnostics: LintDiagnostic[] = []
  const before = lines.at(bodyStart).line - 1
  const count = lines.count - before
  if (count > MOST_LINES) {
    const place = { line: before + MOST_LINES + 1, column: 1 }
    diagnostics.push({
      code: 'body-long',
      path: at,
      place,
      message: `The instructions have ${count} lines, over ${MOST_LINES}`,
    })
  }
  const tokens = estimatedTokens(text, bodyStart)
  if (tokens > MOST_TOKENS) {
    const message = `The instructions have about ${tokens} tokens, over ${MOST_TOKENS}`
    diagnostics.push({ code: 'body-tokens', path: at, place: lines.at(bodyStart), message })
  }
  return diagnostics
}

/**
 * Counts one token for four ASCII characters, and one for each other character. For English prose the result is within
 * a fifth of real tokenizers; code, tables and other scripts with short words have more tokens than this.
 */
export function estimatedTokens(text: string, start = 0): number {
  let [ascii, others] = [0, 0]
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) ascii += 1
    // The second half of a pair belongs to the character that was already counted.
    else if (unit < 0xdc_00 || unit > 0xdf_ff) others += 1
  }
  return Math.ceil(ascii / 4) + others
}
