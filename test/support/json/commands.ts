import { z } from 'zod'
import { reloadRequest } from '../../../src/daemon/control/process-requests.ts'
import { DISABLED_BY, DISABLED_PLACES } from '../../../src/daemon/status/decision-text.ts'
import { recallReachRequest } from '../../../src/features/channel/recall/recall-requests.ts'
import { resolveRequest } from '../../../src/features/mcp-sources/addition-requests.ts'
import { promoteRequest } from '../../../src/features/rings/ring-requests.ts'
import { scanRequest } from '../../../src/features/scan/scan-request.ts'
import { SCOPES } from '../../../src/serve/principal.ts'
import { DECIDED as HISTORY_ENTRY } from '../../../src/sync/model/decisions/decided.ts'
import {
  Budget,
  CHECKS,
  Change,
  ChangeGroup,
  Commit,
  CommandError,
  DOCS_CHANGE,
  Difference,
  Digest,
  File,
  Folder,
  Generation,
  LockStanding,
  Marketplace,
  Place,
  Problem,
  Provenance,
  Pull,
  RING,
  RingSource,
  SKILL_NAMES,
  Signers,
  Skill,
  Status,
  Time,
  Verdict,
  Verified,
  count,
  text,
  texts,
  yes,
} from './values.ts'

const PACK_ENDS = z.array(
  z.object({
    id: text,
    skills: count.optional(),
    lacks: z.array(z.object({ name: text, neededBy: texts, places: texts })).optional(),
    why: text.optional(),
  }),
)

const PROOF_ENDS = z.array(
  z.object({
    source: text,
    file: text,
    state: z.enum(['written', 'kept', 'removed', 'absent']),
    why: text.optional(),
  }),
)

/** The part of `lock` and `update` about the file. */
const LOCK_FILE = {
  lock: text,
  use: text,
  written: z.boolean(),
  packs: PACK_ENDS.optional(),
  proofs: PROOF_ENDS.optional(),
}

const SPAN = {
  from: text,
  to: text,
  counting: z.boolean(),
  countingSince: text.nullable(),
  daysWithoutCounting: count,
  ofOneProcess: z.boolean(),
}

const DIMENSION = text.nullable().optional()

/** The requests of a skill in its frontmatter, such as `allowed-tools`. */
const REQUESTS = z.record(text, z.unknown())

const NEXT = z.object({ approve: text })

const SHOWN_WAITING = z.object({
  source: text,
  waiting: z.object({
    ref: text,
    commit: Commit,
    tag: Commit.optional(),
    code: text,
    message: text,
    author: text.optional(),
    at: Time.optional(),
    subject: text.optional(),
  }),
  difference: Difference,
  approve: text,
  notShown: texts,
})

const SHOWN_SKILLS = z.object({
  waiting: z.array(
    z.object({
      ...SKILL_NAMES,
      upstream: text.optional(),
      digest: Digest.optional(),
      description: text.optional(),
      requests: REQUESTS,
      files: z.array(z.object({ path: text, size: count, digest: Digest, isProgram: z.boolean() })),
      review: Change,
    }),
  ),
  id: text,
  approve: text,
  notShown: texts,
})

/** Decisions about sources. */
const DECIDED = z.object({
  sources: z.array(
    z.object({
      source: text,
      decision: z.enum(['hold', 'release', 'approve', 'reject']),
      ring: text.optional(),
      commit: Commit.optional(),
      noPoll: yes.optional(),
      reason: text.optional(),
      problem: Problem.optional(),
      pull: Pull.optional(),
    }),
  ),
})

const APPROVED_SKILLS = z.object({
  skills: z.array(z.object({ source: text, path: text, uri: text.optional(), digest: Digest.optional() })),
})

const DISABLED = z.object({
  skills: z.array(
    z.object({
      source: text,
      path: text,
      uri: text.optional(),
      reason: text.optional(),
      already: z.boolean(),
      others: z.object({ count, places: DISABLED_PLACES }),
      recalls: texts.optional(),
      still: DISABLED_BY.optional(),
      disabled: z.boolean(),
    }),
  ),
  unknown: texts,
})

const RECALL = z.object({
  id: text,
  at: Time,
  contents: z.array(Digest),
  reason: text.optional(),
  by: text.optional(),
  revoked: Time.optional(),
  isOwn: z.boolean(),
  via: texts,
  places: z.array(
    z.object({
      source: text,
      path: text,
      servedPath: text.optional(),
      name: text.optional(),
      id: text.optional(),
      document: text.optional(),
    }),
  ),
})

const RECALLED = z.object({
  recalls: z.array(
    z.object({
      recall: RECALL.omit({ isOwn: true, via: true, places: true }),
      isNew: z.boolean(),
      count,
      places: DISABLED_PLACES,
    }),
  ),
  locked: z.array(z.object({ source: text, paths: texts })).optional(),
})

const TOKEN = {
  name: text,
  scopes: z.array(z.enum(SCOPES)),
  packs: texts.optional(),
  created: Time,
  expires: Time.optional(),
  expired: z.boolean(),
}
const NEW_TOKEN = z.object({ ...TOKEN, token: text.optional() })

const LEFT_OUT = z.array(z.object({ source: text, path: text, name: text.optional(), why: text }))

const LINK_ENDS = z.array(
  z.object({
    folder: text,
    uses: z.array(z.object({ agent: text, project: text.optional() })),
    copies: z.boolean(),
    cautions: texts,
    ofUpstream: count,
    skills: z.array(
      z.object({
        name: text,
        end: z.enum(['kept', 'linked', 'copied', 'removed', 'left', 'clash', 'failed']),
        isRenewed: z.boolean().optional(),
        source: text.optional(),
        path: text.optional(),
        uri: text.optional(),
        digest: Digest.optional(),
        standsFor: z.object({ source: text, path: text }).optional(),
        why: text.optional(),
      }),
    ),
  }),
)

/** The links and copies in folders of agents. */
const LINKED = z.object({
  dryRun: z.boolean(),
  folders: LINK_ENDS,
  leftOut: LEFT_OUT,
  config: text.nullable().optional(),
  kept: z.boolean().optional(),
  reloaded: z.boolean().optional(),
})

const STEPS = z.array(z.object({ where: text, text }))

const BACKED_UP = z.object({ path: text, generation: count.nullable(), objects: count, bytes: count })

const FAULTS = z.array(z.object({ path: text, field: text.optional(), message: text }))

const PUBLISHED = z.object({
  url: text,
  branch: text,
  pack: text.optional(),
  kind: z.enum(['pushed', 'unchanged', 'would-push', 'failed']),
  commit: Commit.optional(),
  parent: Commit.optional(),
  tree: text.optional(),
  problem: Problem.optional(),
})

const CHANNEL_WRITTEN = z.object({
  to: text,
  pack: text.optional(),
  ring: text.optional(),
  entries: count,
  objects: count,
  isNew: z.boolean(),
})

/** The command has no result of its own: what it writes is another format, or it serves until it is stopped. */
export const WITHOUT_JSON = ['start', 'mcp', 'hub witness', '--completion'] as const

/**
 * The result of each command and variant. A word in small letters after the name of the command is its first operand, one in
 * capitals any operand.
 */
export const RESULTS: Readonly<Record<string, z.ZodType>> = {
  add: z.object({
    config: text.optional(),
    added: z.array(z.record(text, z.unknown())).describe('Entries of `sources`, as the configuration has them.'),
    reloaded: z.boolean().optional(),
    problems: z.array(Problem).optional(),
  }),
  remove: z.object({ config: text, removed: texts, reloaded: z.boolean() }),
  stop: z.object({ pid: count, isManaged: z.boolean() }),
  status: Status,
  'status --upstream': z.object({
    lock: text,
    use: text,
    sources: z.array(
      z.object({
        source: text,
        state: z.enum(['current', 'moved', 'tag-moved', 'differs', 'missing', 'extra', 'failed']),
        lock: LockStanding.optional(),
        locked: Place.optional(),
        upstream: Place.optional(),
        differences: texts.optional(),
        problem: Problem.optional(),
      }),
    ),
  }),
  'status --rings': z.object({
    rings: z.array(z.object({ ...RING, tokens: texts, hasThoseWithoutToken: z.boolean() })),
  }),
  'status --rings NAME': z.object({
    principal: text,
    ring: text,
    by: z.enum(['name', 'share', 'rest', 'no-token']),
    fraction: z.number().optional(),
    sources: z.array(RingSource),
    channel: z.object({ address: text, log: text, keys: texts.optional() }).optional(),
  }),
  list: z.object({ skills: z.array(Skill) }),
  'list --prompt': z.object({ prompt: text }),
  'list --usage': z.object({
    ...SPAN,
    rows: z.array(
      z.object({
        skill: DIMENSION,
        pack: DIMENSION,
        client: DIMENSION,
        principal: DIMENSION,
        day: DIMENSION,
        lists: count,
        loads: count,
        reads: count,
        failures: count,
      }),
    ),
  }),
  'list --unused': z.object({
    ...SPAN,
    unused: z.array(z.object({ skill: text, uri: text.nullable(), last: text.nullable() })),
  }),
  'list --plugins': Marketplace,
  'list --plugins --as': z.object({
    packs: z.array(z.object({ id: text, include: z.array(z.object({ source: text, plugin: text })) })).optional(),
    sources: z.array(z.object({ id: text, url: text, ref: text.optional(), root: text.optional() })).optional(),
  }),
  'list WORDS': z.object({
    skills: z.array(z.object({ id: text, name: text, source: text, places: texts.optional(), description: text })),
    omitted: count.optional(),
    left: z.array(Skill).optional(),
  }),
  show: Skill,
  why: z.union([Provenance, Skill, z.object({ problems: z.array(Problem) })]),
  sync: z.object({ sources: z.array(Pull), problems: z.array(Problem) }),
  lock: z.object({
    ...LOCK_FILE,
    sources: z.array(
      z.object({
        source: text,
        commit: Commit.optional(),
        ref: text.optional(),
        skills: count.optional(),
        problem: Problem.optional(),
      }),
    ),
  }),
  update: z.object({
    ...LOCK_FILE,
    sources: z.array(
      z.object({
        source: text,
        from: Place.optional(),
        to: Place.optional(),
        signers: Signers.optional(),
        changes: z.array(ChangeGroup).optional(),
        docs: DOCS_CHANGE.optional(),
        sync: Pull.optional(),
        problem: Problem.optional(),
      }),
    ),
    pullRequest: text.optional(),
  }),
  verify: z.object({
    generation: count,
    skills: count,
    deep: z.boolean(),
    compared: count.optional(),
    lock: z.array(z.object({ source: text, ...LockStanding.shape })),
    ...CHECKS,
  }),
  'verify --log': z.object({
    logs: z.array(
      z.object({
        log: text,
        entries: count,
        first: Time.optional(),
        last: Time.optional(),
        served: z.object({ index: count, at: Time }).optional(),
        source: text.optional(),
        pack: text.optional(),
        ring: text.optional(),
      }),
    ),
    ...CHECKS,
  }),
  'verify --proof': z.object({
    log: text.optional(),
    signedBy: texts.optional(),
    entry: z.looseObject({ index: count, at: Time, head: text }).optional(),
    size: count.optional(),
    whole: z.boolean().optional(),
    sources: z
      .array(
        z.object({
          source: text,
          url: text,
          ref: text,
          commit: Commit,
          tag: Commit.optional(),
          signers: Signers.optional(),
        }),
      )
      .optional(),
    skills: z
      .array(
        z.object({
          source: text,
          path: text,
          name: text.optional(),
          standing: text,
          digest: Digest.optional(),
          files: z.array(File),
        }),
      )
      .optional(),
    ...CHECKS,
  }),
  'verify --scan': scanRequest.answer,
  diff: z.object({ a: text, b: text, sources: z.array(Difference) }),
  preview: z.object({
    ...SKILL_NAMES,
    upstream: text.optional(),
    state: Verdict.shape.state,
    approve: text.optional(),
    digest: Digest.optional(),
    requests: REQUESTS,
    content: text,
  }),
  approve: z.union([SHOWN_WAITING, SHOWN_SKILLS, DECIDED, APPROVED_SKILLS, NEXT]),
  reject: z.union([SHOWN_WAITING, DECIDED]),
  hold: DECIDED,
  release: DECIDED,
  rollback: z.object({
    sources: z.array(
      z.object({
        source: text,
        from: Commit.optional(),
        to: Commit,
        ref: text,
        held: z.boolean(),
        skipped: Commit.optional(),
      }),
    ),
    others: z.array(z.object({ source: text, message: text })).optional(),
  }),
  disable: DISABLED,
  'disable --followers': z.object({ recalls: z.array(RECALL) }),
  'disable --followers SKILL': RECALLED,
  'disable --report': recallReachRequest.answer,
  enable: z.union([DISABLED, RECALLED]),
  promote: z.object({ promotions: promoteRequest.answer }),
  log: z.object({
    generations: z.array(Generation),
    decisions: z
      .array(
        z.object({
          decision: HISTORY_ENTRY.shape.decision,
          at: Time,
          by: z.enum(['person', 'scan', 'hub']),
          who: text.optional(),
          source: text.optional(),
          ring: text.optional(),
          skill: text.optional(),
          commit: text.optional(),
          forFollowers: yes.optional(),
          reason: text.optional(),
        }),
      )
      .nullable(),
  }),
  link: z.object({
    agents: z.array(
      z.object({ id: text, title: text, folder: text.nullable(), isHere: z.boolean(), isLinked: z.boolean() }),
    ),
    folders: z.array(Folder),
    leftOut: LEFT_OUT,
  }),
  'link --remove': z.object({
    dryRun: z.boolean(),
    folders: LINK_ENDS,
    config: text.nullable().optional(),
    kept: z.boolean().optional(),
    reloaded: z.boolean().optional(),
  }),
  'link AGENT': LINKED,
  'link --to': LINKED,
  instructions: z.object({ instructions: text }),
  doctor: z.object({ offline: z.boolean(), ...CHECKS }),
  'doctor --connect': z.object({
    url: text,
    eras: z.array(
      z.object({
        era: text,
        client: text,
        steps: z
          .array(
            z.object({
              step: text,
              verdict: z.enum(['ok', 'warn', 'fail']),
              ms: z.number(),
              message: text,
              fix: text.optional(),
            }),
          )
          .optional(),
      }),
    ),
    ...CHECKS,
  }),
  explain: z.object({
    codes: z.array(z.object({ code: text, kind: text, meaning: text, effect: text, fix: text })),
  }),
  reload: reloadRequest.answer,
  'service print': z.object({ files: z.array(z.object({ path: text, text })) }),
  'service install': z.object({
    files: z.array(z.object({ path: text, change: z.enum(['written', 'unchanged']) })),
    notes: texts,
    next: texts,
  }),
  'service verify': z.object({ checks: z.array(z.object({ check: text, ok: z.boolean(), said: texts })) }),
  'service uninstall': z.object({ removed: texts, next: texts }),
  'hub token add': z.union([NEW_TOKEN, z.object({ tokens: z.array(NEW_TOKEN) })]),
  'hub token list': z.object({ tokens: z.array(z.object({ ...TOKEN, lastUsed: Time.optional() })) }),
  'hub token renew': z.object({ name: text, expires: Time.optional() }),
  'hub token revoke': z.object({ name: text, revoked: yes }),
  'hub enroll': z.object({
    url: text,
    name: text,
    token: z.object({ where: text, text }).optional(),
    agents: z.array(z.object({ agent: text, title: text, steps: STEPS })),
  }),
  'hub enroll --write': z.object({
    files: z.array(
      z.object({
        for: text,
        path: text,
        state: z.enum(['as-expected', 'written', 'would-be-written']),
        changed: texts,
      }),
    ),
    manual: z.array(z.object({ agent: text, steps: STEPS })),
    ...z.object(CHECKS).partial().shape,
  }),
  'hub enroll --check': z.object(CHECKS),
  'hub publish': z.object({
    publications: z.array(PUBLISHED),
    channels: z.array(CHANNEL_WRITTEN).optional(),
  }),
  'hub publish --to': z.object({ channels: z.array(CHANNEL_WRITTEN) }),
  'hub channel new-key': z.object({ file: text, key: text }),
  'hub channel keys': z.object({
    keys: z.array(z.object({ key: text, pack: text.optional(), ring: text.optional() })),
  }),
  'hub export': z.looseObject({}).describe('CycloneDX 1.6 or SPDX 2.3: the schemas of these say what is in it.'),
  'hub export --proof': z.object({
    file: text,
    entry: z.object({ index: count }),
    skills: z.array(z.object({ source: text, path: text })).optional(),
  }),
  'store backup': BACKED_UP,
  'store restore': BACKED_UP,
  'store copy': z.object({
    generation: count.nullable(),
    generations: z.array(count),
    leftOut: z.array(count),
    objects: count,
    documents: texts,
  }),
  'store migrate': z.object({ version: count, granted: texts }),
  'mcp-source mirror': z.object({
    skills: z.array(
      z.object({
        source: text,
        path: text,
        files: count,
        bytes: count,
        verified: Verified.optional(),
        problem: Problem.optional(),
      }),
    ),
  }),
  'mcp-source add': z.object({
    sources: z.array(
      z.object({
        source: text,
        spaces: z.array(
          z.object({
            number: count,
            template: text,
            variables: texts,
            name: text.optional(),
            description: text.optional(),
          }),
        ),
        refused: z.array(z.object({ template: text, why: text })),
        problem: Problem.optional(),
      }),
    ),
  }),
  'mcp-source add SOURCE URI': z.object({ skill: resolveRequest.answer }),
  'skill new': z.object({ name: text, file: text }),
  'skill validate': z.object({
    level: text,
    contract: z.boolean(),
    summary: z.object({ skills: count, pass: count, errors: count, warnings: count }),
    skills: z.array(z.object({ path: text, name: text.nullable(), errors: count, warnings: count, pass: z.boolean() })),
    findings: z.array(
      z.object({
        path: text,
        line: count,
        column: count,
        severity: z.enum(['error', 'warning']),
        by: text,
        code: text,
        message: text,
        fix: text,
      }),
    ),
    budget: Budget,
  }),
  'skill project': z.object({
    skills: z.array(
      z.object({
        path: text,
        name: text,
        dropped: texts,
        document: text.optional(),
        base64: text.optional(),
        to: text.optional(),
        status: z.enum(['written', 'unchanged']).optional(),
        nested: texts.optional(),
      }),
    ),
    failed: FAULTS,
  }),
  '--version': z.object({ skillsyncd: text, node: text, platform: text, arch: text }),
}

/** The output of each command that fails before it has a result. */
export const FAILURE = z.object({ error: CommandError, exitStatus: z.int().min(1).max(3) })
