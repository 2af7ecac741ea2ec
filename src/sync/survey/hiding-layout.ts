import { isTelling } from '../skill/hidden-markdown.ts'
import type { Unrendered, UnrenderedKind } from '../skill/hidden-markdown.ts'
import type { Span } from '../skill/markdown/markdown-blocks.ts'

/** The text with blanks in place of its code and of all before `start`, so that offsets stay. Code is visible. */
export function withoutCode(text: string, start: number, code: readonly Span[]): string {
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
export function* hiddenByLayout(text: string): Generator<Omit<Unrendered, 'line'>> {
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
