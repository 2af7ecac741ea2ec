import { lenientText } from '../../base/text/lenient-text.ts'
import { FIRST_LINE } from '../skill/frontmatter-fields.ts'
import { frontmatterBlock } from '../skill/frontmatter.ts'
import { isTelling } from '../skill/hidden-markdown.ts'
import type { Unrendered, UnrenderedKind } from '../skill/hidden-markdown.ts'
import { attributeTexts, tagAt } from '../skill/markdown/html-tag.ts'
import { blocksIn } from '../skill/markdown/markdown-blocks.ts'
import type { MarkdownBlock, Span } from '../skill/markdown/markdown-blocks.ts'
import { MarkdownContent } from '../skill/markdown/markdown-content.ts'
import { inlinesIn } from '../skill/markdown/markdown-inline.ts'
import type { MarkdownSpan } from '../skill/markdown/markdown-inline.ts'
import { definitionsIn, labelOf } from '../skill/markdown/markdown-links.ts'
import { tableIn } from '../skill/markdown/markdown-table.ts'
import { yamlComments } from '../skill/yaml-comments.ts'

/** A SKILL.md as text, with the places of its YAML and its Markdown. */
export interface DocumentParts {
  readonly text: string
  readonly yaml: Span | undefined
  readonly bodyStart: number
}

export function documentParts(bytes: Uint8Array): DocumentParts {
  const block = frontmatterBlock(bytes, bytes.length)
  const { text } = lenientText(bytes)
  if (!block.ok) return { text, yaml: undefined, bodyStart: 0 }
  // Each part begins with a line, and a truncated character ends with its part.
  const before = (offset: number): number => lenientText(bytes.subarray(0, offset)).text.length
  const start = before(block.yaml.byteOffset - bytes.byteOffset)
  return { text, yaml: { start, end: start + lenientText(block.yaml).text.length }, bodyStart: before(block.bodyStart) }
}

/**
 * Finds text that no rendered page shows and that is long enough to instruct a model. Takes linear time for any text,
 * since it runs in a process with waiting clients. The comment at the end of a cut line is not searched.
 */
export function unrenderedIn({ text, yaml, bodyStart }: DocumentParts, cutLines: readonly number[] = []): Unrendered[] {
  const search = new Search(text)
  if (yaml !== undefined) search.readYaml(yaml, cutLines)
  const code: Span[] = []
  for (const block of blocksIn(text, bodyStart)) {
    search.read(block)
    if (block.kind === 'code' || block.kind === 'info') code.push(...block.lines)
  }
  for (const piece of hiddenByLayout(withoutCode(text, bodyStart, code))) search.add(piece)
  return withLines(search.found(), text)
}

/** The name of an anchor, an alias or a tag of YAML is in no value. */
const ANCHOR = /(?<=^|[\s,[{])[&*!](?<name>[^\s,[\]{}]+)/gm

type Piece = Omit<Unrendered, 'line'>

/** Searches a file block by block. Text that depends on the use of a name elsewhere is judged at the end. */
class Search {
  readonly #text: string
  readonly #found: Piece[] = []
  /** By label: the text that is hidden if nothing uses the label. */
  readonly #named = new Map<string, Piece | undefined>()
  readonly #used = new Set<string>()

  constructor(text: string) {
    this.#text = text
  }

  readYaml({ start, end }: Span, cutLines: readonly number[]): void {
    const yaml = this.#text.slice(start, end)
    for (const { groups: { name = '' } = {}, index } of yaml.matchAll(ANCHOR))
      this.add(pieceOf('anchor in the frontmatter', start + index, name))
    for (const comment of yamlComments(yaml)) {
      const line = cutLines.length === 0 ? 0 : FIRST_LINE + yaml.slice(0, comment.start).split('\n').length - 1
      const text = cutLines.includes(line)
        ? comment.text.slice(comment.text.indexOf('\n') + 1 || Infinity)
        : comment.text
      this.add(pieceOf('comment in the frontmatter', start + comment.start, text))
    }
  }

  read({ kind, lines }: MarkdownBlock): void {
    if (kind === 'code' || (kind === 'prose' && !this.#hasMark(lines))) return
    const content = new MarkdownContent(this.#text, lines)
    if (kind === 'info') this.add(pieceIn(content, 'info string', { start: 0, end: content.text.length }))
    else if (kind === 'html')
      for (const { what, ...span } of hiddenInHtml(content.text)) this.add(pieceIn(content, what, span))
    else this.#readProse(content)
  }

  /** True if prose may have more than text and code: definitions, links, HTML and tables need one of these. */
  #hasMark(lines: readonly Span[]): boolean {
    return /[<[|]/.test(this.#text.slice(lines[0]?.start, lines.at(-1)?.end))
  }

  found(): Piece[] {
    const unused = [...this.#named].flatMap(([label, piece]) =>
      this.#used.has(label) || piece === undefined ? [] : [piece],
    )
    return [...this.#found, ...unused].toSorted((a, b) => a.offset - b.offset)
  }

  add(piece: Piece | undefined): void {
    if (piece !== undefined) this.#found.push(piece)
  }

  #readProse(content: MarkdownContent): void {
    const { defined, end } = definitionsIn(content.text)
    for (const { label, title, ...span } of defined) {
      const piece = pieceIn(content, 'definition', span)
      const isTold = title !== undefined && isTelling('title', title.end - title.start)
      // The first definition of a label counts, and nothing uses another one.
      if (isTold || this.#named.has(label)) this.add(piece)
      else this.#named.set(label, piece)
    }
    const footnote = FOOTNOTE.exec(content.text.slice(end))?.groups?.['label']
    if (footnote !== undefined)
      this.#named.set(labelOf(footnote), pieceIn(content, 'footnote', { start: end, end: content.text.length }))
    this.#readInlines(content, footnote === undefined ? end : end + footnote.length + FOOTNOTE_MARKS)
  }

  /** In a table each cell is a separate text: nothing that begins in one cell ends in another. */
  #readInlines(content: MarkdownContent, start: number): void {
    const table = tableIn(content.text)
    this.#readInline(content, { start, end: table?.start ?? content.text.length })
    for (const cells of table?.rows ?? []) {
      for (const cell of cells) this.#readInline(content, cell)
      const [first, last] = [cells[table?.columns ?? 0], cells.at(-1)]
      if (first !== undefined && last !== undefined)
        this.add(pieceIn(content, 'cells', { start: first.start, end: last.end }))
    }
  }

  #readInline(content: MarkdownContent, { start, end }: Span): void {
    for (const inline of inlinesIn(content.text.slice(0, end), start)) {
      if (inline.kind === 'label') this.#used.add(labelOf(inline.text))
      else if (inline.kind !== 'target' && inline.kind !== 'code') this.add(inlinePiece(content, inline))
    }
  }
}

/** A paragraph that a page shows at its end if the page links to it, and otherwise not at all. */
const FOOTNOTE = /^[ \t]*\[(?<label>\^[^[\]\s]{1,999})\]:/
const FOOTNOTE_MARKS = '[]:'.length

function inlinePiece(content: MarkdownContent, { kind, ...span }: MarkdownSpan): Piece | undefined {
  switch (kind) {
    case 'code':
      return undefined
    case 'comment':
    case 'title':
    case 'attribute':
      return pieceIn(content, kind, span)
    case 'image':
      return pieceIn(content, 'image text', span)
    case 'address':
      // An address contains whitespace only if it is a text.
      return /\s/.test(content.text.slice(span.start, span.end)) ? pieceIn(content, 'address', span) : undefined
    default:
      return kind satisfies never
  }
}

function pieceIn(content: MarkdownContent, what: UnrenderedKind, { start, end }: Span): Piece | undefined {
  // Most are short, and are not copied.
  return isTelling(what, end - start)
    ? pieceOf(what, content.offsetOf(start), content.text.slice(start, end))
    : undefined
}

function pieceOf(what: UnrenderedKind, offset: number, text: string): Piece | undefined {
  const characters = text
    .replace(/^<(?:!--|!\[CDATA\[|[!?])/, '')
    .replace(/(?:--|\]\]|\?)?>$/, '')
    .trim().length
  return isTelling(what, characters) ? { what, offset, characters } : undefined
}

/** Comments and attribute texts in HTML, which has no Markdown syntax. */
function* hiddenInHtml(text: string): Generator<Span & { readonly what: 'comment' | 'attribute' }> {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const end = markupEnd(text, at)
    const tag = end === undefined ? tagAt(text, at, text.length) : undefined
    if (end !== undefined) yield { what: 'comment', start: at, end }
    for (const { start, end } of tag === undefined ? [] : attributeTexts(tag)) yield { what: 'attribute', start, end }
    at = end ?? tag?.end ?? at + 1
  }
}

/** The end of a comment, an instruction or a declaration that begins here; the end of the text if it is not closed. */
function markupEnd(text: string, start: number): number | undefined {
  const opening = MARKUP.find((one) => text.startsWith(one.opening, start))
  if (opening === undefined) return undefined
  const end = text.indexOf(opening.closing, start + 2)
  return end === -1 ? text.length : end + opening.closing.length
}

const MARKUP = [
  { opening: '<!--', closing: '-->' },
  { opening: '<![CDATA[', closing: ']]>' },
  { opening: '<?', closing: '?>' },
  { opening: '<!', closing: '>' },
] as const

/** Adds the line numbers. The pieces must be in order. */
function withLines(found: readonly Piece[], text: string): Unrendered[] {
  let [line, feed] = [1, text.indexOf('\n')]
  return found.map((piece) => {
    for (; feed !== -1 && feed < piece.offset; feed = text.indexOf('\n', feed + 1)) line += 1
    return { ...piece, line }
  })
}

/** The text with blanks in place of its code and of all before `start`, so that offsets stay. Code is visible. */
function withoutCode(text: string, start: number, code: readonly Span[]): string {
  const parts = ['\0'.repeat(start)]
  let at = start
  for (const span of code) {
    parts.push(text.slice(at, span.start), '\0'.repeat(span.end - span.start))
    at = span.end
  }
  const rest = [...parts, text.slice(at)].join('')
  return rest.replace(INLINE_CODE, (code) => '\0'.repeat(code.length))
}

const INLINE_CODE = /(?<!`)(`{1,3})(?!`)[^`\n]{1,1000}\1(?!`)/g

/** Finds text that a reader does not come to or see: behind much white space, in elements, or by their style. */
function* hiddenByLayout(text: string): Generator<Omit<Unrendered, 'line'>> {
  for (const { 0: space, index } of text.matchAll(/[\s\u2800\u3164\u115f\u1160\uffa0]+/gu)) {
    if (space.length < LEAST_SPACE) continue
    const start = index + space.length
    // Formatters pad the cells of a table, whose row a page shows without the spaces.
    if (text[start] === '|' || isInTable(text, index)) continue
    yield* pieceAt('text behind white space', text, { start, end: lineEnd(text, start) })
  }
  let end = 0
  for (const { 0: command, index } of text.matchAll(UNSEEN_MATHS)) {
    if (index < end) continue
    const start = index + command.length
    const length = text.slice(start, start + MOST_SEARCHED).search(/[}$]|\n[^\S\n]*\n/)
    end = length === -1 ? lineEnd(text, start) : start + length
    yield* pieceAt('styled text', text, { start, end })
  }
  if (!text.includes('<')) return
  end = 0
  for (const { 0: tag, index, groups = {} } of text.matchAll(TAG)) {
    const { name = '', attributes = '' } = groups
    const what = UNSHOWN.has(name.toLowerCase()) ? 'element' : 'styled text'
    if (index < end || (what === 'styled text' && !HIDING.test(attributes))) continue
    const start = index + tag.length
    const closing = new RegExp(`</${name}\\s*>`, 'i').exec(text.slice(start, start + MOST_SEARCHED))
    end = start + (closing?.index ?? Math.min(MOST_SEARCHED, text.length - start))
    yield* pieceAt(what, text, { start, end })
  }
}

/** The commands of LaTeX, which pages show as formulas, that leave room for a text without showing it. */
const UNSEEN_MATHS = /\\(?:[hv]?phantom\s*\{|(?:text)?color\s*\{\s*(?:white|transparent)\s*\}\s*\{?)/g

function* pieceAt(what: UnrenderedKind, text: string, { start, end }: Span): Generator<Omit<Unrendered, 'line'>> {
  const characters = text
    .slice(start, end)
    .replaceAll('\0', '')
    .replaceAll(/<[^<>]*>/g, '')
    .trim().length
  if (isTelling(what, characters)) yield { what, offset: start, characters }
}

function isInTable(text: string, at: number): boolean {
  return /^[ \t>]*\|/.test(text.slice(text.lastIndexOf('\n', at - 1) + 1, at))
}

function lineEnd(text: string, start: number): number {
  const length = text.slice(start, start + MOST_SEARCHED).search(/[\r\n]/)
  return length === -1 ? Math.min(text.length, start + MOST_SEARCHED) : start + length
}

/** Wider and higher than any screen that an author of honest text leaves empty. */
const LEAST_SPACE = 200

/** The end of an element further away is not looked for, so that the time stays linear. */
const MOST_SEARCHED = 4_096

const TAG = /<(?<name>[a-z][a-z0-9-]{0,30})(?<attributes>(?:\s[^<>]{0,1000})?)>/gi

/** Elements whose text a page does not show. */
const UNSHOWN: ReadonlySet<string> = new Set(
  'template script style title noscript noembed noframes datalist object iframe audio video canvas desc metadata annotation annotation-xml head'.split(
    ' ',
  ),
)

/** Attributes by which an element is not seen. */
const HIDING =
  /\shidden(?=[\s=/]|$)|display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])|(?<![\w-])color\s*[:=]\s*["']?(?:transparent|white|#fff)|(?:left|right|top|text-indent|margin-left)\s*:\s*-\d{3,}/i
