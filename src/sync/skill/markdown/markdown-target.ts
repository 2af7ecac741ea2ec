import type { HtmlTag } from './html-tag.ts'

/** The target of a link. */
export interface MarkdownTarget {
  readonly kind: 'target'
  /** The intended target: escapes are resolved, percent-encoding is not. */
  readonly target: string
  readonly at: number
}

/** The target that begins at `start`, with or without angle brackets, and the offset after it. */
export function targetAt(
  text: string,
  start: number,
): (Omit<MarkdownTarget, 'kind'> & { readonly end: number }) | undefined {
  const isBracketed = text.charCodeAt(start) === LESS
  const end = isBracketed ? bracketedEnd(text, start + 1) : plainEnd(text, start)
  if (end === undefined) return undefined
  const at = isBracketed ? start + 1 : start
  return { target: unescape(text.slice(at, end)), at, end: isBracketed ? end + 1 : end }
}

function bracketedEnd(text: string, start: number): number | undefined {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === MORE) return at
    if (code === LESS || code === FEED) return undefined
    if (code === BACKSLASH) at += 1
  }
  return undefined
}

/** Ends at whitespace or at an unmatched parenthesis. Parentheses inside must be in pairs, and few. */
function plainEnd(text: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code <= SPACE) return depth === 0 ? at : undefined
    if (code === BACKSLASH && text.charCodeAt(at + 1) > SPACE) at += 1
    if (code === CLOSE && depth === 0) return at
    if (code === CLOSE) depth -= 1
    if (code === OPEN && (depth += 1) > MOST_PARENTHESES) return undefined
  }
  return depth === 0 ? text.length : undefined
}

/** No address has deeper ones. The limit also bounds the cost of each attempt. */
const MOST_PARENTHESES = 32

/**
 * The offset after the title that begins at `start`. Whitespace precedes its quote, so a search for the end of another
 * title stops at that quote: no two searches read the same text.
 */
export function titleEnd(text: string, start: number): number | undefined {
  const quote = text.charCodeAt(start)
  const closing = quote === OPEN ? CLOSE : quote
  if (quote !== OPEN && quote !== DOUBLE && quote !== SINGLE) return undefined
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === closing) return at + 1
    if (code === OPEN && quote === OPEN) return undefined
    if (code === BACKSLASH) at += 1
  }
  return undefined
}

/** Moves past whitespace and line ends. */
export function pastSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** The target of a tag in the text. */
export function* targetsOf(text: string, { name, attributes }: HtmlTag): Generator<MarkdownTarget> {
  const leading = name === 'a' ? 'href' : name === 'img' ? 'src' : undefined
  const attribute = attributes.find((candidate) => candidate.name === leading)
  if (attribute === undefined) return
  const { start, end } = attribute
  yield { kind: 'target', target: text.slice(start, end).replaceAll('&amp;', '&').trim(), at: start }
}

const [TAB, FEED, SPACE, DOUBLE, SINGLE, OPEN, CLOSE] = [0x09, 0x0a, 0x20, 0x22, 0x27, 0x28, 0x29]
const [LESS, MORE, BACKSLASH] = [0x3c, 0x3e, 0x5c]

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB || code === FEED
}

function unescape(target: string): string {
  return target.replace(/\\([!-/:-@[-`{-~])/g, '$1').replaceAll('&amp;', '&')
}
