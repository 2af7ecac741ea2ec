import { blocksIn } from './markdown-blocks.ts'
import type { Span } from './markdown-blocks.ts'
import { MarkdownContent } from './markdown-content.ts'
import { inlinesIn } from './markdown-inline.ts'
import { definitionsIn } from './markdown-links.ts'

/**
 * The text from `start` on without its code, which a page shows as it is: blocks are blank, and code in a sentence is letters,
 * so that all else stands where it stood.
 */
export function withoutCode(text: string, start: number): string {
  const parts: string[] = []
  let at = 0
  for (const { kind, start: from, end } of codeIn(text, start)) {
    const code = text.slice(from, end)
    parts.push(text.slice(at, from), kind === 'block' ? ' '.repeat(code.length) : code.replaceAll(/[^\r\n]/g, 'x'))
    at = end
  }
  parts.push(text.slice(at))
  return parts.join('')
}

function* codeIn(text: string, start: number): Generator<Span & { readonly kind: 'block' | 'inline' }> {
  for (const { kind, lines } of blocksIn(text, start)) {
    if (kind === 'code') for (const line of lines) yield { kind: 'block', ...line }
    if (kind !== 'prose') continue
    const content = new MarkdownContent(text, lines)
    // In a table code ends with its cell. Who knows no cells takes what stands between two of them for code.
    if (TABLE.test(content.text)) continue
    for (const inline of inlinesIn(content.text, definitionsIn(content.text).end)) {
      if (inline.kind !== 'code') continue
      yield { kind: 'inline', start: content.offsetOf(inline.start), end: content.offsetOf(inline.end) }
    }
  }
}

/** The line below the head of a table. No white space can belong to two of its parts. */
const TABLE = /^(?=.*[|:])[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/m
