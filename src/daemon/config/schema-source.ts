import { z } from 'zod'
import { ARCHIVE_FORMATS } from '../../serve/mcp/resources/derived/archive.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import { isVersionRange } from '../../sync/model/tag-range.ts'
import { HIDDEN_POLICIES } from '../../sync/skill-md/hidden-unicode.ts'
import { isReplacement } from '../../sync/skill-md/lifecycle.ts'
import { isSkillName } from '../../sync/skill-md/skill-name.ts'
import {
  bytes,
  count,
  cron,
  duration,
  folder,
  gitUrl,
  globs,
  id,
  line,
  logKey,
  path,
  ref,
  serverUrl,
  skillUriScalar,
  webUrl,
  witnessKey,
} from './scalars.ts'
import { AUTH, oneOf, PROGRAM, PROXY_AUTH, SECRET } from './schema-access.ts'

// One entry of `sources`, including the keys of later versions: the name of a key never changes.

const TAG_RANGE = z.strictObject({
  range: line(200)
    .refine(isVersionRange, 'must be a range of semantic versions, such as ^2 or >=1.4 <3')
    .describe('A range of semantic versions, such as ^2 or >=1.4 <3. The highest tag in it is followed.'),
  prefix: line(200)
    .regex(/^[^ ~^:?*[\\]*$/, 'must be the beginning of a tag name')
    .optional()
    .describe('The text before the version in the name of the tag, such as v.'),
  prereleases: z.boolean().optional().describe('true: versions such as 2.0.0-rc.1 count too. Default: false.'),
})

const SIGNED = z
  .strictObject({
    require: z.enum(['commit', 'tag', 'both']).describe('The object that one of the signers must have signed.'),
    allowed_signers: path().optional().describe('The keys of the signers, in the allowed-signers form of OpenSSH.'),
    keyring: path().optional().describe('The OpenPGP keys of the signers, armored.'),
    grace: duration()
      .optional()
      .describe(
        'The time after the end of the validity of a key in which an earlier signed object may still appear for the first time. Default: unlimited.',
      ),
  })
  .refine((value) => value.allowed_signers !== undefined || value.keyring !== undefined, {
    error: 'needs `allowed_signers`, `keyring` or both',
  })

const POLICY = z.strictObject({
  'hidden-unicode': z
    .enum(HIDDEN_POLICIES)
    .optional()
    .describe(
      'Invisible characters. note: serve the skill, with a finding. deceptive: withhold it for those that smuggle, reorder or conceal text (tags, bidirectional controls, terminal escapes), note the rest. withhold: withhold it for any. Default: deceptive.',
    ),
})

const BRAKES = z.strictObject({
  moved_tag: z
    .enum(['hold', 'follow'])
    .optional()
    .describe('A tag that names another commit than before. Default: hold.'),
  mass_deletion: z
    .enum(['hold', 'follow'])
    .optional()
    .describe(
      'A commit with no skill where there were some, or (not of a folder) with fewer than half and over five fewer. Default: hold.',
    ),
  older_commit: z
    .enum(['hold', 'follow'])
    .optional()
    .describe('A branch that moves back to a commit before the served one. Default: hold.'),
})

const WEBHOOK = z.strictObject({
  provider: z
    .enum(['github', 'gitlab', 'gitea', 'forgejo', 'generic'])
    .describe('The git host that defines the form of the requests.'),
  secret: SECRET.describe('The place that the secret for the signatures of requests is read from.'),
})

const BUDGETS = z.strictObject({
  file_bytes: bytes()
    .optional()
    .describe('The size of one file whose size the server does not declare. Default: 16MiB.'),
  listing_bytes: bytes().optional().describe('The size of one listing, all of its pages. Default: 64MiB.'),
  listing_pages: count().optional().describe('The pages of one listing. Default: 1000.'),
  listing_entries: count().optional().describe('The entries of one listing. Default: 50000.'),
  listing_timeout: duration().optional().describe('The time limit for one listing. Default: 60s.'),
  stored_bytes: bytes().optional().describe('The size of the stored files of this server. Default: 1GiB.'),
  hourly_bytes: bytes().optional().describe('The bytes fetched from it in an hour. Default: 200MiB.'),
})

const PROXY = z.strictObject({
  url: webUrl().describe('The address of the proxy.'),
  auth: PROXY_AUTH.optional().describe('The credential for the proxy.'),
})

/** The keys of one source that `defaults` can also set, for all sources with a common address prefix. */
export const SHARED = {
  schedule: cron()
    .optional()
    .describe(
      'The times to check for a new commit: a cron expression, in the time zone of the daemon. Or use `every`.',
    ),
  every: duration({ least: '1s', most: '365d' })
    .optional()
    .describe('The interval to check for a new commit, such as 30s, 5m or 1h. Default: 5m; 30s for a folder.'),
  max_age: duration()
    .optional()
    .describe(
      'The age of the last success above which a required source makes the daemon unready. Default: a day, or four times the interval between two checks.',
    ),
  auth: AUTH.optional().describe('The credential for the host. Secrets are named, never written.'),
  signed: SIGNED.optional().describe('Serve only what one of these signers has signed.'),
  policy: POLICY.optional().describe('The action for a skill that breaks a content rule.'),
  brakes: BRAKES.optional().describe('The moves that wait for `skillsyncd approve`, and those that are followed.'),
  marketplace: z
    .boolean()
    .optional()
    .describe(
      'Read the plugin marketplace of the repository as groups of skills, for `plugin` in packs. Default: false.',
    ),
  backend: z
    .enum(['auto', 'embedded', 'system'])
    .optional()
    .describe(
      'The git client: the built-in reader (embedded, not for ssh), or the git program (system). Default: auto, which chooses by the address.',
    ),
  ca: path().optional().describe('Certificates (PEM) to trust for this host besides those of the system.'),
  proxy: z
    .union([z.literal('none'), PROXY], { error: 'must be none, or { url: …, auth: … }' })
    .optional()
    .describe('The proxy for this host, or none. Default: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY define.'),
}

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

const DIFFERENT_NAMES = { error: 'has keys with different names; all keys of a channel have its name' }

const FOLLOW_KEYS = {
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

const FOLLOW = z
  .strictObject(FOLLOW_KEYS)
  .refine(...oneOf('url', 'path'))
  .refine(haveOneName, DIFFERENT_NAMES)
  .refine(...WITNESS_RULES.enough)
  .refine(...WITNESS_RULES.distinct)

const WHERE = {
  url: gitUrl()
    .optional()
    .describe('A git repository: https://…, http://…, ssh://…, git@host:path, or file:///… on this disk.'),
  path: path()
    .optional()
    .describe('A plain folder of skills, for authors. It is watched, and served in its current state.'),
  links: z
    .enum(['inside', 'follow'])
    .optional()
    .describe(
      'For a folder: links in it that lead out of it. Refuse them (inside), or read those that lead to a skill of the same owner as that skill (follow). Default: inside.',
    ),
  mcp: z
    .union([serverUrl(), z.strictObject(PROGRAM)], {
      error: 'must be an http(s) address, or { command: …, args: …, env: … }',
    })
    .optional()
    .describe('Another MCP server that publishes skills: the address of its endpoint, or the program to start.'),
  follow: FOLLOW.optional().describe(
    'The channel of another hub: its skills as they are there, each below the id of its source.',
  ),
}

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
  include: globs().default(['**']).describe('Globs over skill paths: a skill is included if one of these matches.'),
  exclude: globs().default([]).describe('Globs over skill paths: a skill is excluded if one of these matches.'),
  unlisted: globs()
    .default([])
    .describe(
      'Globs over skill paths: a skill is in no list, and clients that know its URI can read it, if one of these matches.',
    ),
  names: z
    .enum(['remap', 'exact'])
    .default('remap')
    .describe(
      'A skill whose name in the frontmatter differs from its folder: serve it under the name, or withhold it.',
    ),
  strict: z
    .boolean()
    .default(false)
    .describe('Refuse a whole commit that contains an invalid skill; the earlier one is still served.'),
  on_broken: z
    .enum(['withhold', 'keep'])
    .default('withhold')
    .describe(
      'A skill that a new commit breaks, for instance by an invalid frontmatter: withhold it, or keep its earlier version until it is mended.',
    ),
  lfs: z
    .enum(['leave-out', 'withhold', 'pointers'])
    .default('leave-out')
    .describe(
      'A file that is a git LFS pointer: omit it, withhold the skill that contains it, or serve the pointer as it is.',
    ),
  nested: z
    .enum(['as-skills', 'as-files'])
    .default('as-skills')
    .describe('A skill inside the folder of a skill: also a skill of its own, or only files of the outer one.'),
  contract: z
    .boolean()
    .optional()
    .describe('Require the x-personal-mcp frontmatter contract of every skill. Default: false.'),
  docs: folder()
    .optional()
    .describe('The folder of the repository that is served at resource://docs/. One source may have it.'),
  archives: z
    .array(z.enum(ARCHIVE_FORMATS))
    .optional()
    .describe('Archives of each skill to offer to clients of older revisions.'),
}

const LIFECYCLE = z
  .strictObject({
    include: globs().min(1).describe('Globs over skill paths: the entry is about the skills that match one of these.'),
    deprecated: z
      .union([z.boolean(), line(300)], { error: 'must be true, false, or the reason as text' })
      .optional()
      .describe('The reason why the skill is deprecated, or true without one; false takes back that of the author.'),
    replaced_by: line(512)
      .refine(isReplacement, 'must be the name of a skill, or a skill:// URI')
      .optional()
      .describe('The name of the skill to use instead, or its skill:// URI.'),
    owner: line(200).optional().describe('The person or team to ask about the skill.'),
    depends_on: z
      .array(line(64).refine(isSkillName, 'must be the name of a skill'))
      .max(64)
      .optional()
      .describe('The names of the skills that it needs, in place of those that the author names.'),
  })
  .refine((entry) => Object.keys(entry).length > 1, { error: 'says nothing: it has only `include`' })

const FOLLOWING = {
  enabled: z.boolean().default(true).describe('false: the source is neither polled nor served. Default: true.'),
  required: z
    .boolean()
    .default(false)
    .describe(
      'true: the daemon is not ready while this source has nothing to serve, or nothing younger than `max_age`. Default: false.',
    ),
  update: z
    .enum(['auto', 'locked', 'review'])
    .default('auto')
    .describe(
      'Follow the ref; move only when the lock moves; or wait for `skillsyncd approve`, also for the first commit. If the lock has the source, only the lock moves it: see `lock`.',
    ),
  lifecycle: z
    .array(LIFECYCLE)
    .max(1000)
    .optional()
    .describe(
      'Statements of yours about skills, which replace those of their authors. Of several entries about a skill, the last one with a key counts.',
    ),
  webhook: WEBHOOK.optional().describe('Accept notifications of the git host at /hooks/<id>.'),
  fallback: id()
    .optional()
    .describe('The id of an mcp source that has the locked skills, in case this repository loses their commit.'),
}

const OF_MCP = {
  approval: z
    .enum(['required', 'none'])
    .optional()
    .describe('mcp: required: each skill waits for `skillsyncd approve`. Default: required.'),
  fetch: z
    .enum(['lazy', 'all'])
    .optional()
    .describe('mcp: fetch a file when a client requests it, or all files at once. Default: lazy.'),
  folders: z
    .boolean()
    .optional()
    .describe(
      'mcp: let `links` and `skillsyncd link` put its skills, scripts included, into the folders of agents. All files are fetched and compared in advance. Default: false.',
    ),
  budgets: BUDGETS.optional().describe('mcp: limits for what is fetched and stored from this server.'),
  unverifiable: z
    .enum(['withhold', 'serve'])
    .optional()
    .describe(
      'mcp: skills whose files the server declares as dynamic; unlisted if they are served. Default: withhold.',
    ),
  packed: z
    .enum(['ignore', 'read'])
    .optional()
    .describe('mcp: skills that an older server offers only as archives. Default: ignore.'),
  uris: z.array(skillUriScalar()).optional().describe('mcp: skills that the server does not list, by their URIs.'),
}

export const SOURCE = z.strictObject({
  id: id().describe('The name of the source and the first segment of its URIs: 1 to 64 of a-z, 0-9 and inner hyphens.'),
  ...WHERE,
  ...SELECTION,
  ...SHARED,
  ...FOLLOWING,
  ...OF_MCP,
})

/** The hub whose channel is the whole configuration of sources. */
export const HUB = z
  .strictObject({
    ...FOLLOW_KEYS,
    update: FOLLOWING.update,
    brakes: SHARED.brakes,
    schedule: SHARED.schedule,
    every: SHARED.every,
    auth: SHARED.auth,
    ca: SHARED.ca,
    proxy: SHARED.proxy,
  })
  .refine(...oneOf('url', 'path'))
  .refine(haveOneName, DIFFERENT_NAMES)
  .refine(...WITNESS_RULES.enough)
  .refine(...WITNESS_RULES.distinct)

const LOCK_FROM = z.strictObject({
  git: gitUrl().describe('The repository that has the lock: the addresses of `url` of a source.'),
  ref: ref().optional().describe('The branch of the merges. Default: the default branch of the repository.'),
  path: folder()
    .refine((text) => text !== '', 'must name a file')
    .default('skills.lock')
    .describe('The file in the repository. Default: skills.lock.'),
  accept: ref()
    .refine(isObjectId, 'must be the full id of a commit')
    .optional()
    .describe('A commit whose lock is taken although it does not continue the one in force: its full id.'),
  auth: SHARED.auth,
  ca: SHARED.ca,
  proxy: SHARED.proxy,
  backend: SHARED.backend,
  signed: SHARED.signed,
  webhook: WEBHOOK.optional().describe('Accept notifications of the git host at /hooks/skills-lock.'),
})

/** The lock of another repository, which is followed in place of a file of this machine. */
export const FOLLOWED_LOCK = z.strictObject({
  from: LOCK_FROM.describe('The file of a git repository that is followed as the lock.'),
  every: duration({ least: '1s', most: '365d' })
    .optional()
    .describe('The interval to check for a new commit. Default: 1m.'),
})

/** The other keys of the repository of a lock, of which no skill is read. */
export const OF_LOCK = z.object({ id: id(), ...SELECTION, ...FOLLOWING }).parse({ id: 'skills-lock' })

/** The other keys of a source of the hub. The hub chooses its id. */
export const OF_HUB = z.object({ id: id(), ...SELECTION, ...FOLLOWING }).parse({ id: 'channel' })
