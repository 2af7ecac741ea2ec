import { countOf } from '../../base/text/plural.ts'
import { SARIF_LEVELS } from '../../sync/store/scan-records.ts'
import type { ScanFinding, SkillScan } from '../../sync/store/scan-records.ts'

/** A scan as commands print it: a line with its numbers, and one for each finding. */
export function scanTexts({ at, counts, findings }: Omit<SkillScan, 'by'>): {
  readonly summary: string
  readonly findings: readonly string[]
} {
  const total = SARIF_LEVELS.reduce((sum, level) => sum + counts[level], 0)
  const more = total - findings.length
  const rest = more > 0 && findings.length > 0 ? [countOf(more, 'more finding')] : []
  return { summary: `${countsText(counts)}, on ${at}`, findings: [...findings.map(scanFindingText), ...rest] }
}

/** The numbers of findings, the worst level first: `1 error, 2 warnings`. */
export function countsText(counts: SkillScan['counts']): string {
  const names = { error: 'error', warning: 'warning', note: 'note', none: 'finding without a level' } as const
  const parts = SARIF_LEVELS.flatMap((level) => (counts[level] === 0 ? [] : [countOf(counts[level], names[level])]))
  return parts.length === 0 ? 'no findings' : parts.join(', ')
}

/** A finding in one line, with its level, its rule and its place in the skill. */
export function scanFindingText({ tool, rule, level, message, file, line }: ScanFinding): string {
  const place = file === undefined ? '' : ` ${file}${line === undefined ? '' : `:${line}`}`
  return `${level} ${rule}${place}: ${message} (${tool})`
}
