import type { ItemsOf } from '../../daemon/status/items.ts'
import type { ItemProblem } from '../../sync/model/item.ts'
import { massText } from './scan-run.ts'

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
