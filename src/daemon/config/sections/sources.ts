import { z } from 'zod'
import { ARCHIVE_FORMATS } from '../../../serve/mcp/resources/derived/archive-cache.ts'
import { isVersionRange } from '../../../sync/model/tag-range.ts'
import { isReplacement } from '../../../sync/skill/lifecycle.ts'
import { isSkillName } from '../../../sync/skill/skill-name.ts'
import {
  bytes,
  count,
  duration,
  folder,
  gitUrl,
  globs,
  id,
  line,
  path,
  ref,
  serverUrl,
  skillUriScalar,
} from '../schema/scalars.ts'
import { oneOf, PROGRAM } from './access.ts'
import { SHARED, WEBHOOK } from './defaults.ts'
import { DIFFERENT_NAMES, FOLLOW, FOLLOW_KEYS, haveOneName, WITNESS_RULES } from './follow.ts'

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

const ORIGIN = {
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

/** The keys that choose the skills of a source. */
export const SELECTION = {
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
    .union([z.boolean(), z.literal('offer')])
    .optional()
    .describe(
      'The x-personal-mcp frontmatter contract. offer: skills that satisfy it are served at resource:// too. true: it is required of every skill. false: it is not used. Default: offer.',
    ),
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

/** The keys of how a source is followed. */
export const FOLLOWING = {
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

const NAMED_URI = z.strictObject({
  uri: skillUriScalar().describe('The URI of the SKILL.md.'),
  unverified: z
    .boolean()
    .optional()
    .describe(
      'true: a server of an older revision declares no files of it; its SKILL.md and the files beside it are trusted as they are read. Default: false.',
    ),
})

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
  uris: z
    .array(z.union([skillUriScalar(), NAMED_URI]))
    .optional()
    .describe('mcp: skills that the server does not list, by their URIs.'),
}

export const SOURCE = z.strictObject({
  id: id().describe('The name of the source and the first segment of its URIs: 1 to 64 of a-z, 0-9 and inner hyphens.'),
  ...ORIGIN,
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

/** The other keys of a source of the hub. The hub chooses its id. */
export const OF_HUB = z.object({ id: id(), ...SELECTION, ...FOLLOWING }).parse({ id: 'channel' })
