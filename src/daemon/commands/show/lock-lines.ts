import { agoText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isFollowed, lockOriginText } from '../../status/lock-text.ts'
import type { LockOriginStatus, Status } from '../../status/status.ts'

/** The lines of the status about the lock. A missing file gets none: a source that must follow it reports the problem itself. */
export function lockLines({ lock, sources }: Status, now: Date): string[] {
  if (lock === undefined) return []
  if (lock.from !== undefined) return [originLine(lock.from, sources, now)]
  if (!lock.isThere || lock.error !== undefined) return []
  const file = `lock ${printableLine(lock.file)}`
  const ignored = lock.use === 'ignore' ? ' (lock: ignore)' : ''
  return [`${file}: ${followedText(sources)}${ignored}`]
}

/** The number of the shown sources that follow the lock: a status can be of one source. */
function followedText(sources: Status['sources']): string {
  return `followed by ${sources.filter(({ lock }) => isFollowed(lock)).length} of ${countOf(sources.length, 'source')}`
}

function originLine(origin: LockOriginStatus, sources: Status['sources'], now: Date): string {
  const since = origin.at === undefined ? '' : `, since ${agoText(origin.at, now)}`
  return printableLine(`lock ${lockOriginText(origin)}${since}: ${followedText(sources)}`)
}
