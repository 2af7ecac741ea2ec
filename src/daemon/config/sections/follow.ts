import { z } from 'zod'
import { duration, logKey, path, serverUrl, witnessKey } from '../schema/scalars.ts'
import { oneOf } from './access.ts'

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
export function haveOneName({ key }: { readonly key: string | readonly string[] }): boolean {
  return new Set([key].flat().map((one) => one.split('+', 1)[0])).size <= 1
}

/** The message for `haveOneName`. */
export const DIFFERENT_NAMES = { error: 'has keys with different names; all keys of a channel have its name' }

/** The keys that name a channel. */
export const FOLLOW_KEYS = {
  url: serverUrl().optional().describe('The address of the channel: https://…/channel/ of a hub, or any web server.'),
  path: path().optional().describe('A folder with the channel: on a disk that is shared, or that was carried here.'),
  key: z
    .union([logKey(), z.array(logKey()).min(1).max(8)], { error: 'must be a public key of the channel, or a list' })
    .describe('The public key that the channel is signed with; during a change of keys, both.'),
  max_age: duration({ least: '13h' })
    .optional()
    .describe(
      'The age of the newest entry of its log above which the channel counts as stopped. A hub adds one each 12 hours. Default: any age.',
    ),
  witnesses: z
    .array(witnessKey())
    .min(1)
    .max(16)
    .optional()
    .describe('The public keys of witnesses: a state of the log is taken only if `quorum` of them have cosigned it.'),
  quorum: QUORUM.optional(),
}

/** The channel of another hub. */
export const FOLLOW = z
  .strictObject(FOLLOW_KEYS)
  .refine(...oneOf('url', 'path'))
  .refine(haveOneName, DIFFERENT_NAMES)
  .refine(...WITNESS_RULES.enough)
  .refine(...WITNESS_RULES.distinct)
