import parseExpression from 'spdx-expression-parse'

/** What an author says the license is: an expression of SPDX (a single id is one), or some words. */
export interface License {
  readonly kind: 'expression' | 'name'
  readonly text: string
}

/** Undefined where nothing is said. */
export function licenseOf(said: unknown): License | undefined {
  const text = typeof said === 'string' ? said.trim().slice(0, MOST_CHARACTERS).toWellFormed() : ''
  if (text === '') return undefined
  return { kind: isExpression(text) ? 'expression' : 'name', text }
}

/** The parser goes as deep as the text has brackets, so it is given short ones alone. */
const MOST_CHARACTERS = 512

function isExpression(text: string): boolean {
  try {
    parseExpression(text)
    return true
  } catch {
    return false
  }
}
