import { z } from 'zod'
import type { SecretReference } from '../../daemon/config/auth.ts'
import { earlierRing } from '../../daemon/config/channel-names.ts'
import type { HostConfig } from '../../daemon/config/config.ts'
import { withDefaults } from '../../daemon/config/rules/defaults.ts'
import { later, logName, mapping, serverUrl, witnessKey } from '../../daemon/config/schema/scalars.ts'
import { hostConfigOf, referenceOf, SECRET } from '../../daemon/config/sections/access.ts'
import type { Absolute } from '../../daemon/config/sections/access.ts'
import type { DefaultsEntry } from '../../daemon/config/sections/defaults.ts'
import { QUORUM, quorumOf, WITNESS_RULES } from '../../daemon/config/sections/follow.ts'
import type { Settling } from '../../daemon/config/sections/sources.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'

const WITNESS = mapping(() => ({
  url: serverUrl().describe('The address of the witness.'),
  key: witnessKey().describe('The public key of the witness.'),
}))

const CHANNEL = later(() =>
  z
    .strictObject({
      name: logName().describe(
        'The name of the log: the address of the channel without https://. Followers refuse another name.',
      ),
      key: z
        .union([SECRET, z.array(SECRET).min(1).max(8)], {
          error: 'must be { env: NAME }, { file: PATH } or { credential: NAME }, or a list of these',
        })
        .describe('The private key, which skillsyncd hub channel new-key makes. A list signs with each.'),
      witnesses: z
        .array(WITNESS)
        .min(1)
        .max(16)
        .optional()
        .describe('Witnesses on other machines: a new state is published only once `quorum` of them have cosigned it.'),
      quorum: QUORUM.optional(),
    })
    .refine(...WITNESS_RULES.enough)
    .refine(...WITNESS_RULES.distinct),
)

/** The keys of the channel. */
export const CHANNEL_KEYS = {
  channel: CHANNEL.optional().describe(
    'The channel of this hub: what it serves, as files with a signed log, for other daemons.',
  ),
}

/** The channel in the configuration. */
export interface ChannelSettings {
  /** `undefined` if there is none. */
  readonly channel: ChannelConfig | undefined
  /** The folders that the channel is written to. */
  readonly channelFolders: readonly ChannelFolder[]
}

/** The configuration of a hub, with its channel. */
export type ChannelHubConfig = ServedConfig & ChannelSettings

/** The log of the channel, which is signed with each of the keys. */
export interface ChannelConfig {
  readonly name: string
  readonly keys: readonly SecretReference[]
  readonly witnesses: readonly WitnessConfig[]
  /** The number of witnesses whose cosignatures are enough; 0 without witnesses. */
  readonly quorum: number
}

/** A witness of the logs of this hub, and the way to it. */
export interface WitnessConfig extends Pick<HostConfig, 'ca' | 'proxy'> {
  /** Ends with a slash. */
  readonly url: string
  /** The public key, as a text. */
  readonly key: string
}

/** A folder with one of the channels. */
export interface ChannelFolder {
  /** Absolute. */
  readonly to: string
  readonly pack: string | undefined
  /** `undefined` for the last ring. */
  readonly ring: string | undefined
}

/** The log of the channel, and its witnesses with the access that `defaults` give to their hosts. */
export function channelOf(
  { name, key, witnesses = [], quorum }: z.output<typeof CHANNEL>,
  { absolute, defaults }: Settling,
): ChannelConfig {
  return {
    name,
    keys: [key].flat().map((one) => referenceOf(one, absolute)),
    witnesses: witnesses.map((witness) => witnessOf(witness, defaults, absolute)),
    quorum: quorumOf(witnesses.length, quorum),
  }
}

/** A witness needs no credential: the checkpoint is signed. */
function witnessOf(
  { url, key }: z.output<typeof WITNESS>,
  defaults: readonly DefaultsEntry[],
  absolute: Absolute,
): WitnessConfig {
  const access = withDefaults<Pick<DefaultsEntry, 'ca' | 'proxy'>>({}, url, defaults)
  const { ca, proxy } = hostConfigOf(access, absolute)
  return { url: url.endsWith('/') ? url : `${url}/`, key, ca, proxy }
}

/** An entry of `publish`, as far as it names a folder. */
interface FolderEntry {
  readonly to?: string | undefined
  readonly pack?: string | undefined
  readonly ring?: string | undefined
}

/** The folders that the channel is written to. */
export function channelFoldersOf(
  entries: readonly FolderEntry[] = [],
  rings: readonly { readonly id: string }[],
  absolute: Absolute,
): readonly ChannelFolder[] {
  return entries.flatMap(({ to, pack, ring }) =>
    to === undefined ? [] : [{ to: absolute(to), pack, ring: earlierRing(ring, rings) }],
  )
}
