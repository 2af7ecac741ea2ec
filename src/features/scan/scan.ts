import type { z } from 'zod'
import { countOf } from '../../base/text/plural.ts'
import { printJson, printLines, progressOf } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { configInUse } from '../../daemon/cli/config-in-use.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { countsText } from '../../daemon/status/scan-text.ts'
import type { ScanProgress } from '../../daemon/status/status.ts'
import { scanRequest } from './scan-request.ts'
import { massText } from './scan-run.ts'
import type { ScanEnd } from './scan-run.ts'

/** Scans what is served of the named sources, and prints the end. The status is 3 if a refused skill is served. */
export async function printScan(context: Context): Promise<ExitStatus> {
  const config = await configInUse(context)
  const sources = sourcesNamed(context.operands, config)
  const asked = {
    sources,
    isFresh: context.values['fresh'] === true,
    withholdsAll: context.values['withhold'] === true,
  }
  using progress = progressOf(context)
  let shown: number | undefined
  const show = ({ done, of }: ScanProgress): void => {
    const step = of === 0 ? STEPS : Math.floor((done * STEPS) / of)
    if (step === shown) return
    shown = step
    progress.count(done, of, `${done} of ${countOf(of, 'content')} scanned`)
  }
  const end = await withWriter(context, config, async (ask) =>
    ask(scanRequest, asked, ({ scanning }) => show(scanning)),
  )
  progress[Symbol.dispose]()
  if (context.json) printJson(context, end)
  else printLines(context, linesOf(end))
  if (end.refused.some(({ is }) => is === 'served')) return 3
  return end.failed.length === 0 ? 0 : 1
}

function linesOf({
  scanned,
  counts,
  failed,
  refused,
  cleared,
  waiting,
}: z.output<typeof scanRequest.answer>): string[] {
  return [
    `${countOf(scanned, 'content')} scanned: ${countsText(counts)}`,
    ...refused.map(({ skill, is }) => `  ! ${printableLine(skill)}: ${STATES[is]}; skillsyncd why shows the findings`),
    ...cleared.map((skill) => `  ${printableLine(skill)}: cleared, and in service again`),
    ...failed.map(({ source, path, message }) => `  ! ${printableLine(`${source}/${path}: no answer: ${message}`)}`),
    ...(waiting === undefined
      ? []
      : [`! scan-waiting: ${massText(waiting)}; check the rules, then skillsyncd verify --scan --withhold`]),
  ]
}

/** A log of the progress has so many lines at most, however many contents there are. */
const STEPS = 20

const STATES: Readonly<Record<ScanEnd['refused'][number]['is'], string>> = {
  withheld: 'withheld',
  served: 'refused by the scanner, and served',
  accepted: 'refused by the scanner, and served because a person enabled it',
}
