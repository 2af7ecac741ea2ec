import { agoText } from '../../base/text/age-text.ts'
import type { Paint } from '../../daemon/cli/colors.ts'
import { mendLine } from '../../daemon/cli/status-block.ts'
import { channelAddressOf, channelName, partText } from '../../daemon/config/channel-names.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { needsOperator } from '../../daemon/status/publication-status.ts'
import type { ChannelStatus, PublicationStatus } from '../../daemon/status/publication-status.ts'
import type { FollowedHub } from '../../daemon/status/status.ts'

/** The lines of the status about published branches. A failure quotes its server. */
export function publicationLines(
  publications: readonly PublicationStatus[],
  now: Date,
  paint: Paint,
): readonly string[] {
  return publications.flatMap((publication) => {
    const { url, branch, commit, isCurrent, condition, nextAttempt } = publication
    const place = printableLine(`publishes to ${url}, branch ${branch}`)
    const at = commit === undefined ? '' : ` at ${commit.slice(0, 12)}`
    if (condition === undefined) return [`${place}: ${isCurrent ? `up to date${at}` : `under way${at}`}`]
    const again = nextAttempt === undefined ? '' : `, tried again at ${nextAttempt}`
    const text = `${place}: ${condition.code} since ${agoText(condition.since, now)}${again}: ${condition.message}`
    return [paint(needsOperator(publication) ? 'red' : 'yellow', printableLine(text)), `  ${condition.mend}`]
  })
}

/** The lines of the status about the channels of this hub. */
export function channelLines(channels: readonly ChannelStatus[], now: Date, paint: Paint): readonly string[] {
  return channels.flatMap((channel) => {
    const { entries, isCurrent, condition } = channel
    const place = printableLine(channelPlace(channel))
    const at = entries === undefined ? '' : ` at entry ${entries}`
    if (condition === undefined) return [`${place}: ${isCurrent ? `up to date${at}` : `under way${at}`}`]
    const text = `${place}: ${condition.code} since ${agoText(condition.since, now)}: ${condition.message}`
    return [paint(needsOperator(channel) ? 'red' : 'yellow', printableLine(text)), `  ${condition.mend}`]
  })
}

/** The lines of the status about a followed hub of which no source is known yet. */
export function hubLines(hub: FollowedHub | undefined, paint: Paint): readonly string[] {
  if (hub === undefined) return []
  const { url, condition } = hub
  const place = printableLine(`follows ${url}; no source of it is known yet`)
  if (condition === undefined) return [place]
  return [place, paint('red', printableLine(`! ${condition.code}: ${condition.message}`)), `  ${mendLine(condition)}`]
}

function channelPlace(status: ChannelStatus): string {
  const name = channelName(status)
  const what = name === undefined ? 'channel' : `channel of ${partText(status)}`
  return status.to === undefined ? `${what} at ${channelAddressOf(name)}` : `${what} in ${status.to}`
}
