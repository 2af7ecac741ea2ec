import { agoText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { Paint } from '../../cli/colors.ts'
import { mendLine } from '../../cli/status-block.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isFollowed, lockOriginText } from '../../status/lock-text.ts'
import { needsOperator } from '../../status/publication-status.ts'
import type { LockOriginStatus, Status } from '../../status/status.ts'

/** The lines of the status about the lock. A missing file gets none: a source that must follow it reports the problem itself. */
export function lockLines({ lock, sources }: Status, now: Date, paint: Paint): string[] {
  if (lock === undefined) return []
  if (lock.from !== undefined) return originLines(lock.from, { sources, now, paint })
  if (!lock.isThere) return []
  const file = `lock ${printableLine(lock.file)}`
  if (lock.error !== undefined) return [`${file}: cannot be read: ${printableLine(lock.error)}`]
  const ignored = lock.use === 'ignore' ? ' (lock: ignore)' : ''
  return [`${file}: ${followedText(sources)}${ignored}`]
}

/** The number of the shown sources that follow the lock: a status can be of one source. */
function followedText(sources: Status['sources']): string {
  return `followed by ${sources.filter(({ lock }) => isFollowed(lock)).length} of ${countOf(sources.length, 'source')}`
}

interface Beside extends Pick<Status, 'sources'> {
  readonly now: Date
  readonly paint: Paint
}

function originLines(origin: LockOriginStatus, { sources, now, paint }: Beside): string[] {
  const { at, condition } = origin
  const since = at === undefined ? '' : `, since ${agoText(at, now)}`
  const line = printableLine(`lock ${lockOriginText(origin)}${since}: ${followedText(sources)}`)
  if (condition === undefined) return [line]
  const text = `! ${condition.code} since ${agoText(condition.since, now)}: ${condition.message}`
  return [line, paint(needsOperator(origin) ? 'red' : 'yellow', printableLine(text)), `  ${mendLine(condition)}`]
}
