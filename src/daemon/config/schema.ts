import { z } from 'zod'
import { AGENTS } from '../agents/agents.ts'
import { addressPrefix, branch, bytes, count, duration, id, line, path, prose, pushUrl, webUrl } from './scalars.ts'
import { GATE_AUTH, oneOf, PROGRAM } from './schema-access.ts'
import { KEPT, LIMITS } from './schema-limits.ts'
import { SERVE } from './schema-serve.ts'
import { SHARED, SOURCE } from './schema-source.ts'

// Every key of skillsyncd.yaml, including those of later versions. `config/skillsyncd.schema.json` is generated from
// this.

const DEFAULTS = z.strictObject({
  match: addressPrefix().describe(
    'The addresses meant: those that begin with this, up to a slash or their end. For each key the longest match wins.',
  ),
  ...SHARED,
})

const CHOICE = z.strictObject({
  source: line(200).optional().describe('A glob over source ids.'),
  path: line(1024).optional().describe('A glob over skill paths.'),
  name: line(200).optional().describe('A glob over skill names.'),
  tag: line(200).optional().describe('A tag.'),
  plugin: line(200)
    .optional()
    .describe(
      'A glob over the plugins of the marketplace of a source with `marketplace: true`. The authors of the repository choose what is in a plugin.',
    ),
})

const PACK = z.strictObject({
  id: id().describe('The name of the pack, the last segment of its endpoint /mcp/<id>.'),
  description: prose(1024).optional().describe('What it is for.'),
  include: z.array(CHOICE).min(1).describe('Skills that fit one of these, in all that it says, belong to the pack.'),
  exclude: z.array(CHOICE).optional().describe('Skills that fit one of these do not.'),
})

const GATE = z
  .strictObject({
    ...PROGRAM,
    command: PROGRAM.command.optional(),
    url: webUrl().optional().describe('The address to post the candidate to.'),
    auth: GATE_AUTH.optional().describe('How we prove to it who we are.'),
    timeout: duration().optional().describe('How long it may take. Default: 10s.'),
    on_failure: z
      .enum(['refuse', 'publish'])
      .optional()
      .describe('What happens if it gives no answer. Default: refuse.'),
  })
  .refine(...oneOf('command', 'url'))

const AGENT = z.enum(AGENTS.map((agent) => agent.id))

const KEPT_FOLDER = z
  .strictObject({
    agent: AGENT.optional().describe('The agent whose folder it is.'),
    to: path().optional().describe('The path of the folder, for a program that reads skills from it.'),
    copy: z.boolean().optional().describe('Copies in place of links. Default: false.'),
  })
  .refine(...oneOf('agent', 'to'))

const PUBLICATION = z
  .strictObject({
    git: pushUrl()
      .optional()
      .describe('A git repository, http(s) alone: the marketplace is pushed to a branch of it, and never by force.'),
    branch: branch().optional().describe('The branch, which is made where it is not there. Default: main.'),
    pack: id().optional().describe('The marketplace of this pack alone. Default: that of all that is served.'),
    auth: SHARED.auth,
    ca: SHARED.ca,
    proxy: SHARED.proxy,
  })
  .refine(...oneOf('git'))

const AUDIT = z.strictObject({
  enabled: z.boolean().optional().describe('Set to false, nothing is written. Default: true.'),
  bytes: bytes()
    .optional()
    .describe('Size of one file of each kind together, before the next is begun. Default: 8MiB.'),
  files: count().optional().describe('Files kept of each kind. Times bytes, it is the size of the record. Default: 8.'),
})

const LOG = z.strictObject({
  level: z.enum(['error', 'warn', 'info', 'debug']).optional().describe('The least that is written. Default: info.'),
  format: z
    .enum(['auto', 'text', 'json'])
    .optional()
    .describe('Default: auto, which is text on a terminal and JSON elsewhere.'),
})

const PROGRAMS = z.strictObject({
  git: path().optional().describe('The git program.'),
  ssh: path().optional().describe('The ssh program.'),
  gpg: path().optional().describe('The gpg program.'),
})

export const CONFIG = z.strictObject({
  sources: z.array(SOURCE).min(1).describe('Where skills come from, in the order in which they are listed.'),
  defaults: z
    .array(DEFAULTS)
    .optional()
    .describe('What holds for all sources whose address begins alike, unless they say otherwise.'),
  serve: SERVE.prefault({}).describe('How skills are served.'),
  packs: z.array(PACK).optional().describe('Named selections of skills, each with an endpoint of its own.'),
  links: z
    .array(
      z.union([AGENT, KEPT_FOLDER], {
        error: `must be one of ${AGENTS.map((agent) => agent.id).join(', ')}, or { agent: …, copy: … }, or { to: …, copy: … }`,
      }),
    )
    .optional()
    .describe(
      'The folders of agents that the daemon keeps up to date with the catalog, as `skillsyncd link` does once.',
    ),
  publish: z
    .array(PUBLICATION)
    .optional()
    .describe('Where the marketplace goes after each change, besides /marketplace.git; needs `serve.marketplace`.'),
  state: path()
    .optional()
    .describe('The folder that holds all that survives a restart. Default: ~/.local/state/skillsyncd.'),
  lock: path()
    .optional()
    .describe(
      'The lock file, which is followed where it is there; or ignore: skills.lock beside this file is not followed, but by sources with update: locked. Default: follow, skills.lock beside this file.',
    ),
  retention: KEPT.prefault({}).describe('Which generations are kept for going back.'),
  limits: LIMITS.prefault({}).describe(
    'Bounds on what others can make us do. Above one, the thing is refused and named.',
  ),
  gate: GATE.optional().describe('Asked before each publish: a program or an address that may refuse it.'),
  audit: AUDIT.optional().describe('The record of who read what.'),
  log: LOG.optional().describe('What the daemon writes about itself.'),
  programs: PROGRAMS.optional().describe('Programs of this machine. Default: looked up in PATH.'),
})

/** The output of the schema: checked, with every default filled in, but with no path or secret resolved. */
export type ConfigFile = z.output<typeof CONFIG>
