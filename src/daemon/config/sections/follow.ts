import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { ChannelSource } from '../../../sync/model/source.ts'
import { duration, later, logKey, path, serverUrl, witnessKey } from '../schema/scalars.ts'
import { oneOf } from './access.ts'
import type { Absolute } from './access.ts'

/** The number of witnesses whose cosignatures are enough. */
export const QUORUM = z
  .int()
  .min(1)
  .max(16)
  .describe('The number of witnesses whose cosignatures are enough. Default: the majority of them.')

interface Witnessed {
  readonly witnesses?: readonly (string | { readonly key: string })[] | undefined
  readonly quorum?: number | undefined
}

/** The rules of witnesses, each for `refine`. */
export const WITNESS_RULES = {
  /** A quorum needs at least as many witnesses. */
  enough: [
    ({ witnesses = [], quorum = 0 }: Witnessed) => quorum <= witnesses.length,
    { error: 'is above the number of `witnesses`', path: ['quorum'] },
  ],
  /** One key under two names would count as two witnesses: a cosignature does not cover the name. */
  distinct: [
    ({ witnesses = [] }: Witnessed) => {
      const keys = witnesses.map((one) => (typeof one === 'string' ? one : one.key).split('+', 3)[2])
      return new Set(keys).size === keys.length
    },
    { error: 'has the same key twice', path: ['witnesses'] },
  ],
} satisfies Readonly<Record<string, [(entry: Witnessed) => boolean, { error: string; path: string[] }]>>

/** The keys of a log all have its name. */
function haveOneName({ key }: { readonly key: string | readonly string[] }): boolean {
  return new Set([key].flat().map((one) => one.split('+', 1)[0])).size <= 1
}

/** The keys that name a channel. */
export const FOLLOW_KEYS = {
  url: serverUrl().optional().describe('The address of the channel: https://…/channel/ of a hub, or any web server.'),
  path: path().optional().describe('A folder with the channel.'),
  key: z
    .union([logKey(), z.array(logKey()).min(1).max(8)], { error: 'must be a public key of the channel, or a list' })
    .describe('The public key of the channel; during a change of keys, both.'),
  max_age: duration({ least: '13h' })
    .optional()
    .describe(
      'The age of the newest entry of its log above which the hub counts as stopped. A hub adds one each 12 hours. Default: any age.',
    ),
  witnesses: z
    .array(witnessKey())
    .min(1)
    .max(16)
    .optional()
    .describe('The public keys of witnesses: a state is taken only if `quorum` of them have cosigned it.'),
  quorum: QUORUM.optional(),
}

/** The rules between these keys, for any mapping that has them. */
export function checkedFollow<Entry extends z.ZodType<z.output<typeof KEYS>>>(entry: Entry): Entry {
  return entry
    .refine(...oneOf('url', 'path'))
    .refine(haveOneName, { error: 'has keys with different names; all keys of a channel have its name' })
    .refine(...WITNESS_RULES.enough)
    .refine(...WITNESS_RULES.distinct)
}

const KEYS = z.strictObject(FOLLOW_KEYS)

/** The channel of another hub. */
export const FOLLOW = later(() => checkedFollow(KEYS))

/** The place of a channel, and what its states need. */
export function channelSourceOf(
  { url, path, key, max_age: maxAgeMs, witnesses = [], quorum }: z.output<typeof FOLLOW>,
  absolute: Absolute,
): Pick<ChannelSource, 'kind' | 'url' | 'place' | 'keys' | 'maxAgeMs' | 'witnesses' | 'quorum'> {
  const signed = { keys: [key].flat(), maxAgeMs, witnesses, quorum: quorumOf(witnesses.length, quorum) }
  if (url !== undefined)
    return { kind: 'channel', url: url.endsWith('/') ? url : `${url}/`, place: { kind: 'http' }, ...signed }
  const folder = absolute(path ?? '')
  return { kind: 'channel', url: pathToFileURL(folder).href, place: { kind: 'folder', path: folder }, ...signed }
}

/** The number of witnesses whose cosignatures are enough: the majority, unless another number is set. */
export function quorumOf(witnesses: number, quorum: number | undefined): number {
  if (witnesses === 0) return 0
  return quorum ?? Math.floor(witnesses / 2) + 1
}
