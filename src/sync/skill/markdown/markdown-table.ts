import type { Span } from './markdown-blocks.ts'

/** A table, which takes the rest of its paragraph. */
export interface MarkdownTable {
  readonly start: number
  readonly columns: number
  /** The cells of each row, without the delimiter row. A rendered table does not show cells beyond the columns. */
  readonly rows: readonly (readonly Span[])[]
}

/** The table in a paragraph, by GitHub's rule: it begins with a row above a delimiter row of as many cells. */
export function tableIn(text: string): MarkdownTable | undefined {
  if (!text.includes('|')) return undefined
  const lines = linesOf(text)
  for (const [index, { start, end }] of lines.entries()) {
    const head = lines[index - 1]
    if (head === undefined || !beginsTable(text.slice(head.start, head.end), text.slice(start, end))) continue
    const columns = cellsIn(text, head)
    const rows = lines.slice(index + 1).map((line) => cellsIn(text, line))
    return { start: head.start, columns: columns.length, rows: [columns, ...rows] }
  }
  return undefined
}

/** True if a table begins with these two lines of a paragraph, which have no line ends. */
export function beginsTable(head: string, delimiters: string): boolean {
  return head.includes('|') && DELIMITERS.test(delimiters) && columnsOf(head) === columnsOf(delimiters)
}

function columnsOf(line: string): number {
  return cellsIn(line, { start: 0, end: line.length }).length
}

function linesOf(text: string): Span[] {
  const lines: Span[] = []
  for (let start = 0; start <= text.length;) {
    const feed = text.indexOf('\n', start)
    const end = feed === -1 ? text.length : feed
    lines.push({ start, end })
    start = end + 1
  }
  return lines
}

function cellsIn(text: string, { start, end }: Span): Span[] {
  const cells: Span[] = []
  let from = start
  for (let at = start; at < end; at += 1) {
    if (text[at] !== '|' || (at > start && text[at - 1] === '\\')) continue
    // Most rows have nothing before their first bar.
    if (from !== start || text.slice(from, at).trim() !== '') cells.push({ start: from, end: at })
    from = at + 1
  }
  if (text.slice(from, end).trim() !== '') cells.push({ start: from, end })
  return cells
}

/** No whitespace can match two parts of the expression. */
const DELIMITERS = /^(?=.*[|:])[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/
