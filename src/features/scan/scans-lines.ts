import { countOf } from '../../base/text/plural.ts'
import { countsText } from '../../daemon/status/scan-text.ts'
import type { Status } from '../../daemon/status/status.ts'

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
