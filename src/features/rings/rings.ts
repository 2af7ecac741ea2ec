import { systemClock } from '../../base/async/clock.ts'
import { channelSigners, publicKeysOf } from '../../daemon/access/channel-keys.ts'
import { Tokens } from '../../daemon/access/tokens.ts'
import { paintFor } from '../../daemon/cli/colors.ts'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { configInUse } from '../../daemon/cli/config-in-use.ts'
import { channelAddressOf, channelName, earlierRing, originOf } from '../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../daemon/config/channel-names.ts'
import { expectRings } from '../../daemon/config/named-rings.ts'
import { askRunning } from '../../daemon/control/running-daemon.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import type { RingStatus } from '../../daemon/status/status.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { Store } from '../../sync/store/store.ts'
import type { Membership } from './membership.ts'
import type { RingHubConfig } from './ring-config.ts'
import { linesOfRing, percentText, sourceLine } from './ring-lines.ts'
import { ringsRequest } from './ring-requests.ts'
import { memberships, principalNamed, ringPrincipalOf } from './ring-roster.ts'
import { storedRings } from './stored-rings.ts'

/** Prints each ring with its tokens, or the ring of the principal that the operand names. */
export async function printRings(context: Context<RingHubConfig>): Promise<ExitStatus> {
  const config = await configInUse(context)
  expectRings(config)
  const [name, other] = context.operands
  if (other !== undefined) throw new UsageError('--rings goes with one NAME')
  const rings = await ringsNow(context, config)
  await (name === undefined ? showAll(context, config, rings) : showOne(context, config, { rings, name }))
  return 0
}

async function showAll(context: Context, config: RingHubConfig, rings: readonly RingStatus[]): Promise<void> {
  const of = memberships(config.rings)
  const withoutToken = of(undefined).ring
  const tokens = (await tokensOf(config)).map(({ name }) => name).toSorted()
  const shown = rings.map((ring) => ({
    ...ring,
    tokens: tokens.filter((name) => of(principalNamed(name)).ring === ring.id),
    hasThoseWithoutToken: ring.id === withoutToken,
  }))
  if (context.json) return printJson(context, { rings: shown })
  const now = systemClock.now()
  const lines: string[] = []
  for (const [at, ring] of shown.entries()) {
    lines.push(...linesOfRing(ring, at, now, paintFor(context)))
    if (ring.tokens.length > 0) lines.push(`  tokens: ${ring.tokens.join(', ')}`)
    if (ring.hasThoseWithoutToken) lines.push('  clients without a token')
  }
  printLines(context, lines)
}

interface Shown {
  readonly rings: readonly RingStatus[]
  readonly name: string
}

async function showOne(context: Context, config: RingHubConfig, { rings, name }: Shown): Promise<void> {
  const principal = principalNamed(name)
  const member = memberships(config.rings)(principal)
  const ring = rings.find(({ id }) => id === member.ring)
  const sources = ring?.sources ?? []
  const channel = await channelOf(context, config, { principal, ring: member.ring })
  if (context.json) return printJson(context, { principal: name, ...member, sources, ...(channel && { channel }) })
  const now = systemClock.now()
  const has = sources.map((source) => sourceLine(source, now, paintFor(context)))
  printLines(context, [
    printableLine(`${name}: ring ${member.ring}, ${reasonText(member)}`),
    ...(has.length === 0
      ? ['it has what the first ring has of each source']
      : ['it has of each source what the first ring has, but:']),
    ...has,
    ...(channel === undefined ? [] : channelLines(channel, config)),
  ])
}

interface RingChannel {
  /** The path at the hub. */
  readonly address: string
  readonly log: string
  /** The public keys that followers need; absent if the private ones cannot be read here. */
  readonly keys?: readonly string[]
}

/** The channel of its ring; `undefined` without channels, or for a token that sees those of its packs alone. */
async function channelOf(
  context: Context,
  config: RingHubConfig,
  { principal, ring }: { readonly principal: string; readonly ring: string },
): Promise<RingChannel | undefined> {
  const ofPacks = (await tokensOf(config)).filter(({ packs }) => packs !== undefined)
  const { key } = ringPrincipalOf(principal)
  if (config.channel === undefined || ofPacks.some(({ name }) => key === principalNamed(name))) return undefined
  const channel = channelName({ ring: earlierRing(ring, config.rings) })
  const keys = await keysOf(context, config.channel, channel)
  const address = channelAddressOf(channel)
  return { address, log: originOf(config.channel, channel), ...(keys !== undefined && { keys }) }
}

async function keysOf(
  context: Context,
  channel: NonNullable<RingHubConfig['channel']>,
  name: ChannelName,
): Promise<readonly string[] | undefined> {
  try {
    return publicKeysOf(channel, name, await channelSigners(channel, context))
  } catch (error) {
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** The lines about the channel, with the entry for the configuration of the follower. */
function channelLines({ address, log, keys }: RingChannel, { serve }: RingHubConfig): readonly string[] {
  const head = `as a follower it reads ${address}, the log ${log}`
  if (keys === undefined)
    return [`${head}; skillsyncd hub channel keys prints its key, for a user that can read the private one`]
  const url = `${serve.http.publicUrl ?? 'https://…'}${address}`
  // JSON, which YAML reads as it is.
  const texts = keys.map((key) => JSON.stringify(key)).join(', ')
  return [
    `${head}, with its token in the variable HUB_TOKEN:`,
    `    follow: { url: ${JSON.stringify(url)}, key: ${keys.length === 1 ? texts : `[${texts}]`}, auth: { token: { env: HUB_TOKEN } } }`,
  ]
}

function reasonText(member: Membership): string {
  switch (member.by) {
    case 'name':
      return 'which names it'
    case 'share':
      return `by its share: its place is ${percentText(member.fraction)}`
    case 'rest':
      return `which has the rest: its place is ${percentText(member.fraction)}`
    case 'no-token':
      return 'as every client without a token'
  }
}

async function ringsNow({ signal }: Context, config: RingHubConfig): Promise<readonly RingStatus[]> {
  const now = (await askRunning(config, ringsRequest, {}, { signal }))?.answer
  if (now !== undefined) return now
  using store = await Store.openExisting(config.state)
  await store?.decisions.read()
  return (await storedRings(config, store, systemClock.now())).rings
}

async function tokensOf({ state }: RingHubConfig): Promise<NonNullable<Tokens['all']>> {
  const tokens = new Tokens(state, () => systemClock.now())
  await tokens.read()
  return tokens.all ?? []
}
