import { expect, test } from 'vitest'
import { skillLinesOf, tableOf } from '../../../../src/daemon/commands/show/status-table.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { sourceItem } from '../../../../src/daemon/status/items.ts'
import { statusOf } from '../../../../src/daemon/status/status.ts'
import type { SourceStatus } from '../../../../src/daemon/status/status.ts'
import { EMPTY_CATALOG } from '../../../../src/sync/catalog/catalog.ts'
import { NOTHING_OUT } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { mendOf } from '../../../../src/sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../../src/sync/model/sync-error.ts'
import { NO_WAYS } from '../../../../src/sync/model/verdict/verdict.ts'
import type { VerdictCode } from '../../../../src/sync/model/verdict/verdict.ts'
import { sourceId } from '../../../sync/store/samples.ts'
import { objectId } from '../../../sync/upstream/reached.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')
const AT = '2026-06-14T10:00:00.000Z'
const HELD = objectId('1'.repeat(40))
const plain = (_: string, text: string): string => text

test.each([1, 5, 40])('%i sources are as many lines and one, none wider than the terminal', (count) => {
  const sources = Array.from({ length: count }, (_, index) =>
    source({ id: sourceId(`source-${index}`.padEnd(60, 'x')) }),
  )

  const lines = tableOf(sources, { now: NOW, columns: 80, paint: plain })

  expect(lines).toHaveLength(count + 1)
  expect(lines[0]).toMatch(/^ {2}SOURCE +SKILLS +SERVES +UPSTREAM +STATE +POLLED +NEXT$/)
  expect(lines[1]).toMatch(/^ {2}source-0x+… +0 +1111111 +1111111 +up to date +3 min ago +in 2 min$/)
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})

test('a wide terminal has the names whole, and more of the commits', () => {
  const id = sourceId('a-name-that-is-longer-than-most-of-them')

  const [, line] = tableOf([source({ id })], { now: NOW, columns: 140, paint: plain })

  expect(line).toMatch(new RegExp(`^ {2}${id} {2}0 +1{12} {2}1{12} {2}up to date`))
})

test('each skill that is out of service is named below the table, with the reason', () => {
  const tally = { seen: 4, links: 0, served: 1, partly: 1, waiting: 0, disabled: 1, withheld: 1 }
  const about = (path: string, code: VerdictCode, fix: string) => [{ code, place: `team/${path}`, message: 'm', fix }]
  const verdicts: SourceStatus['verdicts'] = [
    { path: 'b', state: 'withheld', ways: NO_WAYS, reasons: about('b', 'name-missing', 'add name:') },
    { path: 'link', state: 'withheld', ways: NO_WAYS, reasons: about('link', 'stray-link', 'Remove the link') },
    { path: 'd', state: 'partly', ways: { ...NO_WAYS, tools: true }, reasons: about('d', 'name-clash', 'rename one') },
    { path: 'c', state: 'disabled', ways: NO_WAYS, reasons: about('c', 'disabled', 'skillsyncd enable team/c') },
    { path: 'a', state: 'served', ways: NO_WAYS, reasons: about('a', 'kept-version', 'fix it') },
    { path: 'e', state: 'served', ways: NO_WAYS, reasons: about('e', 'yaml-comment', 'quote the text') },
  ]
  const broken = source({ id: sourceId('team'), tally, verdicts })

  const [, line] = tableOf([broken], { now: NOW, columns: 80, paint: plain })

  expect(line).toMatch(/^ {2}team +2\/4 +1111111/)
  expect(skillLinesOf([source({}), broken])).toEqual([
    '  - withheld name-missing team/b: m',
    '    add name:',
    '  - partly served name-clash team/d: m',
    '    rename one',
    '  - disabled team/c: m',
    '    skillsyncd enable team/c',
    '  - served kept-version team/a: m',
    '    fix it',
  ])
})

test('what is wrong is told with its fix, once for each kind of it, in whole words', () => {
  const failing = (id: string): SourceStatus => source({ id: sourceId(id), problem: problem('dns-failed', id) })
  const held = source({ id: sourceId('held'), problem: problem('mass-deletion', 'held') })

  const lines = tableOf([held, failing('a'), failing('b')], { now: NOW, columns: 80, paint: plain })

  const text = lines.join('\n').replaceAll(/\n {4,}(?!→)/g, ' ')
  expect(lines.filter((line) => /^[!~] /.test(line)).map((line) => line[0])).toEqual(['!', '~', '~'])
  expect(text).toContain(`→ ${mendOf({ code: 'mass-deletion' })}`)
  expect(text.split(mendOf({ code: 'dns-failed' }))).toHaveLength(2)
  expect(text).toContain(message('a'))
  expect(text).not.toContain(message('b'))
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})

test('"up to date" stands only where both commits are shown, and nobody keeps the source from moving', () => {
  const upstream = { commit: '2'.repeat(40), at: NOW.toISOString() }
  const states = [
    source({}),
    source({ upstream }),
    source({ upstream: undefined }),
    source({ served: undefined }),
    source({ served: undefined, lastAttempt: undefined }),
    source({ decision: { hold: { noPoll: true, at: AT } } }),
    source({ decision: { hold: { commit: HELD, at: AT } } }),
    source({ problem: problem('source-unreachable', 'a') }),
    source({ served: { commit: '1'.repeat(40), ref: 'refs/heads/main', url: 'https://git.example.com/before.git' } }),
    source({ lock: { state: 'followed', commit: '1'.repeat(40) } }),
    source({ lock: { state: 'followed', commit: '1'.repeat(40) }, upstream }),
    source({ lock: { state: 'followed', commit: '1'.repeat(40) }, upstream: undefined }),
    source({ ref: '1'.repeat(40), upstream: undefined }),
  ]

  const lines = states.map((one) => tableOf([one], { now: NOW, columns: 80, paint: plain })[1]!)

  const told = lines.map((line) => line.slice(2).split(/ {2,}/)[4])
  expect(told).toEqual([
    'up to date',
    'behind',
    'not queried yet',
    'nothing served',
    'never pulled',
    'held',
    'held',
    'source-unreachable',
    'behind',
    'up to date',
    'locked',
    'locked',
    'fixed',
  ])
  for (const line of lines.filter((line) => line.includes('up to date'))) expect(line.match(/1{7}/g)).toHaveLength(2)
})

test.each([
  ['well', {}],
  ['retried', { problem: problem('dns-failed', 'a') }],
  ['person', { problem: problem('dns-failed', 'a'), lastSuccess: '2026-06-14T11:59:59.000Z' }],
  ['person', { problem: problem('credentials-rejected', 'a') }],
  ['person', { tally: { seen: 1, links: 0, served: 0, partly: 0, waiting: 1, disabled: 0, withheld: 0 } }],
  ['chosen', { problem: problem('held', 'a'), decision: { hold: { noPoll: true, at: AT } } }],
  ['chosen', { decision: { hold: { commit: HELD, at: AT } } }],
] as const)('a source is "%s" by its problem, its age and what was decided', (urgency, parts) => {
  expect(sourceItem(source(parts), NOW).urgency).toBe(urgency)
})

function problem(code: SyncErrorCode, about: string): NonNullable<SourceStatus['problem']> {
  return { code, message: message(about), fix: mendOf({ code }) }
}

function message(about: string): string {
  return `Cannot resolve "main" in "${about}": this is what is the case with it, and it takes more than one line to say`
}

function source(parts: Partial<SourceStatus>): SourceStatus {
  const yaml = 'sources:\n  - id: team\n    url: https://git.example.com/skills.git\nstate: /state\n'
  const config = parseConfig(yaml, '/etc/skillsyncd.yaml', environmentOf({}, '/home/me'))
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  const [empty] = statusOf({
    config,
    catalog: EMPTY_CATALOG,
    recordOf: () => ({ lastAttempt: undefined, lastSuccess: undefined, problem: undefined, revision: undefined }),
    decisions: new Map(),
    outOfService: NOTHING_OUT,
    loss: undefined,
    lost: [],
    approvals: [],
    lock: undefined,
    nextPolls: new Map([[sourceId('team'), new Date('2026-06-15T12:02:00.000Z')]]),
    lookingSince: new Map(),
    fetchedFrom: undefined,
    startedAt: undefined,
    http: undefined,
  }).sources
  const at = '2026-06-15T11:57:00.000Z'
  return {
    ...empty!,
    served: { commit: '1'.repeat(40), ref: 'refs/heads/main' },
    upstream: { commit: '1'.repeat(40), at },
    lastAttempt: at,
    lastSuccess: at,
    ...parts,
  }
}
