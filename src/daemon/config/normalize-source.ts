import { pathToFileURL } from 'node:url'
import { quorumOf } from '../../features/channel/normalize-channel.ts'
import { ARCHIVE_FORMATS } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { AskedRef } from '../../sync/model/revision.ts'
import type {
  Brakes,
  Budgets,
  ChannelSource,
  LifecycleRule,
  McpPlace,
  McpSource,
  Schedule,
  Source,
} from '../../sync/model/source.ts'
import type { ConfiguredSource, SignedBy } from './config.ts'
import { accessOf, bearerOf, programOf, programValuesOf, proxyOf, referenceOf } from './normalize-access.ts'
import type { Absolute, SourceEntry } from './normalize-access.ts'

/** A source, with the access to its host. The entry has been completed from `defaults`. */
export function configuredOf(entry: SourceEntry, absolute: Absolute): ConfiguredSource {
  const program = typeof entry.mcp === 'object' ? programValuesOf(entry.mcp.env, absolute) : undefined
  return {
    source: sourceOf(entry, absolute),
    access:
      entry.mcp === undefined && entry.follow === undefined
        ? accessOf(entry.auth, absolute)
        : bearerOf(entry.auth, absolute),
    ...(program !== undefined && { programEnv: program }),
    ca: entry.ca === undefined ? undefined : absolute(entry.ca),
    proxy: proxyOf(entry.proxy, absolute),
    webhook: webhookOf(entry.webhook, absolute),
    signed: signedOf(entry.signed, absolute),
    ...(entry.fallback !== undefined && { fallback: entry.fallback }),
    required: entry.required,
    maxAgeMs: entry.max_age,
    archives: ARCHIVE_FORMATS.filter((format) => entry.archives?.includes(format)),
  }
}

type SignedEntry = NonNullable<SourceEntry['signed']>

function sourceOf(entry: SourceEntry, absolute: Absolute): Source {
  const {
    id,
    url,
    path,
    links = 'inside',
    update,
    // A channel has no contract documents.
    contract = entry.follow === undefined && 'offer',
    docs,
    root,
    include,
    exclude,
    unlisted,
    names,
    nested,
    strict,
    on_broken: onBroken,
    lfs,
    policy,
  } = entry
  const hiddenUnicode = policy?.['hidden-unicode'] ?? 'deceptive'
  const marketplace = entry.mcp === undefined && entry.marketplace === true
  const taken = { root, include, exclude, unlisted, names, nested, strict, onBroken, lfs }
  const selection = { ...taken, hiddenUnicode, contract, docs, marketplace }
  const lifecycle = entry.lifecycle?.map(lifecycleRuleOf)
  const moves = { ref: askedOf(entry), update, brakes: brakesOf(entry), schedule: scheduleOf(entry) }
  const following = { ...moves, ...(lifecycle !== undefined && { lifecycle }) }
  if (path !== undefined) {
    const folder = absolute(path)
    return { kind: 'directory', id, url: pathToFileURL(folder).href, path: folder, links, ...following, ...selection }
  }
  if (entry.follow !== undefined) return { id, ...channelSourceOf(entry.follow, absolute), ...following, ...selection }
  if (entry.mcp !== undefined) return { ...mcpOf(entry, entry.mcp, absolute), ...following, ...selection }
  // The rules between keys refuse a source without an address before this point.
  if (url === undefined) throw new TypeError('A source without an address was let through')
  return { kind: 'git', id, url, backend: entry.backend ?? 'auto', ...following, ...selection }
}

function lifecycleRuleOf({
  include,
  deprecated,
  replaced_by: replacedBy,
  owner,
  depends_on: dependsOn,
}: NonNullable<SourceEntry['lifecycle']>[number]): LifecycleRule {
  const edit = {
    ...(deprecated !== undefined && { deprecated }),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(owner !== undefined && { owner }),
    ...(dependsOn !== undefined && { dependsOn }),
  }
  return { include, edit }
}

function channelSourceOf(
  { url, path, key, max_age: maxAgeMs, witnesses = [], quorum }: NonNullable<SourceEntry['follow']>,
  absolute: Absolute,
): Pick<ChannelSource, 'kind' | 'url' | 'place' | 'keys' | 'maxAgeMs' | 'witnesses' | 'quorum'> {
  const signed = { keys: [key].flat(), maxAgeMs, witnesses, quorum: quorumOf(witnesses.length, quorum) }
  if (url !== undefined)
    return { kind: 'channel', url: url.endsWith('/') ? url : `${url}/`, place: { kind: 'http' }, ...signed }
  const folder = absolute(path ?? '')
  return { kind: 'channel', url: pathToFileURL(folder).href, place: { kind: 'folder', path: folder }, ...signed }
}

type OfMcp = Pick<
  McpSource,
  'kind' | 'id' | 'url' | 'place' | 'approval' | 'fetching' | 'folders' | 'budgets' | 'packed' | 'unverifiable' | 'uris'
>

function mcpOf(entry: SourceEntry, mcp: NonNullable<SourceEntry['mcp']>, absolute: Absolute): OfMcp {
  const place = placeOf(mcp, absolute)
  return {
    kind: 'mcp',
    id: entry.id,
    url: place.kind === 'http' ? place.url : `program:${[place.command, ...place.args].map(encodeURI).join(' ')}`,
    place,
    approval: entry.approval ?? 'required',
    fetching: entry.fetch ?? 'lazy',
    folders: entry.folders ?? false,
    budgets: budgetsOf(entry.budgets),
    packed: entry.packed ?? 'ignore',
    unverifiable: entry.unverifiable ?? 'withhold',
    uris: (entry.uris ?? []).map((named) => {
      if (typeof named === 'string') return { uri: named, isUnverified: false }
      return { uri: named.uri, isUnverified: named.unverified === true }
    }),
  }
}

function placeOf(mcp: NonNullable<SourceEntry['mcp']>, absolute: Absolute): McpPlace {
  if (typeof mcp === 'string') return { kind: 'http', url: mcp }
  return { kind: 'program', command: programOf(mcp.command, absolute), args: mcp.args ?? [] }
}

function budgetsOf(entry: SourceEntry['budgets']): Budgets {
  return {
    fileBytes: entry?.file_bytes ?? 2 ** 24,
    listing: {
      bytes: entry?.listing_bytes ?? 2 ** 26,
      pages: entry?.listing_pages ?? 1000,
      entries: entry?.listing_entries ?? 50_000,
      timeoutMs: entry?.listing_timeout ?? 60_000,
    },
    storedBytes: entry?.stored_bytes ?? 2 ** 30,
    hourlyBytes: entry?.hourly_bytes ?? 200 * 2 ** 20,
  }
}

function askedOf({ ref }: SourceEntry): AskedRef {
  if (typeof ref !== 'object') return ref
  return { range: ref.range, prefix: ref.prefix ?? '', prereleases: ref.prereleases ?? false }
}

function brakesOf({ brakes }: SourceEntry): Brakes {
  return {
    movedTag: brakes?.moved_tag ?? 'hold',
    massDeletion: brakes?.mass_deletion ?? 'hold',
    olderCommit: brakes?.older_commit ?? 'hold',
  }
}

/** The default: every five minutes. */
const PERIOD_MS = 300_000

/** Checking an unchanged folder needs no network. It is also watched, if watching works. */
const FOLDER_PERIOD_MS = 30_000

function scheduleOf({ schedule, every, path }: SourceEntry): Schedule {
  if (schedule !== undefined) return { kind: 'cron', expression: schedule }
  return { kind: 'every', periodMs: every ?? (path === undefined ? PERIOD_MS : FOLDER_PERIOD_MS) }
}

function webhookOf(entry: SourceEntry['webhook'], absolute: Absolute): ConfiguredSource['webhook'] {
  return entry && { provider: entry.provider, secret: referenceOf(entry.secret, absolute) }
}

function signedOf(entry: SignedEntry | undefined, absolute: Absolute): SignedBy | undefined {
  if (entry === undefined) return undefined
  const { require, allowed_signers: signers, keyring, grace: graceMs } = entry
  return {
    require,
    allowedSigners: signers === undefined ? undefined : absolute(signers),
    keyring: keyring === undefined ? undefined : absolute(keyring),
    graceMs,
  }
}
