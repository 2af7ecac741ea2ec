import { printableLine } from '../runtime/log/log-line.ts'
import { paintFor } from './colors.ts'
import { printLines } from './command.ts'
import type { Context } from './command.ts'

/**
 * Writes rows of cells as lines, each column as wide as its widest cell. On a terminal, the lines follow the heads of the
 * columns and are cut to its width, and the width of a column is at most half of it. To a pipe or a file, lines are
 * written in full, without heads unless `hasHeads` is set.
 */
export function printRows(
  context: Context,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  hasHeads = context.streams.stdout.isTTY === true,
): void {
  const { isTTY, columns } = context.streams.stdout
  // A pseudo-terminal can have no width.
  const width = isTTY === true ? columns || 80 : undefined
  const cells = (hasHeads && rows.length > 0 ? [heads, ...rows] : rows).map((row) => row.map(printableLine))
  const widths = widthsOf(cells, width === undefined ? Number.POSITIVE_INFINITY : Math.floor(width / 2))
  const lines = cells.map((row) => cutTo(lineOf(row, widths), width))
  const paint = paintFor(context)
  printLines(context, width === undefined ? lines : lines.map((line, at) => (at === 0 ? paint('bold', line) : line)))
}

/** The widths of all columns except the last, which needs none. */
function widthsOf(rows: readonly (readonly string[])[], most: number): readonly number[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, { length }] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, Math.min(length, most))
  return widths
}

function lineOf(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
}

function cutTo(line: string, width: number | undefined): string {
  return width !== undefined && line.length > width ? `${line.slice(0, width - 1)}…` : line
}

/** Prints records as comma-separated values (RFC 4180), the heads first. */
export function printCsv(
  { redactor, streams }: Pick<Context, 'redactor' | 'streams'>,
  records: readonly (readonly string[])[],
): void {
  streams.stdout.write(redactor.clean(records.map((record) => `${record.map(csvField).join(',')}\r\n`).join('')))
}

/** A spreadsheet would run a name that begins like a formula. */
function csvField(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
