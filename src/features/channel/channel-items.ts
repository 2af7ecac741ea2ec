import { channelAddressOf, channelName, partText } from '../../daemon/config/channel-names.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { ItemsOf } from '../../daemon/status/items.ts'
import { publishedItem } from '../../daemon/status/publication-status.ts'
import type { ChannelStatus } from '../../daemon/status/publication-status.ts'
import type { FollowedHub, Status } from '../../daemon/status/status.ts'
import { failureUrgency } from '../../sync/model/item.ts'
import type { Item } from '../../sync/model/item.ts'

/** The channels of this hub, and the hub that it follows while no source of that is known. */
export const channelItems: ItemsOf = ({ channels = [], hub }, now) => [
  ...channels.map((channel) => channelItem(channel, now)),
  ...(hub === undefined ? [] : [hubItem(hub, now)]),
]

function channelItem(channel: ChannelStatus, now: Date): Item {
  const { to } = channel
  const item = { kind: 'channel', id: channelPlace(channel), ...publishedItem(channel, now) } as const
  return to === undefined ? item : { ...item, place: to }
}

/** The place that a channel is read at, after the part of the catalog that it has. */
function channelPlace(status: ChannelStatus): string {
  const name = channelName(status)
  const part = name === undefined ? '' : `of ${partText(status)} `
  return status.to === undefined ? `${part}at ${channelAddressOf(name)}` : `${part}in ${status.to}`
}

function hubItem({ url, problem }: FollowedHub, now: Date): Item {
  const of = { kind: 'hub', id: url, isPrivate: true } as const
  if (problem === undefined) return { ...of, state: 'unread', urgency: 'well', problems: [] }
  const { code, message, fix } = problem
  const problems = [{ code, message, fix }]
  return { ...of, state: 'failing', urgency: failureUrgency(code, undefined, now), problems }
}

/** The lines of the status about the channels that do not fail, and a hub that was not read yet. */
export function channelLines({ channels = [], hub }: Pick<Status, 'channels' | 'hub'>): readonly string[] {
  return [
    ...channels.flatMap((channel) => {
      const { entries, isCurrent, problem } = channel
      const at = entries === undefined ? '' : ` at entry ${entries}`
      const place = printableLine(`channel ${channelPlace(channel)}`)
      return problem === undefined ? [`${place}: ${isCurrent ? 'up to date' : 'under way'}${at}`] : []
    }),
    ...(hub === undefined ? [] : [printableLine(`follows ${hub.url}; no source of it is known yet`)]),
  ]
}
