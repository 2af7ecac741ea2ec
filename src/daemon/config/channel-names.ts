/**
 * The name of a channel among those of this hub: `undefined` for that of everything, the id of a pack, or a ring, which
 * begins with `ring.`. No id has a dot, so no pack has the log, the file or the address of a ring.
 */
export type ChannelName = string | undefined

/** The part of the hub that a channel has: a pack in the last ring, or everything in a ring before the last. */
export interface PublishedPart {
  readonly pack?: string | undefined
  readonly ring?: string | undefined
}

type Ids = readonly { readonly id: string }[]

/** The channels of this hub: that of everything, one for each pack, and one for each ring before the last. */
export function channelNames({ packs, rings }: { readonly packs: Ids; readonly rings: Ids }): readonly ChannelName[] {
  const earlier = rings.slice(0, -1)
  return [undefined, ...packs.map(({ id }) => id), ...earlier.map(({ id }) => channelName({ ring: id }))]
}

export function channelName({ pack, ring }: PublishedPart): ChannelName {
  return ring === undefined ? pack : `${OF_RING}${ring}`
}

/** The part of a channel, without absent keys. */
export function partOf(channel: ChannelName): { readonly pack?: string; readonly ring?: string } {
  if (channel === undefined) return {}
  return channel.startsWith(OF_RING) ? { ring: channel.slice(OF_RING.length) } : { pack: channel }
}

/** The part in words, for people. */
export function partText({ pack, ring }: PublishedPart): string {
  if (ring !== undefined) return `the ring ${ring}`
  return pack === undefined ? 'everything' : `the pack ${pack}`
}

/** The ring, if it has a channel of its own. The last ring has none: its channel is that of everything. */
export function earlierRing(ring: string | undefined, rings: readonly { readonly id: string }[]): string | undefined {
  return ring === rings.at(-1)?.id ? undefined : ring
}

/** The path at which this daemon serves the channel. */
export function channelAddressOf(channel: ChannelName): string {
  return channel === undefined ? '/channel/' : `/channels/${channel}/`
}

/** The name of the log of a channel. */
export function originOf({ name }: { readonly name: string }, channel: ChannelName): string {
  return channel === undefined ? name : `${name}/${channel}`
}

/** The name of the file with the log of a channel. */
export function logFileOf(channel: ChannelName): string {
  return `${logName(channel)}.jsonl`
}

/** The name of the file with the newest checkpoint of that log that enough witnesses have cosigned. */
export function checkpointFileOf(channel: ChannelName): string {
  return `${logName(channel)}.checkpoint`
}

function logName(channel: ChannelName): string {
  return channel === undefined ? 'channel' : `channel.${channel}`
}

const OF_RING = 'ring.'
