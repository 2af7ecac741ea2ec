import { readFile, writeFile } from 'node:fs/promises'
import { baselineOf, worseThan } from './baseline.ts'
import type { Baseline } from './baseline.ts'
import type { Figure } from './figure.ts'

// Compares the last full run with baseline.json; ends with 1 where a figure is more than a quarter worse, and names it. `--renew`
// makes the last full run what is compared with from now on.

const RESULTS = new URL('./results.json', import.meta.url)
const BASELINE = new URL('./baseline.json', import.meta.url)

const { quick, at, figures }: { quick: boolean; at: string; figures: Figure[] } = JSON.parse(
  await readFile(RESULTS, 'utf8'),
)
if (quick) end(1, ['The last run was a quick one, whose figures mean nothing: npm run bench'])
const now = baselineOf(figures)
if (process.argv.includes('--renew')) {
  await writeFile(BASELINE, `${JSON.stringify(now, null, 2)}\n`)
  end(0, [`The baseline is the run of ${at}: ${figures.length} figures`])
}
const before: Baseline = JSON.parse(await readFile(BASELINE, 'utf8'))
const worse = worseThan(before, now)
const added = Object.keys(now).filter((key) => !(key in before))
end(worse.length === 0 ? 0 : 1, [
  ...worse,
  ...added.map((key) => `${key} is new, and has no baseline`),
  `${Object.keys(before).length} figures compared, ${worse.length} are more than a quarter worse`,
])

function end(code: number, lines: readonly string[]): never {
  console.log(lines.join('\n'))
  process.exit(code)
}
