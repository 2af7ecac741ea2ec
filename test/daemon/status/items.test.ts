import { expect, test } from 'vitest'
import { resultsOf } from '../../../src/daemon/commands/doctor/status-checks.ts'
import { itemLines, urgentLines } from '../../../src/daemon/commands/show/status.ts'
import { loadItems } from '../../../src/daemon/features.ts'
import { attentionTexts } from '../../../src/daemon/status/items.ts'
import { itemFamily } from '../../../src/daemon/status/metrics/metrics.ts'
import { cleanItem } from '../../../src/daemon/status/page/page-data.ts'
import type { SourceStatus, Status } from '../../../src/daemon/status/status.ts'
import { folderItems } from '../../../src/features/agent-folders/folder-status.ts'
import type { FolderNow } from '../../../src/features/agent-folders/folder-status.ts'
import { explainedCodes } from '../../../src/features/author/explain/code-list.ts'
import { actionOf, entriesIn } from '../../../src/serve/page/problem-entries.ts'
import { troubleBanner } from '../../../src/serve/page/source-trouble.ts'
import { ITEM_STATES } from '../../../src/sync/model/item.ts'
import type { Item, Urgency } from '../../../src/sync/model/item.ts'
import { mendOf } from '../../../src/sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../src/sync/model/sync-error.ts'
import { NO_WAYS } from '../../../src/sync/model/verdict/verdict.ts'
import type { SkillProblem, VerdictCode, VerdictState } from '../../../src/sync/model/verdict/verdict.ts'
import { sourceId } from '../../sync/store/samples.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')
const SINCE = '2026-06-15T11:00:00.000Z'
const LONG_AGO = '2026-06-14T11:00:00.000Z'
const itemsOf = await loadItems()

const SOURCE: SourceStatus = {
  id: sourceId('team'),
  kind: 'git',
  url: 'https://git.example.com/team.git',
  ref: undefined,
  update: 'auto',
  lock: { state: 'missing' },
  decision: {},
  mismatched: 0,
  unservedContracts: 0,
  served: { commit: '1'.repeat(40), ref: 'refs/heads/main' },
  upstream: undefined,
  lastAttempt: SINCE,
  lastSuccess: SINCE,
  nextPoll: undefined,
  lookingSince: undefined,
  problem: undefined,
  tally: { seen: 0, links: 0, served: 0, partly: 0, waiting: 0, disabled: 0, withheld: 0 },
  verdicts: [],
  findings: [],
}

const WELL: Status = {
  version: '1',
  state: '/state',
  generation: 1,
  skills: 1,
  sources: [],
  collisions: { count: 0, names: [] },
  problems: [],
  servedLost: [],
}

const HTTP: NonNullable<Status['http']> = {
  url: 'http://127.0.0.1',
  sessions: 0,
  streams: 0,
  subscribedUris: 0,
  unready: [],
  tokens: { required: true, count: 1 },
}

const FOLDER: FolderNow = {
  folder: '/home/ada/.claude/skills',
  uses: [],
  copies: false,
  only: undefined,
  current: [],
  behind: [],
  gone: [],
  blocked: [],
  blockages: [],
  command: 'skillsyncd link claude-code',
  omitted: [],
}

const RING = { id: 'late', minAgeMs: 0, mostFailures: undefined, share: 1 }
const REPLICAS = { id: 'a', leads: false, processes: [] }

/** A kind and a state, what brings it about, the attention that it needs, and the code of its problem. */
type Case = readonly [Item['kind'], string, Partial<Status> | readonly Item[], Urgency, string?]

const failed = (code: SyncErrorCode) => ({ code, message: 'it fails', fix: mendOf({ code }), since: SINCE })
const about = (more: Partial<SourceStatus>): Partial<Status> => ({ sources: [{ ...SOURCE, ...more }] })
const published = { url: 'https://git.example.com/plugins.git', branch: 'main' }
const lock = { file: '/skills.lock', use: 'follow', isThere: true, followed: 0 } as const
const scans = { scanner: 'words' }

const CASES: readonly Case[] = [
  ['source', 'served', about({}), 'well'],
  ['source', 'served', about({ movedTo: 'https://new.example.com' }), 'person', 'source-moved'],
  ['source', 'failing', about({ problem: failed('dns-failed') }), 'retried', 'dns-failed'],
  ['source', 'failing', about({ problem: failed('ref-not-found') }), 'person', 'ref-not-found'],
  ['source', 'waiting', about({ problem: failed('awaiting-approval') }), 'person', 'awaiting-approval'],
  ['source', 'held', about({ decision: { hold: { noPoll: true, at: SINCE } } }), 'chosen'],
  ['source', 'failing', about({ problem: failed('dns-failed'), lastSuccess: LONG_AGO }), 'person', 'dns-failed'],
  [
    'publication',
    'failing',
    {
      publications: [{ ...published, isCurrent: false, problem: { ...failed('dns-failed'), since: LONG_AGO } }],
    },
    'person',
    'dns-failed',
  ],
  ['source', 'empty', about({ served: undefined, lastAttempt: undefined, lastSuccess: undefined }), 'well'],
  ['decisions', 'lost', { decisionsLost: 'They are gone' }, 'person', 'decisions-lost'],
  ['content', 'lost', { servedLost: [{ source: sourceId('team'), message: 'Gone' }] }, 'person', 'served-lost'],
  ['writer', 'read-only', { readOnly: failed('store-failed') }, 'person', 'store-failed'],
  ['lock', 'unreadable', { lock: { ...lock, error: 'Cannot read it' } }, 'person', 'lock-unreadable'],
  [
    'lock',
    'not-taken',
    { lock: { ...lock, from: { url: 'https://x', path: 'l', problem: failed('history-rewritten') } } },
    'person',
    'history-rewritten',
  ],
  [
    'lock',
    'not-taken',
    { lock: { ...lock, from: { url: 'https://x', path: 'l', problem: failed('dns-failed') } } },
    'retried',
    'dns-failed',
  ],
  ['readiness', 'not-ready', { http: { ...HTTP, unready: [{ why: 'nothing-served' }] } }, 'retried', 'not-ready'],
  ['token', 'unreadable', { http: { ...HTTP, tokens: { required: true } } }, 'person', 'tokens-unreadable'],
  ['token', 'expired', { http: tokens(SINCE) }, 'person', 'token-expiring'],
  ['token', 'expiring', { http: tokens('2026-06-16T00:00:00.000Z') }, 'person', 'token-expiring'],
  ['publication', 'current', { publications: [{ ...published, isCurrent: true }] }, 'well'],
  ['publication', 'under-way', { publications: [{ ...published, isCurrent: false }] }, 'well'],
  [
    'publication',
    'failing',
    { publications: [{ ...published, isCurrent: false, problem: failed('push-refused') }] },
    'person',
    'push-refused',
  ],
  [
    'publication',
    'failing',
    { publications: [{ ...published, isCurrent: false, problem: failed('dns-failed') }] },
    'retried',
    'dns-failed',
  ],
  ['channel', 'current', { channels: [{ isCurrent: true }] }, 'well'],
  ['channel', 'under-way', { channels: [{ pack: 'web', isCurrent: false }] }, 'well'],
  [
    'channel',
    'failing',
    { channels: [{ to: '/media/usb', isCurrent: false, problem: failed('log-unsigned') }] },
    'person',
    'log-unsigned',
  ],
  ['hub', 'unread', { hub: { url: 'https://hub.example.com' } }, 'well'],
  [
    'hub',
    'failing',
    { hub: { url: 'https://hub.example.com', problem: failed('credentials-rejected') } },
    'person',
    'credentials-rejected',
  ],
  [
    'ring',
    'stopped',
    { rings: [{ ...RING, sources: [{ source: sourceId('team'), problem: { code: 'ring-failures', message: 'm' } }] }] },
    'retried',
    'ring-stopped',
  ],
  [
    'ring',
    'held',
    {
      rings: [
        {
          ...RING,
          sources: [{ source: sourceId('team'), problem: { code: 'held', message: 'm' }, heldAt: SINCE }],
        },
      ],
    },
    'chosen',
    'ring-stopped',
  ],
  ['scanner', 'idle', { scans }, 'well'],
  ['scanner', 'failing', { scans: { ...scans, error: 'no answer' } }, 'retried', 'scan-failed'],
  [
    'scanner',
    'waiting',
    { scans: { ...scans, waiting: { skills: 9, of: 10, mostPercent: 20 } } },
    'person',
    'scan-waiting',
  ],
  [
    'database',
    'away',
    { replicas: { ...REPLICAS, away: { code: 'store-failed', message: 'no route', since: SINCE } } },
    'person',
    'database-away',
  ],
  ['database', 'without-leader', { replicas: REPLICAS }, 'retried', 'leader-missing'],
  ['folder', 'behind', folderItems([{ ...FOLDER, behind: ['pdf'] }], undefined), 'person', 'folder-behind'],
  [
    'folder',
    'blocked',
    folderItems([{ ...FOLDER, blockages: [{ name: 'pdf', why: 'is not ours' }] }], undefined),
    'person',
    'folder-blocked',
  ],
  ['folder', 'unreadable', folderItems([], 'links.json is damaged'), 'person', 'links-damaged'],
]

const SKILLS: readonly Case[] = [
  ['skill', 'waiting', judged('waiting', 'awaiting-approval'), 'person', 'awaiting-approval'],
  ['skill', 'withheld', judged('withheld', 'content-mismatch'), 'person', 'content-mismatch'],
  ['skill', 'withheld', judged('withheld', 'name-missing'), 'retried', 'name-missing'],
  ['skill', 'withheld', about({ findings: [problem('docs-missing')] }), 'retried', 'docs-missing'],
  ['skill', 'disabled', judged('disabled', 'disabled'), 'chosen', 'disabled'],
]

function judged(state: VerdictState, code: VerdictCode): Partial<Status> {
  return about({ verdicts: [{ path: 'pdf', state, ways: NO_WAYS, reasons: [problem(code), problem('yaml-comment')] }] })
}

function problem(code: VerdictCode): SkillProblem {
  return { code, place: 'team/pdf', message: 'm', fix: 'f' }
}

test('every state of every kind has a case', () => {
  const shown = [...CASES, ...SKILLS].map(([kind, state]) => `${kind} ${state}`)
  const all = Object.entries(ITEM_STATES).flatMap(([kind, states]) => states.map((state) => `${kind} ${state}`))

  expect(new Set(shown)).toEqual(new Set(all))
})

test.each(CASES.map(named))(
  '$name needs the same attention at every surface',
  ({ kind, state, from, urgency, code }) => {
    const found = itemsIn(from).filter((item) => item.kind === kind)
    const [item] = found
    if (item === undefined) throw new Error('No item')
    const isUrgent = urgency === 'person' || urgency === 'retried'
    const mark = urgency === 'person' ? '!' : '~'
    const host = { items: () => [item], sources: () => [], problems: () => [], misfits: () => [], clean: String }

    const lines = itemLines(item, { now: NOW, paint: (_, text) => text })
    const verdicts = resultsOf(item).map(({ verdict }) => verdict)
    const banner = troubleBanner(host, './').html

    expect(found).toHaveLength(1)
    expect(item).toMatchObject({ state, urgency, problems: code === undefined ? [] : [{ code }] })
    // The service manager, and the sum of the status.
    expect(attentionTexts([item]).map((one) => [one.urgency, one.text.split(': ').at(-1)])).toEqual(
      urgency === 'well' ? [] : [[urgency, `${kind} ${item.id}`]],
    )
    expect(itemFamily([item]).samples.filter(({ value }) => value === 1)).toEqual([
      { labels: { kind, urgency }, value: 1 },
    ])
    expect(verdicts.some((verdict) => verdict === 'warn' || verdict === 'fail')).toBe(isUrgent && code !== undefined)
    // A source has lines, a card and a banner of its own.
    expect(lines.map((line) => line.slice(0, 2))).toEqual(isUrgent && kind !== 'source' ? [`${mark} `, '  '] : [])
    expect(entriesIn(host, '').map(actionOf)).toEqual(actionsFor(kind, code, urgency))
    expect(banner.includes('Needs a person')).toBe(urgency === 'person' && kind !== 'source')
  },
)

test.each(SKILLS.map(named))(
  '$name is a part of its source, and doctor tells it',
  ({ kind, state, from, urgency, code }) => {
    const [source] = itemsIn(from)
    if (source === undefined) throw new Error('No item')

    const [result] = resultsOf(source)

    expect(source.parts).toMatchObject([{ kind, id: 'team/pdf', state, urgency, problems: [{ code }] }])
    expect(result).toMatchObject({ check: code, subject: 'team/pdf' })
    expect(result?.verdict === 'ok').toBe(urgency === 'chosen')
  },
)

function named([kind, state, from, urgency, code]: Case) {
  const name = `${kind} ${state}${code === undefined ? '' : ` (${code})`}`
  return { name, kind, state, from, urgency, code }
}

function itemsIn(from: Case[2]): readonly Item[] {
  return 'map' in from ? from : itemsOf({ ...WELL, ...from }, NOW)
}

function actionsFor(kind: Item['kind'], code: string | undefined, urgency: Case[3]): readonly string[] {
  if (code === undefined || (kind === 'source' && code !== 'source-moved')) return []
  return [urgency === 'person' ? 'hub' : urgency === 'retried' ? 'retried' : 'decided']
}

test('what is wrong with a skill of a source that cannot be reached needs a person all the same', () => {
  const [item] = itemsOf({ ...WELL, ...about({ problem: failed('dns-failed'), movedTo: 'https://new' }) }, NOW)

  expect(item).toMatchObject({ state: 'failing', urgency: 'person' })
})

test('what a person chose is well for doctor, also where something else of the source needs a person', () => {
  const [item] = itemsOf({ ...WELL, ...about({ problem: failed('held'), movedTo: 'https://new' }) }, NOW)

  expect(item && resultsOf(item).map(({ check, verdict }) => [check, verdict])).toEqual([
    ['held', 'ok'],
    ['source-moved', 'warn'],
  ])
})

test('items that name clients, people or machines are for readers who are admitted', () => {
  const items = CASES.flatMap(([, , from]) => itemsIn(from))
  const kinds = new Set(items.filter(({ isPrivate }) => isPrivate === true).map(({ kind }) => kind))

  expect(kinds).toEqual(new Set(['token', 'publication', 'channel', 'hub', 'ring', 'scanner', 'database', 'folder']))
})

test('of many items of a kind, status has the first five and the number of the others', () => {
  const expiring = Array.from({ length: 12 }, (_, at) => ({ name: `ci-${at}`, expires: SINCE }))
  const http = { ...HTTP, tokens: { required: true, count: 12, expiring } }

  const lines = urgentLines(itemsOf({ ...WELL, http }, NOW), { now: NOW, paint: (_, text) => text })

  expect(lines).toHaveLength(11)
  expect(lines.at(-1)).toBe('  7 more of kind token; skillsyncd status --json has all')
})

test('readers of the page see no path of the machine', () => {
  const channels = [
    { to: '/media/usb', isCurrent: false, problem: { ...failed('log-unsigned'), message: 'in "/media/usb"' } },
  ]
  const problem = { ...failed('push-refused'), message: "'/srv/plugins.git' refuses it" }
  const publications = [{ ...published, url: 'file:///srv/plugins.git', isCurrent: false, problem }]
  const scanning = { scanner: 'words', error: '"/opt/scan" is not installed' }

  const shown = itemsOf({ ...WELL, channels, publications, scans: scanning }, NOW).map((item) =>
    cleanItem(item, String),
  )

  expect(JSON.stringify(shown)).not.toMatch(/\/media|\/srv|\/opt/)
  expect(shown[1]).toMatchObject({ kind: 'channel', id: 'in a folder of the hub' })
})

test('each code is explained, and each problem has a next step', () => {
  const known = new Set(explainedCodes().map(({ code }) => code))
  const items = [...CASES, ...SKILLS].flatMap(([, , from]) => itemsIn(from))
  const problems = [...items, ...items.flatMap(({ parts = [] }) => parts)].flatMap((item) => item.problems)

  expect(problems.length).toBeGreaterThan(30)
  expect(problems.filter(({ code }) => !known.has(code))).toEqual([])
  expect(problems.filter(({ fix }) => fix === '')).toEqual([])
})

function tokens(expires: string): NonNullable<Status['http']> {
  return { ...HTTP, tokens: { required: true, count: 1, expiring: [{ name: 'ci', expires }] } }
}
