import { countOf } from '../../base/text/plural.ts'
import type { ItemsOf } from '../../daemon/status/items.ts'
import { countsText } from '../../daemon/status/scan-text.ts'
import type { Status } from '../../daemon/status/status.ts'
import type { ItemProblem } from '../../sync/model/item.ts'
import { massText } from './scan-run.ts'

/** The scans of what is served, for `status`. */
export function scansLines({ scans }: Pick<Status, 'scans'>): readonly string[] {
  if (scans === undefined) return []
  const { scanner, running, last, next } = scans
  const parts = [
    ...(running === undefined ? [] : [`${running.done} of ${countOf(running.of, 'content')} scanned`]),
    ...(last === undefined ? [] : [`last scan ${last.at}, ${countsText(last.counts)}`]),
    ...(last === undefined || last.failed === 0 ? [] : [`no answer for ${last.failed}`]),
    ...(next === undefined ? [] : [`next ${next}`]),
  ]
  return parts.length === 0 ? [] : [`scanner ${scanner}: ${parts.join('; ')}`]
}

/** The scanner of what is served. */
export const scanItems: ItemsOf = ({ scans }) => {
  if (scans === undefined) return []
  const { scanner, error, waiting } = scans
  const of = { kind: 'scanner', id: scanner, isPrivate: true } as const
  if (waiting !== undefined) {
    const fix = 'Check the rules, then skillsyncd verify --scan --withhold takes them out'
    return [
      {
        ...of,
        state: 'waiting',
        urgency: 'person',
        problems: [{ code: 'scan-waiting', message: massText(waiting), fix }],
      },
    ]
  }
  const problems: ItemProblem[] =
    error === undefined ? [] : [{ code: 'scan-failed', message: error, fix: 'skillsyncd doctor checks the scanner' }]
  return [
    {
      ...of,
      state: error === undefined ? 'idle' : 'failing',
      urgency: error === undefined ? 'well' : 'retried',
      problems,
    },
  ]
}
