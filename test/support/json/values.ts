import { z } from 'zod'
import { SYNC_END } from '../../../src/daemon/status/pull-result.ts'
import { TRIGGERS } from '../../../src/sync/model/generation.ts'
import { ITEM_STATES, URGENCIES } from '../../../src/sync/model/item.ts'
import { VERDICT_STATES, WAYS } from '../../../src/sync/model/verdict/verdict.ts'
import { SARIF_LEVELS } from '../../../src/sync/store/scan-records.ts'

// The values that the JSON of several commands has: each is a definition of the schema, under its name.

export const text = z.string()
export const texts = z.array(text)
export const count = z.int().min(0)
export const yes = z.literal(true)

export const Time = named('Time', 'ISO 8601, UTC.', text)

export const Commit = named('Commit', 'The full id of a git object, or the SHA-256 of a listing or a folder.', text)

export const Digest = named('Digest', 'The SHA-256 of a content.', z.string().regex(/^sha256:[0-9a-f]{64}$/))

/** A code is text here: each version may have more of them. */
const code = text.describe('`skillsyncd explain` has its meaning.')

export const Problem = named('Problem', 'Something that is wrong, or that a person should know.', {
  code,
  message: text,
  fix: text.optional().describe('A next step that can be typed or done.'),
  place: text.optional().describe('The skill, source, file or key that it concerns.'),
})

export const CommandError = named('Error', 'The command failed before it had a result.', {
  code: code.optional(),
  message: text,
  fix: text.optional(),
  place: text.optional(),
})

const SourceProblem = named('SourceProblem', 'A problem that lasts.', {
  code,
  message: text,
  place: text.optional(),
  fix: text.optional(),
  credential: text.optional(),
  since: Time.optional(),
})

const Since = named('Since', 'The oldest of the consecutive generations that serve a content.', {
  generation: count,
  createdAt: Time,
  isOldestKept: z.boolean(),
  approvedAt: Time.optional(),
})

const Until = named('Until', 'The end of a skill that was served once.', {
  generation: count,
  next: count,
  at: Time,
  commit: Commit.optional(),
  successor: text.optional(),
})

const VERDICT = {
  state: z.enum(VERDICT_STATES),
  ways: z.object(Object.fromEntries(WAYS.map((way) => [way, z.boolean()]))),
  reasons: z.array(Problem).describe('The one that decides the state first.'),
  since: Since.optional(),
  until: Until.optional(),
}

export const Verdict = named('Verdict', 'The judgement about a skill: how it reaches clients, and why.', VERDICT)

export const Item = z
  .object({
    kind: z.enum(Object.keys(ITEM_STATES)),
    id: text,
    state: z.enum([...new Set(Object.values(ITEM_STATES).flat())]),
    urgency: z.enum(URGENCIES),
    since: Time.optional(),
    problems: z.array(Problem),
    place: text.optional(),
    source: text.optional(),
    isPrivate: yes.optional(),
    get parts() {
      return z.array(Item).optional()
    },
  })
  .meta({ id: 'Item', description: 'The state of one thing: a source, a token, a ring.' })

export const Check = named('Check', 'The result of one check.', {
  check: text,
  subject: text.optional(),
  verdict: z.enum(['ok', 'warn', 'fail', 'unknown']),
  message: text,
  fix: text.optional(),
})

/** The results of the commands that check. */
export const CHECKS = {
  ok: z.boolean(),
  counts: z.object({ ok: count, warn: count, fail: count, unknown: count }),
  checks: z.array(Check),
}

export const Tally = named('Tally', 'The numbers of SKILL.md files by state. Those of states add up to `seen`.', {
  ...Object.fromEntries(VERDICT_STATES.map((state) => [state, count])),
  seen: count,
  links: count,
})

export const Place = named('Place', 'A commit of a source, and the ref that led to it.', {
  ref: text,
  commit: Commit,
  tag: Commit.optional().describe('The id of the tag object.'),
})

const CHANGE = z.enum(['added', 'changed', 'renamed', 'kept', 'no-longer-withheld', 'withheld', 'removed'])

export const ChangeGroup = named('ChangeGroup', 'The changes of one kind: their number, and the first ten.', {
  change: CHANGE,
  count,
  first: z.array(
    z.object({ path: text, was: text.optional(), isUnlisted: yes.optional(), reason: Problem.optional() }),
  ),
})

const FileChange = named('FileChange', 'A file that differs.', {
  path: text,
  change: z.enum(['added', 'changed', 'mode', 'removed']),
  isProgram: z.boolean(),
  size: count,
  digest: Digest,
  diff: z
    .union([z.object({ hunks: z.array(z.object({ from: count, to: count, lines: texts })) }), z.object({ why: text })])
    .optional(),
})

const NOTES = z.array(z.object({ isCritical: z.boolean(), text, values: texts }))

const VERSION = z.object({ path: text, name: text, digest: Digest, keptFrom: Commit.optional() })

export const Change = named('Change', 'A skill that differs between two states of its source.', {
  path: text,
  change: CHANGE,
  name: text,
  from: VERSION.optional(),
  to: VERSION.optional(),
  reason: Problem.optional(),
  isUnlisted: yes.optional(),
  notes: NOTES,
  files: z.array(FileChange),
})

export const DOCS_CHANGE = z.enum(['added', 'changed', 'removed'])

const PLUGIN_SKILLS = z.array(z.object({ path: text, isUnlisted: yes.optional() }))

/** The content of a source on two sides. */
export const Difference = named('Difference', 'The difference of a source between two states.', {
  source: text,
  from: Place.optional(),
  to: Place.optional(),
  changes: z.array(Change).optional(),
  areContentsGone: yes.optional().describe('Names and digests alone are compared.'),
  docs: z
    .object({
      change: DOCS_CHANGE,
      from: Digest.optional(),
      to: Digest.optional(),
      notes: NOTES,
      files: z.array(FileChange),
    })
    .optional(),
  plugins: z
    .array(z.object({ plugin: text, change: DOCS_CHANGE, gains: PLUGIN_SKILLS, loses: PLUGIN_SKILLS }))
    .optional(),
  budget: z.array(z.object({ client: text, unit: text, before: count, after: count, limit: count })).optional(),
  lock: z.lazy(() => LockStanding).optional(),
  problem: Problem.optional(),
})

export const LockStanding = named(
  'LockStanding',
  'The use of the lock for a source.',
  SYNC_END.shape.lock.unwrap().shape,
)

export const Pull = named('Pull', 'The result of a pull of a source.', {
  ...SYNC_END.shape,
  tally: Tally.optional(),
  problem: Problem.optional(),
  lock: LockStanding.optional(),
  changes: z.array(ChangeGroup).optional(),
})

export const Signers = named('Signers', 'The signers of a commit, and of its tag.', {
  commit: z.lazy(() => SIGNER).optional(),
  tag: z.lazy(() => SIGNER).optional(),
})

const SIGNER = z.object({ scheme: z.enum(['ssh', 'openpgp']), principal: text, fingerprint: text })

const OF_COMMIT = { commit: Commit, tag: Commit.optional() }

export const Decision = named('Decision', 'The decisions about a source.', {
  hold: z.object({ reason: text.optional(), at: Time, commit: Commit.optional(), noPoll: yes.optional() }).optional(),
  skipped: z.object({ ...OF_COMMIT, by: z.enum(['rollback', 'reject']) }).optional(),
  approved: z.object(OF_COMMIT).optional(),
  ringHolds: z.record(text, z.object({ reason: text.optional(), at: Time })).optional(),
})

export const Verified = named('Verified', 'The verified files of a skill of another MCP server.', {
  files: count,
  of: count,
  undeclared: count,
  only: z.literal('SKILL.md').optional(),
})

export const SCAN_COUNTS = z.object(Object.fromEntries(SARIF_LEVELS.map((level) => [level, count])))

const FINDING = {
  tool: text,
  rule: text,
  level: z.enum(SARIF_LEVELS),
  message: text,
  file: text.optional(),
  line: count.optional(),
}

export const Scan = named('Scan', 'The last scan of a content.', {
  at: Time,
  counts: SCAN_COUNTS,
  findings: z.array(z.object(FINDING)),
})

export const PLACED_FINDINGS = z.array(z.object({ ...FINDING, skill: text }))

const KeptVersion = named('KeptVersion', 'An earlier version that is served, because a later commit broke the skill.', {
  commit: Commit,
  since: Commit,
  faults: z.array(Problem),
})

/** The members of a skill that each command has which shows one. */
export const SKILL_NAMES = {
  source: text,
  path: text.describe('Its folder, relative to the root of its source.'),
  name: text.optional(),
  uri: text.optional(),
}

export const SKILL = {
  ...SKILL_NAMES,
  id: text.optional().describe('The id in search and the tools, if the skill is offered.'),
  places: texts.optional().describe('The ids of all places with the same content under this name.'),
  upstream: text.optional().describe('Its URI at another MCP server.'),
  description: text.optional(),
  verdict: Verdict,
  lifecycle: z
    .object({
      deprecated: z.union([text, yes]).optional(),
      replacedBy: text.optional(),
      owner: text.optional(),
      dependsOn: texts.optional(),
    })
    .optional(),
  packs: texts.optional(),
  plugins: texts.optional(),
  commit: Commit,
  ref: text,
  kept: KeptVersion.optional(),
  digest: Digest.optional(),
  size: count.optional(),
  contract: z
    .object({
      id: text,
      version: text,
      tags: texts,
      capabilities: texts,
      dependsOn: texts,
      references: z.array(z.object({ id: text, path: text, mimeType: text, title: text.optional() })),
      icons: z.array(z.object({ src: text, mimeType: text.optional(), sizes: texts.optional() })),
      isOffered: yes.optional(),
    })
    .optional(),
  hasUnservedContract: yes.optional(),
  verified: Verified.optional(),
  scan: Scan.optional(),
}

export const File = named('File', 'A file of a skill.', {
  path: text,
  size: count,
  digest: Digest,
  executable: z.boolean(),
})

export const Skill = named('Skill', 'A SKILL.md in its source, served or not.', {
  ...SKILL,
  files: z.array(File).optional().describe('`show` has them, `list` does not.'),
})

export const Provenance = named('Provenance', 'Why a skill is served, or is not.', {
  ...SKILL_NAMES,
  verdict: Verdict,
  digest: Digest.optional(),
  url: text,
  asked: text,
  ref: text,
  commit: Commit,
  tag: Commit.optional(),
  rule: z.object({ root: text, include: text.optional(), unlisted: text.optional(), renamed: z.boolean() }),
  update: z.enum(['auto', 'locked', 'review']),
  decision: Decision,
  upstream: z.object({ uri: text, approved: z.object({ at: Time, by: text }).optional() }).optional(),
  hasUnservedContract: yes.optional(),
  verified: Verified.optional(),
  lock: z.object({
    follows: z.boolean(),
    source: LockStanding,
    state: z.enum(['no-lock', 'source-not-locked', 'not-locked', 'same', 'other']),
    commit: Commit.optional(),
    digest: Digest.optional(),
  }),
  lockOrigin: z.lazy(() => LockOrigin).optional(),
  signers: Signers.optional(),
  kept: KeptVersion.optional(),
  published: z
    .object({
      log: text,
      entry: z.object({ index: count, at: Time }).optional(),
      source: z.object({
        source: text,
        url: text,
        ref: text,
        commit: Commit,
        tag: Commit.optional(),
        signers: Signers.optional(),
      }),
    })
    .optional(),
  rebuiltFrom: text.optional(),
  scan: Scan.optional(),
  nextScan: z.object({ commit: Commit, verdict: z.enum(['hold', 'refuse']), scan: Scan }).optional(),
})

export const LockOrigin = named('LockOrigin', 'The repository whose lock is followed.', {
  url: text,
  ref: text.optional(),
  path: text,
  commit: Commit.optional(),
  at: Time.optional(),
  problem: SourceProblem.optional(),
})

const MASS = z.object({ skills: count, of: count, mostPercent: z.number() })

const SIZE = z.object({ characters: count, tokens: count })

const OVERLAP = z.unknown()

const BUDGET = {
  skills: count,
  clients: z.array(
    z.object({
      client: text,
      role: z.enum(['limit', 'default', 'smaller']),
      window: count.nullable(),
      of: text,
      allowance: z.object({ unit: z.enum(['characters', 'tokens']), limit: count }),
      cost: count,
      skills: count,
      full: SIZE,
      shown: SIZE,
      visibility: z.object({ whole: count, shortened: count, 'name-only': count, omitted: count }),
      affected: z.array(z.object({ id: text, name: text, visibility: text, length: count, kept: count })),
    }),
  ),
  overlaps: z.array(z.object({ a: OVERLAP, b: OVERLAP, likeness: z.number() })),
  allOverlaps: z.boolean(),
}

export const Budget = named('Budget', 'The context budget of a set of skills.', BUDGET)

const PART = { pack: text.optional(), ring: text.optional() }

const MARKETPLACE_FILES = z.array(
  z.object({ path: text, name: text.optional(), plugins: count, isUnread: yes.optional() }),
)

const CARRIED = z.record(text, count)

export const SourceStatus = named('SourceStatus', 'The state of a source.', {
  id: text,
  kind: z.enum(['git', 'directory', 'mcp', 'channel']),
  url: text,
  movedTo: text.optional(),
  ref: text.optional(),
  update: z.enum(['auto', 'locked', 'review']),
  lock: LockStanding,
  decision: Decision,
  mismatched: count,
  form: text.optional(),
  isPrivate: yes.optional(),
  offers: z.object({ templates: count, archives: count }).optional(),
  fetched: z.object({ bytes: count, most: count }).optional(),
  verified: Verified.optional(),
  marketplace: z
    .object({ files: MARKETPLACE_FILES, groups: count, suggested: count, unsupported: count, carried: CARRIED })
    .optional(),
  served: z
    .object({
      commit: Commit,
      ref: text,
      signers: Signers.optional(),
      url: text.optional(),
      rebuiltFrom: text.optional(),
    })
    .optional(),
  upstream: z.object({ commit: Commit, at: Time }).optional(),
  lastAttempt: Time.optional(),
  lastSuccess: Time.optional(),
  nextPoll: Time.optional(),
  lookingSince: Time.optional(),
  problem: SourceProblem.optional(),
  tally: Tally,
  unservedContracts: count,
  verdicts: z.array(z.object({ path: text, ...VERDICT })),
  findings: z.array(Problem),
  scan: z
    .object({
      scanned: count,
      counts: SCAN_COUNTS,
      findings: PLACED_FINDINGS,
      next: z.object({ commit: Commit, verdict: z.enum(['hold', 'refuse']), findings: PLACED_FINDINGS }).optional(),
    })
    .optional(),
})

export const RingSource = named(
  'RingSource',
  'What a ring serves of a source, if the first ring serves another commit.',
  {
    source: text,
    commit: Commit.optional(),
    since: Time.optional(),
    next: Commit.optional(),
    nextAt: Time.optional(),
    problem: Problem.optional(),
    heldAt: Time.optional(),
  },
)

export const RING = {
  id: text,
  minAgeMs: count,
  mostFailures: z.number().optional(),
  share: z.number(),
  sources: z.array(RingSource),
}

export const Folder = named('Folder', 'A folder of agents with links or copies.', {
  folder: text,
  uses: z.array(z.object({ agent: text, project: text.optional() })),
  copies: z.boolean(),
  only: z.object({ sources: texts, skills: texts }).optional(),
  current: texts,
  behind: texts,
  gone: texts,
  blocked: texts,
  blockages: z.array(z.object({ name: text, why: text, fix: text.optional() })),
  command: text,
  omitted: texts,
})

const PROBLEM_OF_SKILLS = z.object({
  code,
  severity: text.optional(),
  message: text,
  fix: text.optional(),
  skills: z.array(z.object({ id: text, source: text, path: text })),
})

export const Status = named('Status', 'The state of everything.', {
  version: text,
  state: text,
  generation: count,
  skills: count,
  sources: z.array(SourceStatus),
  items: z.array(Item),
  folders: z.array(Folder),
  isUnjudged: yes.optional(),
  collisions: z.object({ count, names: z.array(z.object({ name: text, count, uris: texts })) }),
  problems: z.array(PROBLEM_OF_SKILLS),
  budget: z
    .object({ ...BUDGET, packs: z.array(z.object({ ...BUDGET, pack: text, isLimited: z.boolean() })) })
    .optional(),
  lock: z
    .object({
      file: text,
      use: text,
      isThere: z.boolean(),
      error: text.optional(),
      followed: count,
      from: LockOrigin.optional(),
    })
    .optional(),
  decisionsLost: text.optional(),
  servedLost: z.array(z.object({ source: text, message: text })),
  scans: z
    .object({
      scanner: text,
      running: z.object({ done: count, of: count }).optional(),
      last: z.object({ at: Time, scanned: count, counts: SCAN_COUNTS, failed: count, refused: count }).optional(),
      error: text.optional(),
      waiting: MASS.optional(),
      next: Time.optional(),
    })
    .optional(),
  publications: z
    .array(
      z.object({
        url: text,
        branch: text,
        pack: text.optional(),
        isCurrent: z.boolean(),
        commit: Commit.optional(),
        pushedAt: Time.optional(),
        problem: SourceProblem.optional(),
        nextAttempt: Time.optional(),
      }),
    )
    .optional(),
  channels: z
    .array(
      z.object({
        to: text.optional(),
        ...PART,
        isCurrent: z.boolean(),
        entries: count.optional(),
        problem: SourceProblem.optional(),
      }),
    )
    .optional(),
  hub: z.object({ url: text, problem: SourceProblem.optional() }).optional(),
  rings: z.array(z.object(RING)).optional(),
  daemon: z.object({ pid: count, startedAt: Time, locked: z.boolean(), offline: z.boolean() }).optional(),
  elsewhere: z.object({ pid: count, command: text, isAlive: z.boolean(), silent: text.optional() }).optional(),
  readOnly: SourceProblem.optional(),
  replicas: z
    .object({
      id: text,
      leads: z.boolean(),
      leader: z.object({ id: text, since: Time }).optional(),
      processes: z.array(
        z.object({
          id: text,
          machine: text,
          version: text,
          startedAt: Time,
          seenAt: Time,
          generation: count,
          isLiving: z.boolean(),
          hasOtherConfig: z.boolean(),
        }),
      ),
      away: z.object({ code, message: text, since: Time }).optional(),
    })
    .optional(),
  http: z
    .object({
      url: text,
      sessions: count,
      streams: count,
      subscribedUris: count,
      operations: z.object({ url: text }).optional(),
      unready: z.array(
        z.object({
          source: text.optional(),
          why: z.enum(['nothing-served', 'never-answered', 'too-old']),
          age: z.number().optional(),
          limit: z.number().optional(),
        }),
      ),
      tokens: z.object({
        required: z.boolean(),
        count: count.optional(),
        expiring: z.array(z.object({ name: text, expires: Time })).optional(),
      }),
    })
    .optional(),
})

export const Marketplace = named('Marketplace', 'The plugins in the repository of a source.', {
  source: text,
  commit: Commit,
  files: MARKETPLACE_FILES,
  groups: z.array(z.object({ name: text, version: text.optional(), path: text, skills: texts, carried: CARRIED })),
  suggested: z.array(
    z.object({ name: text, url: text, ref: text.optional(), sha: text.optional(), path: text.optional() }),
  ),
  unsupported: z.array(z.object({ name: text, kind: text })),
  renames: z.array(z.object({ from: text, to: text.nullable() })),
})

export const Generation = named('Generation', 'What was served between two changes.', {
  generation: count,
  createdAt: Time.optional(),
  served: z.boolean(),
  kept: z.boolean(),
  cause: z
    .object({
      action: z.enum(['update', 'rollback', 'withdraw', 'promote']),
      trigger: z.enum(TRIGGERS),
      source: text.optional(),
      rewritten: yes.optional(),
    })
    .optional(),
  damage: texts,
  sources: z
    .array(
      z.object({
        source: text,
        from: Commit.optional(),
        to: Commit.optional(),
        changes: z.array(ChangeGroup),
        docs: DOCS_CHANGE.optional(),
      }),
    )
    .optional(),
})

/** Gives a value its name in the schema. */
function named<Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape): z.ZodObject<Shape>
function named<Form extends z.ZodType>(id: string, description: string, form: Form): Form
function named(id: string, description: string, form: z.ZodType | z.ZodRawShape): z.ZodType {
  return (form instanceof z.ZodType ? form : z.object(form)).meta({ id, description })
}
