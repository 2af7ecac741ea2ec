import { z } from 'zod'
import { AGENTS } from '../../../features/agent-folders/agents.ts'
import { isKnownScanner, SCANNER_NAMES } from '../../../features/scan/scanner-presets.ts'
import { GATE_AUTH, oneOf, PROGRAM, SECRET } from '../sections/access.ts'
import { SHARED } from '../sections/defaults.ts'
import { QUORUM, WITNESS_RULES } from '../sections/follow.ts'
import { KEPT, LIMITS } from '../sections/limits.ts'
import { FOLLOWED_LOCK } from '../sections/lock.ts'
import { SERVE } from '../sections/serve.ts'
import { HUB, SOURCE } from '../sections/sources.ts'
import {
  addressPrefix,
  branch,
  bytes,
  count,
  cron,
  duration,
  id,
  line,
  logName,
  path,
  percent,
  prose,
  pushUrl,
  serverUrl,
  webUrl,
  witnessKey,
} from './scalars.ts'

// Every key of skillsyncd.yaml, including those of later versions. `config/skillsyncd.schema.json` is generated from
// this.

const DEFAULTS = z.strictObject({
  match: addressPrefix().describe(
    'The addresses of these defaults: those that begin with this, up to a slash or their end. For each key, the longest match wins.',
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

const BUDGET_CHARACTERS = z.int().min(1).max(10_000_000)

const BUDGET = z
  .union([
    BUDGET_CHARACTERS,
    z.strictObject({
      client: z
        .enum(['claude-code', 'codex', 'claude-code-2.0'])
        .describe('The agent whose listing of skills counts. Default: claude-code.')
        .optional(),
      characters: BUDGET_CHARACTERS.optional().describe(
        'The characters for the listing of the pack alone; with `client`, for the whole list of that agent, of which its own skills take a part. `window` is then ignored.',
      ),
      window: z
        .int()
        .min(1)
        .max(1_000_000_000)
        .optional()
        .describe(
          'The context window of the model, in tokens: the limit is then the share of it that the agent gives.',
        ),
    }),
  ])
  .describe('The limit of the listing of the skills: a number of characters for these alone, or the rule of an agent.')

const PACK = z.strictObject({
  id: id().describe('The name of the pack, the last segment of its endpoint /mcp/<id>.'),
  description: prose(1024).optional().describe('The purpose of the pack.'),
  include: z.array(CHOICE).min(1).describe('A skill that matches all fields of one of these belongs to the pack.'),
  exclude: z.array(CHOICE).optional().describe('A skill that matches one of these does not.'),
  budget: BUDGET.optional().describe(
    'A commit that takes the listing of the pack over this limit is held. A number is for the characters of the pack alone; `window` leaves what the own skills of the agent do not take.',
  ),
})

const SCAN_LEVEL = z.enum(['error', 'warning', 'note', 'never']).optional()

const SARIF = z.strictObject({
  refuse: SCAN_LEVEL.describe('The least level of a result that refuses the commit. Default: error.'),
  hold: SCAN_LEVEL.describe('The least level of a result for which the commit waits. Default: warning.'),
})

const RESCAN = z
  .strictObject({
    schedule: cron()
      .optional()
      .describe(
        'The times to scan everything again: a cron expression, in the time zone of the daemon. Or use `every`.',
      ),
    every: duration({ least: '1m', most: '365d' }).optional().describe('The interval to scan everything again.'),
    on_finding: z
      .enum(['withhold', 'alert'])
      .optional()
      .describe(
        'The action for a served skill with a result of level `sarif.refuse`: it goes out of service, or is only reported. Default: withhold.',
      ),
    most_withheld: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'The share of the served skills that scans may take out of service, in percent; above it, an operator decides. Default: 10.',
      ),
  })
  .refine((value) => value.schedule === undefined || value.every === undefined, {
    error: 'is used together with `schedule`; write one of them',
    path: ['every'],
  })

const GATE = z
  .strictObject({
    ...PROGRAM,
    command: PROGRAM.command.optional(),
    scanner: z
      .enum(SCANNER_NAMES)
      .optional()
      .describe(
        'A scanner that is known by name, or `command` for any other one that writes SARIF. It runs for the folder of each new or changed skill; `args` are added to those that it needs.',
      ),
    sarif: SARIF.optional().describe(
      'The levels of the results of a scanner. Without `scanner`, the command is one that writes SARIF.',
    ),
    rules: z
      .array(path())
      .max(100)
      .optional()
      .describe(
        'The files and folders with the rules of the scanner. A change in them ends the use of earlier scans; `semgrep` is given each as `--config`.',
      ),
    version_args: z
      .array(line())
      .min(1)
      .max(100)
      .optional()
      .describe(
        'The arguments with which the scanner prints its version and that of its rules. Another output ends the use of earlier scans.',
      ),
    rescan: RESCAN.optional().describe('Scans all served skills again when the rules change, and at set times.'),
    url: webUrl().optional().describe('The address that gets the candidate, as a POST.'),
    auth: GATE_AUTH.optional().describe('The credential for that address.'),
    timeout: duration().optional().describe('The time limit. Default: 10s.'),
    on_failure: z.enum(['refuse', 'publish']).optional().describe('The action if it gives no answer. Default: refuse.'),
  })
  .refine((value) => value.command !== undefined || isKnownScanner(value.scanner) || value.url !== undefined, {
    error: 'needs exactly one of `command`, `url`, or a `scanner` that is known by name',
  })
  .refine((value) => value.url === undefined || (value.command === undefined && value.scanner === undefined), {
    error: 'needs exactly one of `command`, `url`, or a `scanner` that is known by name',
  })

const AGENT = z.enum(AGENTS.map((agent) => agent.id))

const KEPT_FOLDER = z
  .strictObject({
    agent: AGENT.optional().describe('The agent that owns the folder.'),
    to: path().optional().describe('The path of the folder, for a program that reads skills from it.'),
    copy: z.boolean().optional().describe('Copies instead of links. Default: false.'),
  })
  .refine(...oneOf('agent', 'to'))

const PUBLICATION = z
  .strictObject({
    git: pushUrl()
      .optional()
      .describe('A git repository, http(s) only: the marketplace is pushed to a branch of it, and never with force.'),
    to: path()
      .optional()
      .describe('A folder: the channel is written to it, for any web server or for a disk to carry; needs `channel`.'),
    branch: branch().optional().describe('The branch, which is created if it does not exist. Default: main.'),
    pack: id().optional().describe('The skills of this pack only. Default: everything that is served.'),
    ring: id().optional().describe('With `to`: the content of this ring. Default: the last one.'),
    auth: SHARED.auth,
    ca: SHARED.ca,
    proxy: SHARED.proxy,
  })
  .refine(...oneOf('git', 'to'))

const WITNESS = z.strictObject({
  url: serverUrl().describe('The address of the witness: checkpoints are sent to add-checkpoint below it.'),
  key: witnessKey().describe('The public key of the witness.'),
})

const CHANNEL = z
  .strictObject({
    name: logName().describe(
      'The name of the log, for followers: the address of the channel without https://. Followers refuse a log with another name.',
    ),
    key: z
      .union([SECRET, z.array(SECRET).min(1).max(8)], {
        error: 'must be { env: NAME }, { file: PATH } or { credential: NAME }, or a list of these',
      })
      .describe(
        'The place that the private key is read from, which skillsyncd channel new-key makes. A list signs with each.',
      ),
    witnesses: z
      .array(WITNESS)
      .min(1)
      .max(16)
      .optional()
      .describe('Witnesses on other machines: a new state is published only once `quorum` of them have cosigned it.'),
    quorum: QUORUM.optional(),
  })
  .refine(...WITNESS_RULES.enough)
  .refine(...WITNESS_RULES.distinct)

const STORE = z.strictObject({
  postgres: z
    .strictObject({
      url: SECRET.describe(
        'The place that the address is read from, postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full.',
      ),
    })
    .describe('The PostgreSQL database that all processes of the hub use.'),
})

const AUDIT = z.strictObject({
  enabled: z.boolean().optional().describe('false: nothing is written. Default: true.'),
  bytes: bytes()
    .optional()
    .describe('Total size of one file of each kind, before the next files are begun. Default: 8MiB.'),
  files: count()
    .optional()
    .describe('Files kept of each kind. The record has at most this number times `bytes`. Default: 8.'),
})

const USAGE = z.strictObject({
  enabled: z.boolean().optional().describe('false: no use is counted. Default: true.'),
  principals: z
    .boolean()
    .optional()
    .describe('true: the use of each principal is counted too, by the id of its token. Default: false.'),
  days: count(3_650).optional().describe('Days that are kept. Default: 400.'),
  otlp: z
    .boolean()
    .optional()
    .describe(
      'true: POST /v1/logs takes the telemetry of Claude Code in OTLP, and counts the skills that it activates, and those that it cannot. Default: false.',
    ),
})

const LOG = z.strictObject({
  level: z
    .enum(['error', 'warn', 'info', 'debug'])
    .optional()
    .describe('The lowest level that is written. Default: info.'),
  format: z
    .enum(['auto', 'text', 'json'])
    .optional()
    .describe('auto is text on a terminal and JSON elsewhere. Default: auto.'),
})

const PROGRAMS = z.strictObject({
  git: path().optional().describe('The git program.'),
  ssh: path().optional().describe('The ssh program.'),
  gpg: path().optional().describe('The gpg program.'),
})

/** A principal: the name of a token, or the id that the log and the audit have. */
const PRINCIPAL = line(200)

const RING = z.strictObject({
  id: id().describe('The name of the ring.'),
  groups: z.array(id()).optional().describe('Groups whose principals are in this ring.'),
  principals: z
    .array(PRINCIPAL)
    .optional()
    .describe('Principals in this ring, each by the name of its token or its id.'),
  share: percent()
    .optional()
    .describe('The share of all principals that no ring names, such as 5%. The last ring has the rest.'),
  min_age: duration()
    .optional()
    .describe('The time for which the ring before serves a commit until this one takes it. Default: none.'),
  most_failures: percent()
    .optional()
    .describe(
      'The ring does not take new content of a skill whose share of failed uses is greater by more than this. Default: 5%.',
    ),
  anonymous: z
    .boolean()
    .optional()
    .describe('true: clients without a token are in this ring, and those of skillsyncd mcp. Default: the last ring.'),
})

export const CONFIG = z.strictObject({
  sources: z.array(SOURCE).min(1).optional().describe('The origins of skills, in the order in which they are listed.'),
  follow: HUB.optional().describe(
    'In place of `sources`: a hub whose channel is followed. Its sources are those of this daemon, under the same ids.',
  ),
  defaults: z
    .array(DEFAULTS)
    .optional()
    .describe('Defaults for all sources whose address begins with `match`, unless a source sets the key.'),
  serve: SERVE.prefault({}).describe('The server: addresses, access and forms of the skills.'),
  packs: z.array(PACK).optional().describe('Named selections of skills, each with an endpoint of its own.'),
  groups: z
    .record(id(), z.array(PRINCIPAL))
    .optional()
    .describe('Named lists of principals, for `rings`: each principal by the name of its token or its id.'),
  rings: z
    .array(RING)
    .min(2)
    .max(8)
    .optional()
    .describe(
      'The rings in which commits reach clients, that of the newest content first. Default: all clients get a commit at once.',
    ),
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
    .describe(
      'After each change: the repositories that the marketplace is pushed to, which need `serve.marketplace`, and the folders that the channel is written to, which need `channel`.',
    ),
  channel: CHANNEL.optional().describe(
    'The channel of this hub: what it serves, as files with a signed log that other daemons follow.',
  ),
  state: path()
    .optional()
    .describe('The folder for everything that survives a restart. Default: ~/.local/state/skillsyncd.'),
  store: STORE.optional().describe(
    'What several processes of one hub share, each with a state folder of its own. Only skillsyncd start uses it. Default: nothing is shared.',
  ),
  lock: z
    .union([path(), FOLLOWED_LOCK], { error: 'must be a path, ignore, or { from: { git: … }, every: … }' })
    .optional()
    .describe(
      'The lock file, which is followed if it exists; or ignore: only sources with update: locked follow skills.lock beside this file; or the repository whose file is followed. Default: follow, skills.lock beside this file.',
    ),
  retention: KEPT.prefault({}).describe('The generations that are kept for a rollback.'),
  limits: LIMITS.prefault({}).describe(
    'Limits for content and clients. Above a limit, the request or content is refused, and the limit is named.',
  ),
  gate: GATE.optional().describe('A program or an address that is called before each publish and may refuse it.'),
  audit: AUDIT.optional().describe('The audit log: which client read which skill.'),
  usage: USAGE.optional().describe('The counts of use: how often which skill was read. They stay in the state folder.'),
  log: LOG.optional().describe('The log of the daemon.'),
  programs: PROGRAMS.optional().describe('Programs of this machine. Default: found through PATH.'),
})

/** The output of the schema: checked, with every default filled in, but with no path or secret resolved. */
export type ConfigFile = z.output<typeof CONFIG>
