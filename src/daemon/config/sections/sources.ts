import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { McpPlace, McpSource, Schedule, Source } from '../../../sync/model/source.ts'
import { isVersionRange } from '../../../sync/model/tag-range.ts'
import { isReplacement } from '../../../sync/skill/lifecycle.ts'
import { isSkillName } from '../../../sync/skill/skill-name.ts'
import type { ConfiguredSource } from '../config.ts'
import { withDefaults } from '../rules/defaults.ts'
import {
  bytes,
  count,
  duration,
  folder,
  gitUrl,
  globs,
  id,
  later,
  line,
  mapping,
  path,
  ref,
  serverUrl,
  skillUriScalar,
} from '../schema/scalars.ts'
import { accessOf, bearerOf, PROGRAM, programOf, programValuesOf, proxyOf, referenceOf } from './access.ts'
import type { Absolute } from './access.ts'
import { SHARED, WEBHOOK } from './defaults.ts'
import type { DefaultsEntry } from './defaults.ts'
import { channelSourceOf, checkedFollow, FOLLOW, FOLLOW_KEYS } from './follow.ts'

const TAG_RANGE = mapping(() => ({
  range: line(200)
    .refine(isVersionRange, 'must be a range of semantic versions, such as ^2 or >=1.4 <3')
    .describe('A range of semantic versions, such as ^2 or >=1.4 <3; the highest tag in it is followed.'),
  prefix: line(200)
    .regex(/^[^ ~^:?*[\\]*$/, 'must be the beginning of a tag name')
    .optional()
    .describe('The text before the version in the tag, such as v.'),
  prereleases: z.boolean().optional().describe('true: versions such as 2.0.0-rc.1 count too. Default: false.'),
})).transform(({ range, prefix = '', prereleases = false }) => ({ range, prefix, prereleases }))

const BUDGETS = mapping(() => ({
  file_bytes: bytes().optional().describe('One file of undeclared size. Default: 16MiB.'),
  listing_bytes: bytes().optional().describe('One listing, all pages. Default: 64MiB.'),
  listing_pages: count().optional().describe('Its pages. Default: 1000.'),
  listing_entries: count().optional().describe('Its entries. Default: 50000.'),
  listing_timeout: duration().optional().describe('Its time. Default: 60s.'),
  stored_bytes: bytes().optional().describe('The stored files. Default: 1GiB.'),
  hourly_bytes: bytes().optional().describe('What is fetched in an hour. Default: 200MiB.'),
})).transform((entry) => ({
  fileBytes: entry.file_bytes ?? 2 ** 24,
  listing: {
    bytes: entry.listing_bytes ?? 2 ** 26,
    pages: entry.listing_pages ?? 1000,
    entries: entry.listing_entries ?? 50_000,
    timeoutMs: entry.listing_timeout ?? 60_000,
  },
  storedBytes: entry.stored_bytes ?? 2 ** 30,
  hourlyBytes: entry.hourly_bytes ?? 200 * 2 ** 20,
}))

const ORIGIN = {
  url: gitUrl()
    .optional()
    .describe('A git repository: https://…, http://…, ssh://…, git@host:path, or file:///… on this disk.'),
  path: path()
    .optional()
    .describe('A plain folder of skills, for authors: it is watched, and served in its current state.'),
  links: z
    .enum(['inside', 'follow'])
    .optional()
    .describe(
      'With `path`: links that lead out of the folder. inside: they are refused. follow: those to a skill of the same owner are read. Default: inside.',
    ),
  mcp: z
    .union([serverUrl(), z.strictObject(PROGRAM)], {
      error: 'must be an http(s) address, or { command: …, args: …, env: … }',
    })
    .optional()
    .describe('Another MCP server that publishes skills: the address of its endpoint, or the program to start.'),
  follow: FOLLOW.optional().describe('The channel of another hub: its skills as they are there.'),
}

/** The keys that choose the skills of a source. */
const SELECTION = {
  ref: z
    .union([ref(), TAG_RANGE], { error: 'must be text (quote a number), or a tag range { range: …, prefix: … }' })
    .optional()
    .describe(
      'A branch, a tag, refs/…, a full commit id, or a tag range. Default: the default branch of the repository.',
    ),
  root: folder()
    .default('')
    .describe('The folder that skill paths are relative to. Default: the root of the repository.'),
  include: globs().default(['**']).describe('Globs over skill paths: the skills to take.'),
  exclude: globs().default([]).describe('Globs over skill paths: the skills to leave out.'),
  unlisted: globs()
    .default([])
    .describe('Globs over skill paths: these are in no list, and clients that know the URI can read them.'),
  names: z
    .enum(['remap', 'exact'])
    .default('remap')
    .describe('A skill whose name differs from its folder. remap: it has its name. exact: it is withheld.'),
  on_broken: z
    .enum(['keep', 'withhold', 'refuse'])
    .default('keep')
    .describe(
      'A skill that a new commit breaks: its earlier version is served until a commit mends or removes it (of a repository alone), it is withheld, or a commit with an invalid skill is refused as a whole.',
    ),
  lfs: z
    .enum(['leave-out', 'withhold', 'pointers'])
    .default('leave-out')
    .describe(
      'A git LFS pointer. leave-out: the skill is served without it. withhold: the skill is not served. pointers: the pointer is.',
    ),
  nested: z
    .enum(['as-skills', 'as-files'])
    .default('as-skills')
    .describe('A skill in the folder of a skill: also one of its own, or only files of the outer one.'),
  contract: z
    .union([z.boolean(), z.literal('offer')])
    .optional()
    .describe(
      'The x-personal-mcp frontmatter contract. offer: skills that satisfy it are at resource:// too. true: each skill must. false: not used. Default: offer.',
    ),
  docs: folder()
    .optional()
    .describe(
      'The folder of the repository, not of `root`, whose Markdown files are at resource://docs/: up to 5,000 and 64 MiB. One source may have it.',
    ),
}

const LIFECYCLE = later(() =>
  z
    .strictObject({
      include: globs().min(1).describe('Globs over skill paths: the skills that the entry is about.'),
      deprecated: z
        .union([z.boolean(), line(300)], { error: 'must be true, false, or the reason as text' })
        .optional()
        .describe('The reason why they are deprecated, or true; false takes back what the author says.'),
      replaced_by: line(512)
        .refine(isReplacement, 'must be the name of a skill, or a skill:// URI')
        .optional()
        .describe('The name of the skill to use instead, or its skill:// URI.'),
      owner: line(200).optional().describe('The person or team to ask.'),
      depends_on: z
        .array(line(64).refine(isSkillName, 'must be the name of a skill'))
        .max(64)
        .optional()
        .describe('The names of the skills that they need.'),
    })
    .refine((entry) => Object.keys(entry).length > 1, { error: 'says nothing: it has only `include`' })
    .transform(({ include, deprecated, replaced_by: replacedBy, owner, depends_on: dependsOn }) => ({
      include,
      edit: {
        ...(deprecated !== undefined && { deprecated }),
        ...(replacedBy !== undefined && { replacedBy }),
        ...(owner !== undefined && { owner }),
        ...(dependsOn !== undefined && { dependsOn }),
      },
    })),
)

/** The keys of how a source is followed. */
const FOLLOWING = {
  enabled: z.boolean().default(true).describe('false: the source is neither polled nor served. Default: true.'),
  required: z
    .boolean()
    .default(false)
    .describe(
      'true: the daemon is not ready while the source serves nothing, or its last success is older than `max_age`. Default: false.',
    ),
  update: z
    .enum(['auto', 'locked', 'review'])
    .default('auto')
    .describe(
      'auto: the source follows `ref`. review: each commit waits for `skillsyncd approve`, the first one too. locked: only the lock moves it, as it does every source that it has.',
    ),
  lifecycle: z
    .array(LIFECYCLE)
    .max(1000)
    .optional()
    .describe(
      'What you say about skills in place of their authors. Of several entries about a skill, the last one with a key counts.',
    ),
  webhook: WEBHOOK.optional().describe('Polls at once when the git host sends a notification to /hooks/<id>.'),
  fallback: id()
    .optional()
    .describe(
      'With `update: locked`: the id of an mcp source that has the skills if this repository loses their commit.',
    ),
}

const NAMED_URI = mapping(() => ({
  uri: skillUriScalar().describe('The URI of the SKILL.md.'),
  unverified: z
    .boolean()
    .optional()
    .describe('true: for a server that declares no files; the skill is trusted as it is read. Default: false.'),
})).transform(({ uri, unverified = false }) => ({ uri, isUnverified: unverified }))

const OF_MCP = {
  approval: z
    .enum(['required', 'none'])
    .optional()
    .describe(
      'mcp: required: each skill waits for `skillsyncd approve`, and again when its files change. Default: required.',
    ),
  fetch: z
    .enum(['lazy', 'all'])
    .optional()
    .describe('mcp: a file is fetched when a client reads it, or all are at each poll. Default: lazy.'),
  folders: z
    .boolean()
    .optional()
    .describe(
      'mcp: true: `links` puts its skills, scripts included, into the folders of agents; all files are fetched and compared first. Default: false.',
    ),
  budgets: BUDGETS.optional().describe('mcp: limits for this server.'),
  unverifiable: z
    .enum(['withhold', 'serve'])
    .optional()
    .describe(
      'mcp: skills whose files the server declares as dynamic. serve: they are served unlisted. Default: withhold.',
    ),
  packed: z
    .enum(['ignore', 'read'])
    .optional()
    .describe('mcp: skills that an older server offers only as archives. read: they are unpacked. Default: ignore.'),
  uris: z
    .array(z.union([skillUriScalar().transform((uri) => ({ uri, isUnverified: false })), NAMED_URI]))
    .optional()
    .describe('mcp: skills that the server does not list, by their URIs.'),
}

const SOURCE = z.strictObject({
  id: id().describe('The first segment of its URIs, skill://ID/…: 1 to 64 of a-z, 0-9 and inner hyphens.'),
  ...ORIGIN,
  ...SELECTION,
  ...SHARED,
  ...FOLLOWING,
  ...OF_MCP,
})

/** The origins of skills. */
export const SOURCES = z
  .array(SOURCE)
  .min(1)
  .optional()
  .describe('The origins of skills, in the order in which they are listed.')

type SourceEntry = z.output<typeof SOURCE>

/** The hub whose channel is the whole configuration of sources. */
const HUB = later(() =>
  checkedFollow(
    z.strictObject({
      ...FOLLOW_KEYS,
      update: FOLLOWING.update,
      brakes: SHARED.brakes,
      every: SHARED.every,
      auth: SHARED.auth,
      ca: SHARED.ca,
      proxy: SHARED.proxy,
    }),
  ),
)

export const FOLLOWED_HUB = HUB.optional().describe(
  'In place of `sources`: a hub whose channel is followed. Its sources are those of this daemon, under the same ids.',
)

/** Settles entries of the file: their paths are made absolute, and `defaults` give them what they lack. */
export interface Settling {
  readonly absolute: Absolute
  readonly defaults: readonly DefaultsEntry[]
}

/** The enabled sources, each with the access to its host. */
export function sourcesOf(entries: readonly SourceEntry[], settling: Settling): ConfiguredSource[] {
  return entries.filter(({ enabled }) => enabled).map((entry) => configuredOf(entry, settling))
}

/** Each source of the hub, but for its id, which the hub chooses. */
export function followOf(
  { url, path, key, max_age, witnesses, quorum, ...rest }: z.output<typeof HUB>,
  settling: Settling,
): ConfiguredSource {
  const follow = { url, path, key, max_age, witnesses, quorum }
  const { source, ...access } = configuredOf({ ...unselected('channel'), ...rest, follow }, settling)
  return { ...access, source: source.kind === 'channel' ? { ...source, isNamesake: true } : source }
}

/** A git repository that is no entry of `sources`, of which no skill is read. */
export function unreadRepository(
  name: string,
  entry: Pick<SourceEntry, 'url' | 'every'> & Partial<SourceEntry>,
  settling: Settling,
): ConfiguredSource {
  return configuredOf({ ...unselected(name), ...entry }, settling)
}

/** The keys of a source that is written at another place of the file. */
function unselected(name: string) {
  return z.object({ id: id(), ...SELECTION, ...FOLLOWING }).parse({ id: name })
}

/** The address that `defaults` are matched against. */
function addressOf({ url, mcp, follow }: SourceEntry): string {
  return url ?? follow?.url ?? (typeof mcp === 'string' ? mcp : '')
}

/** A source, with the access to its host. */
function configuredOf(written: SourceEntry, { absolute, defaults }: Settling): ConfiguredSource {
  const entry = withDefaults(written, addressOf(written), defaults)
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
  }
}

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
    on_broken: onBroken,
    lfs,
    hidden_unicode: hiddenUnicode = 'deceptive',
    ref,
    lifecycle,
    brakes = 'hold',
  } = entry
  const marketplace = entry.mcp === undefined && entry.marketplace === true
  const taken = { root, include, exclude, unlisted, names, nested, onBroken, lfs }
  const selection = { ...taken, hiddenUnicode, contract, docs, marketplace }
  const moves = { ref, update, brakes, schedule: entry.every ?? usualTimes(entry) }
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
    budgets: entry.budgets ?? BUDGETS.parse({}),
    packed: entry.packed ?? 'ignore',
    unverifiable: entry.unverifiable ?? 'withhold',
    uris: entry.uris ?? [],
  }
}

function placeOf(mcp: NonNullable<SourceEntry['mcp']>, absolute: Absolute): McpPlace {
  if (typeof mcp === 'string') return { kind: 'http', url: mcp }
  return { kind: 'program', command: programOf(mcp.command, absolute), args: mcp.args ?? [] }
}

/** The default: every five minutes. */
const PERIOD_MS = 300_000

/** Checking an unchanged folder needs no network. It is also watched, if watching works. */
const FOLDER_PERIOD_MS = 30_000

function usualTimes({ path }: SourceEntry): Schedule {
  return { kind: 'every', periodMs: path === undefined ? PERIOD_MS : FOLDER_PERIOD_MS }
}

function webhookOf(entry: SourceEntry['webhook'], absolute: Absolute): ConfiguredSource['webhook'] {
  return entry && { provider: entry.provider, secret: referenceOf(entry.secret, absolute) }
}

function signedOf(entry: SourceEntry['signed'], absolute: Absolute): ConfiguredSource['signed'] {
  if (entry === undefined) return undefined
  const { require, allowed_signers: signers, keyring, grace: graceMs } = entry
  return {
    require,
    allowedSigners: signers === undefined ? undefined : absolute(signers),
    keyring: keyring === undefined ? undefined : absolute(keyring),
    graceMs,
  }
}
