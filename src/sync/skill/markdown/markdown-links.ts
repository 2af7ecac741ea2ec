import { tagAt } from './html-tag.ts'
import { blocksIn } from './markdown-blocks.ts'
import type { Span } from './markdown-blocks.ts'
import { MarkdownContent } from './markdown-content.ts'
import { inlinesIn } from './markdown-inline.ts'
import { targetAt, targetsOf, titleEnd } from './markdown-target.ts'

/** One target of a Markdown text: of a link, an image, a used definition, an address in angle brackets, or HTML. */
export interface MarkdownLink {
  /** The intended target: escapes are resolved, percent-encoding is not. */
  readonly target: string
  /** The offset of the target in the text. */
  readonly offset: number
}

/** The links of a Markdown text, from `start` on. Code and comments contain none. */
export function* linksIn(text: string, start = 0): Generator<MarkdownLink> {
  const definitions = new Map<string, MarkdownLink>()
  const used = new Set<string>()
  for (const { kind, lines } of blocksIn(text, start)) {
    if (kind === 'code' || kind === 'info') continue
    const content = new MarkdownContent(text, lines)
    const link = ({ target, at }: Found): MarkdownLink => ({ target, offset: content.offsetOf(at) })
    if (kind === 'html') {
      for (const found of htmlLinksIn(content.text)) yield link(found)
      continue
    }
    const { defined, end } = definitionsIn(content.text)
    // The first definition of a label counts.
    for (const found of defined) if (!definitions.has(found.label)) definitions.set(found.label, link(found))
    for (const inline of inlinesIn(content.text, end)) {
      if (inline.kind === 'target') yield link(inline)
      if (inline.kind === 'label') used.add(labelOf(inline.text))
    }
  }
  for (const [label, found] of definitions) if (used.has(label)) yield found
}

interface Found {
  readonly target: string
  readonly at: number
}

interface Definition extends Found, Span {
  readonly label: string
  /** Without its quotes. */
  readonly title: Span | undefined
}

/** The definitions at the start of a paragraph, `[label]: target "title"`, and the offset at which its text begins. */
export function definitionsIn(text: string): {
  readonly defined: readonly Definition[]
  readonly end: number
} {
  const defined: Definition[] = []
  let end = 0
  for (;;) {
    LABEL.lastIndex = end
    const label = LABEL.exec(text)?.groups?.['label']
    if (label === undefined || labelOf(label) === '') break
    const target = targetAt(text, pastOneLine(text, LABEL.lastIndex))
    const rest = target === undefined || target.end === target.at ? undefined : definitionRest(text, target.end)
    if (target === undefined || rest === undefined) break
    defined.push({ label: labelOf(label), target: target.target, at: target.at, start: end, ...rest })
    end = rest.end
  }
  return { defined, end }
}

/** A label that begins with `^` is a footnote. */
const LABEL = /[ \t]*\[(?!\^)(?<label>(?:[^[\]\\]|\\[^]){1,999})\]:/y

/** Labels are compared without regard to case and to the form of whitespace. */
export function labelOf(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').toLowerCase().toUpperCase()
}

/** Moves past whitespace with at most one line end. */
function pastOneLine(text: string, start: number): number {
  const at = pastBlanks(text, start)
  return text[at] === '\n' ? pastBlanks(text, at + 1) : at
}

function pastBlanks(text: string, start: number): number {
  let at = start
  while (text[at] === ' ' || text[at] === '\t') at += 1
  return at
}

/** The rest of the line after the target of a definition; `undefined` if it makes the definition invalid. */
function definitionRest(text: string, target: number): Pick<Definition, 'title' | 'end'> | undefined {
  const begin = pastOneLine(text, target)
  const close = begin > target ? titleEnd(text, begin) : undefined
  const end = close === undefined ? undefined : nextLine(text, close)
  if (close !== undefined && end !== undefined) return { title: { start: begin + 1, end: close - 1 }, end }
  const line = nextLine(text, target)
  return line === undefined ? undefined : { title: undefined, end: line }
}

/** `undefined` if other text follows on the line. */
function nextLine(text: string, start: number): number | undefined {
  const at = pastBlanks(text, start)
  if (at === text.length) return at
  return text[at] === '\n' ? at + 1 : undefined
}

/** HTML has no Markdown syntax, so in an HTML block only tags link to anything. */
function* htmlLinksIn(text: string): Generator<Found> {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) {
      const close = text.indexOf('-->', at + 2)
      if (close === -1) return
      at = close
      continue
    }
    const tag = tagAt(text, at, text.length)
    at = tag?.end ?? at + 1
    if (tag === undefined) continue
    // The content of these is text.
    if (/^(?:script|style|textarea)$/.test(tag.name)) return
    yield* targetsOf(text, tag)
  }
}
