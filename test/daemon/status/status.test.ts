import { expect, test } from 'vitest'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { statusOf, withFindings } from '../../../src/daemon/status/status.ts'
import type { Status, StatusInput } from '../../../src/daemon/status/status.ts'
import { VERSION } from '../../../src/serve/version.ts'
import { EMPTY_CATALOG, buildCatalog } from '../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import { NOTHING_OUT } from '../../../src/sync/model/decisions/out-of-service.ts'
import type { OutOfService } from '../../../src/sync/model/decisions/out-of-service.ts'
import type { Skill, Standing } from '../../../src/sync/model/skill.ts'
import { SyncError, isSyncErrorCode, mendOf } from '../../../src/sync/model/sync-error.ts'
import { recordAt } from '../../../src/sync/store/source-records.ts'
import { disableRule } from '../../support/decided.ts'
import { numbered, snapshotOf, sourceId } from '../../sync/store/samples.ts'

const NOON = '2026-06-15T12:00:00.000Z'
const TEAM = sourceId('team')
const COMMIT = snapshotOf().revision.commit

test('before anything was pulled a source has neither a commit nor a time', () => {
  const status = statusOf(input({}))

  expect(plain(status)).toEqual({
    version: VERSION,
    state: '/state',
    lock: { file: '/etc/skills.lock', use: 'follow', isThere: false, followed: 0 },
    servedLost: [],
    generation: 0,
    skills: 0,
    sources: [
      {
        id: 'team',
        kind: 'git',
        url: 'https://git.example.com/skills.git',
        ref: 'main',
        update: 'auto',
        lock: { state: 'missing' },
        decision: {},
        mismatched: 0,
        tally: { seen: 0, links: 0, served: 0, partly: 0, waiting: 0, disabled: 0, withheld: 0 },
        unservedContracts: 0,
        verdicts: [],
        findings: [],
      },
    ],
    collisions: { count: 0, names: [] },
    problems: [],
  })
})

test('a source says which commit is served, which one upstream was at, and when', () => {
  const revision = snapshotOf().revision
  const record = { lastAttempt: NOON, lastSuccess: NOON, problem: undefined, revision }

  const status = statusOf(input({ catalog: catalogOf(skill('served', [])), recordOf: () => record }))

  expect(status).toMatchObject({
    generation: 7,
    skills: 1,
    sources: [{ served: { commit: COMMIT, ref: 'refs/heads/main' }, upstream: { commit: COMMIT, at: NOON } }],
  })
})

test('what is served of a place where the source was before is told as that', () => {
  const [source] = statusOf(
    input({
      config: config('https://git.example.com/b.git'),
      catalog: catalogOf(skill('served', [])),
    }),
  ).sources

  expect(source).toMatchObject({
    url: 'https://git.example.com/b.git',
    served: { commit: COMMIT, url: 'https://git.example.com/skills.git' },
  })
  expect(source?.upstream).toBeUndefined()
})

test('a problem comes with what a person can try', () => {
  const error = new SyncError('tls-failed', 'Cannot reach "team": the certificate is expired')
  const problem = { code: error.code, message: error.message }
  const record = { lastAttempt: NOON, lastSuccess: undefined, problem, revision: undefined }

  const [source] = statusOf(input({ recordOf: () => record })).sources

  expect(source).toMatchObject({ lastAttempt: NOON, problem: { ...problem, fix: mendOf({ code: 'tls-failed' }) } })
  expect(source?.upstream).toBeUndefined()
  expect(isSyncErrorCode(source?.problem?.code ?? '')).toBe(true)
})

test.each([
  ['awaiting-approval', {}, false],
  ['dns-failed', {}, true],
  ['dns-failed', { noPoll: true }, false],
  ['held', {}, true],
] as const)('a hold after the pull ends what waited, and what no host is asked for: %s, %o', (code, hold, isShown) => {
  const record = { lastAttempt: NOON, lastSuccess: NOON, problem: { code, message: 'm' }, revision: undefined }
  const decisions = new Map([[sourceId('team'), { hold: { ...hold, at: NOON } }]])

  const [source] = statusOf(input({ recordOf: () => record, decisions })).sources

  expect(source?.problem !== undefined).toBe(isShown)
})

test('a link to nothing is called that where a skill of its name is served, and stands behind what is withheld', () => {
  const served = { ...skill('served', []), path: 'a/pdf', name: 'pdf' }
  const [link, other] = [linkToNothing('.agent/pdf'), linkToNothing('.agent/xls')]

  const [source] = statusOf(input({ catalog: catalogOf(served, link, other) })).sources

  expect(source?.tally).toMatchObject({ seen: 3, served: 1, withheld: 1, links: 1 })
  expect(source?.verdicts.map(({ path, reasons }) => [path, reasons.map(({ code }) => code)])).toEqual([
    ['.agent/pdf', ['stray-link', 'link-refused']],
    ['.agent/xls', ['link-refused']],
  ])
})

test('the parts of a tally add up, and the skills that are not simply served come first', () => {
  const catalog = catalogOf(
    skill('served', []),
    skill('served', ['noted']),
    skill('unlisted', ['unlisted']),
    skill('withheld', ['withheld']),
    skill('tools', ['tools']),
  )

  const [source] = statusOf(input({ catalog })).sources

  expect(source?.tally).toEqual({ seen: 5, links: 0, served: 2, partly: 2, waiting: 0, disabled: 0, withheld: 1 })
  expect(source?.verdicts.map(({ state, reasons }) => [state, reasons.at(-1)?.message])).toEqual([
    ['withheld', 'withheld'],
    ['partly', 'unlisted'],
    ['partly', 'tools'],
    ['served', 'noted'],
  ])
})

test('a skill that is disabled counts as nothing else, and its folder is named, there or not', () => {
  const served = skill('served', [])
  const outOfService = disabledAt(served.path, 'gone')

  const [source] = statusOf(input({ catalog: catalogOf(served, skill('served', [])), outOfService })).sources

  expect(source?.tally).toEqual({ seen: 2, links: 0, served: 1, partly: 0, waiting: 0, disabled: 1, withheld: 0 })
  expect(source?.verdicts).toMatchObject([
    { path: served.path, state: 'disabled', reasons: [{ fix: `skillsyncd enable team/${served.path}` }] },
    { path: 'gone', state: 'disabled', reasons: [{ fix: 'skillsyncd enable team/gone' }] },
  ])
})

test('however many skills are disabled, a status without its findings stays a line', () => {
  const paths = Array.from({ length: 10_000 }, (_, index) => `folder-${index}`)

  const [source] = statusOf({ ...input({ outOfService: disabledAt(...paths) }), leavesFindings: true }).sources

  expect(source?.verdicts).toEqual([])
})

test('a status without its findings gets the same ones back from the catalog, and the context budget', () => {
  const catalog = catalogOf(skill('withheld', ['withheld']), skill('served', ['noted']))
  const status = statusOf(input({ catalog }))

  const sent = statusOf({ ...input({ catalog }), leavesFindings: true })

  const beside = { kept: new Map(), scans: new Map(), decisions: input({}) }
  expect(sent.sources.map(({ verdicts }) => verdicts)).toEqual([[]])
  const { budget, ...rest } = withFindings(sent, catalog, input({}).config, beside)
  expect(rest).toEqual(status)
  expect(budget?.clients.map(({ client, role }) => `${client} ${role}`)).toEqual([
    'claude-code default',
    'codex default',
    'claude-code smaller',
  ])
})

test('the process that answers says who it is and since when', () => {
  const startedAt = new Date(NOON)

  expect(statusOf(input({ startedAt }))).toMatchObject({
    daemon: { pid: process.pid, startedAt: NOON, locked: false, offline: false },
  })
  expect(statusOf(input({}))).not.toHaveProperty('daemon')
})

test('when a source is polled next is told in UTC, and not of one that is held without polls', () => {
  const nextPolls = new Map([[TEAM, new Date(NOON)]])

  const decisions = new Map([[TEAM, { hold: { noPoll: true as const, at: '2026-06-15T10:00:00.000Z' } }]])

  expect(statusOf(input({ nextPolls })).sources).toMatchObject([{ nextPoll: NOON }])
  expect(statusOf(input({ nextPolls, decisions })).sources[0]?.nextPoll).toBeUndefined()
})

function input(parts: Partial<StatusInput>): StatusInput {
  const none = {
    recordOf: () => recordAt(undefined, { url: '' }),
    decisions: new Map(),
    outOfService: NOTHING_OUT,
    loss: undefined,
    lost: [],
    approvals: [],
    lock: undefined,
    nextPolls: new Map(),
    lookingSince: new Map(),
    fetchedFrom: undefined,
    startedAt: undefined,
    http: undefined,
  }
  return { config: config(), catalog: EMPTY_CATALOG, ...none, ...parts }
}

function config(url = 'https://git.example.com/skills.git'): Config {
  const yaml = `sources:\n  - id: team\n    url: ${url}\n    ref: main\nstate: /state\n`
  const parsed = parseConfig(yaml, '/etc/skillsyncd.yaml', environmentOf({}, '/home/me'))
  if (Array.isArray(parsed)) throw new Error(JSON.stringify(parsed))
  return parsed
}

let last = 0

function skill(standing: Standing, messages: readonly string[]): Skill {
  last += 1
  const { skill } = numbered(last)
  const findings = messages.map((message) => ({ rule: 'name-missing', path: skill.path, message }) as const)
  return { ...skill, standing, findings }
}

function linkToNothing(path: string): Skill {
  const findings = [{ rule: 'link-refused', path, message: 'it leads nowhere' } as const]
  return { ...skill('withheld', []), path, digest: undefined, findings }
}

function catalogOf(...skills: readonly Skill[]): Catalog {
  const snapshot = { ...snapshotOf(), skills }
  return buildCatalog(
    { number: 7, createdAt: NOON, sources: [{ source: snapshot.source, snapshot: '0'.repeat(64) }] },
    [snapshot],
  )
}

/** Without what is undefined, as `--json` prints it. */
function plain(status: Status): unknown {
  return JSON.parse(JSON.stringify(status))
}

/** Each known by its path alone. */
function disabledAt(...paths: readonly string[]): OutOfService {
  return paths.map((path) => disableRule([{ source: TEAM, path }]))
}
