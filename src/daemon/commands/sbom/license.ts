import parseExpression from 'spdx-expression-parse'

/** The license as the author states it: an SPDX expression (a single id is one), or free text. */
export interface License {
  readonly kind: 'expression' | 'name'
  readonly text: string
}

/** `undefined` if no license is stated. */
export function licenseOf(said: unknown): License | undefined {
  const text = typeof said === 'string' ? said.trim().slice(0, MOST_CHARACTERS).toWellFormed() : ''
  if (text === '') return undefined
  return { kind: isExpression(text) ? 'expression' : 'name', text }
}

/** The parser recurses with the nesting of parentheses, so only short texts reach it. */
const MOST_CHARACTERS = 512

function isExpression(text: string): boolean {
  try {
    parseExpression(text)
    return true
  } catch {
    return false
  }
}
