import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Extent, Figure } from './figure.ts'
import { Ground } from './ground.ts'

const HEAD = ['figure', 'ours', '', 'reference', '', 'ratio', 'target', '']

/** The figures in columns: medians, the ratio, and whether it is within the target. */
export function tableOf(figures: readonly Figure[]): string {
  return columnsOf([HEAD, ...figures.map(rowOf)])
}

/** Rows of cells below each other. */
export function columnsOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Runs one figure if its file was started by itself; prints its table. */
export async function runAlone(url: string, measure: (ground: Ground) => Promise<readonly Figure[]>): Promise<void> {
  if (!isStarted(url)) return
  await using ground = await Ground.open(extentOf(process.argv))
  console.log(tableOf(await measure(ground)))
}

/** Whether a file is the one that was started, and not one that another imports. */
export function isStarted(url: string): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(url))
}

export function extentOf(args: readonly string[]): Extent {
  return { quick: args.includes('--quick') }
}

function rowOf({ name, ours, reference, ratio, target, unit }: Figure): string[] {
  return [
    name,
    ...[ours, reference].flatMap(({ what, median }) => [`${median.toFixed(1).padStart(7)} ${unit}`, what]),
    ratio.toFixed(2).padStart(5),
    target === undefined ? '-' : `<= ${target.toFixed(Number.isInteger(target * 10) ? 1 : 2)}`,
    target === undefined ? '' : ratio <= target ? 'met' : 'MISSED',
  ]
}
