import { expect, test } from 'vitest'
import type { PageHost, PathProblems, SourceHealth } from '../../../src/serve/page/page-data.ts'
import { actionOf, countText, entriesIn, problemCount } from '../../../src/serve/page/problem-entries.ts'
import { troubleBanner, troubleCount, troubleOf } from '../../../src/serve/page/source-trouble.ts'
import { emptyReasons } from '../../../src/serve/page/sources-view.ts'
import type { Item } from '../../../src/sync/model/item.ts'
import { VERDICT_STATES } from '../../../src/sync/model/verdict/verdict.ts'
import { sourceId } from '../../sync/store/samples.ts'

const AT = '2026-06-15T12:00:00Z'

/** A source that was pulled, with these differences. */
function health(id: string, more: Partial<SourceHealth> = {}): SourceHealth {
  return {
    id: sourceId(id),
    state: 'served',
    urgency: 'well',
    kind: 'git',
    place: 'https://git.example.com/team',
    ref: undefined,
    update: 'auto',
    lock: undefined,
    served: { commit: 'a'.repeat(40), ref: 'refs/heads/main' },
    signers: [],
    isFixed: false,
    upstream: undefined,
    pending: undefined,
    lastAttempt: AT,
    lastSuccess: AT,
    nextPoll: undefined,
    isLooking: false,
    problem: undefined,
    decisions: [],
    tally: { seen: 0, links: 0, served: 0, partly: 0, waiting: 0, disabled: 0, withheld: 0 },
    form: undefined,
    ...more,
  }
}

const NEW = { state: 'empty', served: undefined, lastAttempt: undefined, lastSuccess: undefined } as const
const FAILED = { code: 'dns-failed', message: 'Cannot resolve "git.example.com"', fix: 'Check the host name' } as const
const WAITS = {
  code: 'awaiting-approval',
  message: 'Cannot serve without approval',
  fix: 'skillsyncd approve',
} as const
const HELD = { code: 'held', message: 'It is held', fix: 'skillsyncd release' } as const
const FAILS = { state: 'failing', urgency: 'retried', problem: FAILED } as const
const PENDING = { id: 'b'.repeat(40), ref: 'refs/heads/main' }

const SOURCES = [
  health('well'),
  health('fails', { ...FAILS, urgency: 'person' }),
  health('again', FAILS),
  health('waits', { state: 'waiting', urgency: 'person', problem: WAITS, pending: PENDING }),
  health('held', { state: 'held', urgency: 'chosen', problem: HELD }),
  health('queued', NEW),
  health('pulls', { ...NEW, isLooking: true }),
  health('lost', { state: 'failing', urgency: 'retried', served: undefined }),
]

function hostOf(sources: readonly SourceHealth[], more: Partial<PageHost> = {}): PageHost {
  return {
    clean: (text) => text.replaceAll('hunter2', '***'),
    now: () => new Date(AT),
    isTokenRequired: false,
    sources: () => sources,
    problems: () => [],
    scanFindings: () => [],
    items: () => [],
    misfits: () => [],
    packBudgets: {},
    decisions: () => [],
    history: async () => [],
    compare: async () => [],
    pending: async () => undefined,
    lastChanges: async () => new Map(),
    ...more,
  }
}

test('a source fails or waits, unless an operator chose its state or its first pull has not ended', () => {
  expect(SOURCES.map((source) => [source.id, troubleOf(source)])).toEqual([
    ['well', undefined],
    ['fails', 'failing'],
    ['again', 'retried'],
    ['waits', 'waiting'],
    ['held', undefined],
    ['queued', undefined],
    ['pulls', undefined],
    ['lost', 'retried'],
  ])
})

test('the banner is one line, names five of many, and is empty without any', () => {
  const failing = (count: number): SourceHealth[] =>
    Array.from({ length: count }, (_, index) => health(`s${index}`, { ...FAILS, urgency: 'person' }))

  const none = troubleBanner(hostOf([health('well')]), './')
  const one = plain(troubleBanner(hostOf(failing(1)), './').html)
  const many = plain(troubleBanner(hostOf(failing(7)), './').html)

  expect(none.html.trim()).toBe('')
  expect(one).toBe('1 source fails: s0.')
  expect(many).toBe('7 sources fail: s0, s1, s2, s3, s4 and 2 more.')
})

test('the banner says of each source what it needs, and names what else needs a person, without a secret', () => {
  const item: Item = { kind: 'token', id: 'hunter2 <b>', state: 'expired', urgency: 'person', problems: [] }
  const moved = health('moved', { urgency: 'person' })

  const { html } = troubleBanner(hostOf([...SOURCES, moved], { items: () => [item] }), './')

  expect(html.match(/<p/g)).toHaveLength(1)
  expect(plain(html)).toBe(
    '1 source fails: fails. 1 source waits for approval: waits. Needs a person: token *** &#60;b&#62;, moved. 2 sources are tried again: again, lost.',
  )
})

test('an empty catalog has the state of each source, those in trouble first, with the reason and the fix', () => {
  const { html } = emptyReasons({ host: hostOf(SOURCES), up: './' })
  const text = plain(html)

  expect(text).toMatch(/^No skill is served yet\./)
  expect(Array.from(html.matchAll(/<section aria-label="Source (\w+)"/g), ([, id]) => id)).toEqual([
    'fails',
    'waits',
    'again',
    'lost',
    'well',
    'held',
    'queued',
    'pulls',
  ])
  expect(text).toMatch(/pulls first pull 0 of 0 skills served nothing polled never/)
  expect(text).toMatch(/queued not pulled yet 0 of 0 skills served nothing/)
  expect(text).toMatch(/fails failing .* dns-failed Cannot resolve "git.example.com" Check the host name/)
  expect(text).toMatch(/waits waits for approval .* awaiting-approval .* Review the changes/)
  expect(text).toContain('run skillsyncd add URL')
})

test('problems stand by the action that they need, and what is tried again, decisions and notes do not count', () => {
  const problem = { code: 'store-failed', message: 'm', fix: 'd' } as const
  const item: Item = { kind: 'writer', id: 'state', state: 'read-only', urgency: 'person', problems: [problem] }
  const reasons = [{ code: 'stray-link', place: 'well/link', message: 'm', fix: 'Remove the link' }] as const
  const problems: readonly PathProblems[] = [
    ...VERDICT_STATES.map((state) => ({ source: sourceId('well'), path: state, state, reasons: [] })),
    { source: sourceId('well'), path: 'link', state: 'withheld', reasons },
    { source: sourceId('well'), path: '', reasons: [] },
  ]
  const unready: Item = {
    ...item,
    kind: 'readiness',
    state: 'not-ready',
    urgency: 'retried',
    problems: [{ ...problem, code: 'not-ready' }],
  }
  const host = hostOf(SOURCES, { items: () => [unready, item], problems: () => problems })

  const entries = entriesIn(host, '')

  expect(entries.map((entry) => [actionOf(entry), nameOf(entry)])).toEqual([
    ['hub', 'store-failed'],
    ['source', 'fails'],
    ['decide', 'waits'],
    ['decide', 'waiting'],
    ['content', 'withheld'],
    ['content', 'partly'],
    ['content', ''],
    ['retried', 'not-ready'],
    ['retried', 'again'],
    ['retried', 'lost'],
    ['decided', 'held'],
    ['decided', 'disabled'],
    ['none', 'served'],
    ['none', 'link'],
  ])
  expect(problemCount(host)).toBe(7)
  expect(countText(entries)).toBe('7 problems, 3 tried again, 2 decisions, 2 notes')
  expect(countText([])).toBe('No problems')
  expect(troubleCount(host)).toBe(2)
})

function nameOf(entry: ReturnType<typeof entriesIn>[number]): string {
  switch (entry.kind) {
    case 'item':
      return entry.problem.code
    case 'source':
      return entry.health.id
    case 'misfit':
      return entry.misfit.code
    case 'skill':
      return entry.problem.path
    default:
      return entry satisfies never
  }
}

function plain(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, '').replaceAll('&#34;', '"')
  return text.replaceAll(/\s+/g, ' ').trim()
}
