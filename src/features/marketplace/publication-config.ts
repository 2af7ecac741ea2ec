import { z } from 'zod'
import { isObject } from '../../base/json-object.ts'
import type { HostConfig } from '../../daemon/config/config.ts'
import { keyText } from '../../daemon/config/rules/config-error.ts'
import type { Fault, KeyPath } from '../../daemon/config/rules/config-error.ts'
import { normalizeUrl, withDefaults } from '../../daemon/config/rules/defaults.ts'
import { entriesAt, idsAt, valueAt } from '../../daemon/config/rules/entries.ts'
import { branch, id, later, path, pushUrl } from '../../daemon/config/schema/scalars.ts'
import { hostConfigOf, oneOf } from '../../daemon/config/sections/access.ts'
import { SHARED } from '../../daemon/config/sections/defaults.ts'
import type { Settling } from '../../daemon/config/sections/sources.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import type { MarketplaceSettings } from './marketplace-config.ts'

const PUBLICATION = later(() =>
  z
    .strictObject({
      git: pushUrl()
        .optional()
        .describe(
          'A git repository, http(s) only: the marketplace is pushed to a branch of it, never with force; needs `serve.marketplace`.',
        ),
      to: path()
        .optional()
        .describe('A folder for the channel, for any web server or for a disk to carry; needs `channel`.'),
      branch: branch().optional().describe('The branch, which is created if it does not exist. Default: main.'),
      pack: id().optional().describe('The skills of this pack only. Default: everything that is served.'),
      ring: id().optional().describe('With `to`: the content of this ring. Default: the last one.'),
      auth: SHARED.auth,
      ca: SHARED.ca,
      proxy: SHARED.proxy,
    })
    .refine(...oneOf('git', 'to')),
)

/** The keys of publications. */
export const PUBLICATION_KEYS = {
  publish: z.array(PUBLICATION).optional().describe('What is written after each change.'),
}

/** The entries of `publish`. */
export type PublicationEntries = z.output<typeof PUBLICATION_KEYS.publish>

/** The branches in the configuration that the daemon publishes the marketplace to. */
export interface PublicationSettings {
  readonly publications: readonly Publication[]
}

/** The configuration of a hub, with its marketplace and the branches. */
export type PublishingConfig = ServedConfig & MarketplaceSettings & PublicationSettings

/** A branch of a git repository to which the marketplace is published. */
export interface Publication extends HostConfig {
  readonly kind: 'git'
  /** An http(s) address. */
  readonly url: string
  readonly branch: string
  /** The pack whose marketplace it is; `undefined` for that of all that is served. */
  readonly pack: string | undefined
}

/** The branches that the entries name. */
export function publicationsOf(entries: PublicationEntries, { absolute, defaults }: Settling): readonly Publication[] {
  return (entries ?? []).flatMap((entry): Publication[] => {
    const { git: url, branch = 'main', pack } = entry
    if (url === undefined) return []
    const { auth, ca, proxy } = withDefaults(entry, url, defaults)
    return [{ kind: 'git', url, branch, pack, ...hostConfigOf({ auth, ca, proxy }, absolute) }]
  })
}

/** Each publication has what it publishes, and a branch or a folder for itself: two would take turns on it for ever. */
export function publicationFaults(value: unknown): Fault[] {
  const serve = valueAt(value, 'serve')
  const hasMarketplace = isObject(valueAt(serve, 'marketplace'))
  const hasChannel = isObject(value) && isObject(value['channel'])
  const packs = new Set<unknown>(idsAt(value, 'packs'))
  const rings = new Set<unknown>(idsAt(value, 'rings'))
  const first = new Map<string, number>()
  const faults: Fault[] = []
  for (const [index, entry] of entriesAt(value, 'publish').entries()) {
    if (!isObject(entry)) continue
    const { git, to, branch = 'main', pack, ring } = entry
    const path = ['publish', index]
    if (to !== undefined) faults.push(...channelFolderFaults(entry, hasChannel, path))
    if (git !== undefined && !hasMarketplace)
      faults.push({ path, message: 'needs `serve.marketplace`, which is what is published' })
    if (pack !== undefined && !packs.has(pack))
      faults.push({ path: [...path, 'pack'], message: 'must be the id of a pack' })
    if (ring !== undefined) faults.push(...ringOfFolderFaults(entry, rings, [...path, 'ring']))
    const place = typeof git === 'string' ? [normalizeUrl(git), branch] : [to]
    const key = JSON.stringify(place)
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, index)
    else {
      const what = typeof git === 'string' ? 'the address and the branch' : 'the folder'
      faults.push({ path, message: `has ${what} of ${keyText(['publish', earlier])}; they must differ` })
    }
  }
  return faults
}

/** Finds the faults of a publication to a folder. */
function channelFolderFaults(entry: object, hasChannel: boolean, path: KeyPath): Fault[] {
  const keys = ['branch', 'auth', 'ca', 'proxy'].filter((key) => Object.hasOwn(entry, key))
  return [
    ...(hasChannel ? [] : [{ path, message: 'needs `channel`, which has the name and the key of what is published' }]),
    ...keys.map((key): Fault => ({
      path: [...path, key],
      at: 'key',
      message: 'goes with `git` alone: a folder has no host',
    })),
  ]
}

/** Finds the faults of the ring of a publication. A branch and a pack have the content of the last ring. */
function ringOfFolderFaults(
  { to, pack, ring }: { readonly to?: unknown; readonly pack?: unknown; readonly ring?: unknown },
  rings: ReadonlySet<unknown>,
  path: KeyPath,
): Fault[] {
  if (to === undefined) return [{ path, at: 'key', message: 'goes with `to` alone: a branch has the last ring' }]
  if (pack !== undefined) return [{ path, at: 'key', message: 'does not go with `pack`: a pack has the last ring' }]
  return rings.has(ring) ? [] : [{ path, message: 'must be the id of a ring' }]
}
