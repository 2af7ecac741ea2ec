import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/async/clock.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { useIn } from '../../../src/features/usage/answered-use.ts'
import { MOST_CLIENTS, UsageCounts } from '../../../src/features/usage/usage-counts.ts'
import { dayOf, openUsageToRead } from '../../../src/features/usage/usage-database.ts'
import { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import { usageRowsIn } from '../../../src/features/usage/usage-report.ts'
import type { AuditEvent } from '../../../src/serve/audit.ts'
import { Registry } from '../../../src/serve/registry.ts'
import { formsOf } from '../../support/clients/forms.ts'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import { Repository } from '../../support/git/repository.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { serve } from '../../support/served.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { catalogOf } from '../../sync/catalog/catalogs.ts'
import { sample, snapshotOf } from '../../sync/store/samples.ts'

type Call = readonly [method: string, params: object]

const PDF = 'skill://fx/pdf/SKILL.md'
const INNER = 'skill://fx/pdf/inner/SKILL.md'

/** Requests of every kind that lists, loads or reads, and of kinds that do not; some fail, and some do in the pack only. */
const CALLS: readonly Call[] = [
  ...['skills/list', 'dev.skillsyncd/omitted/list', 'resources/list', 'prompts/list'].map((one): Call => [one, {}]),
  ...['resources/templates/list', 'tools/list', 'ping', 'none'].map((one): Call => [one, {}]),
  ...[PDF, 'skill://fx/none/SKILL.md'].map((uri): Call => ['skills/get', { uri }]),
  ['resources/directory/read', { uri: 'skill://fx/pdf' }],
  ...[
    PDF,
    INNER,
    'skill://fx/pdf/ref/a%20b.md',
    'skill://fx/xls/SKILL.md',
    'skill://fx/xls/run.sh',
    'skill://fx/pdf/_manifest',
    'skill://index.json',
    'skill://fx/pdf/none.md',
    'skill://fx/pdf',
    'skill://fx/pdf/%53KILL.md',
    'other://fx',
  ].map((uri): Call => ['resources/read', { uri }]),
  ['resources/read', {}],
  ['skills/list', { cursor: 'none' }],
  ['tools/call', { name: 'list_skills' }],
  ['tools/call', { name: 'search_skills', arguments: { query: 'pdf' } }],
  ...['pdf', 'fx/pdf', 'PDF', 'xls', 'inner', 'none'].map((id): Call => [
    'tools/call',
    { name: 'get_skill', arguments: { id } },
  ]),
  ...['SKILL.md', 'ref/a b.md', 'none'].map((path): Call => [
    'tools/call',
    { name: 'read_skill_file', arguments: { id: 'pdf', path } },
  ]),
  ['tools/call', { name: 'none', arguments: { id: 'pdf' } }],
  ...['init-skills', 'skills-catalog', 'pdf', 'none'].map((name): Call => ['prompts/get', { name }]),
]

/** The count of a line of the audit log, by its words alone. */
function countOf({ asked, of = '' }: AuditEvent): string | undefined {
  if (LISTS.has(asked) || LISTS.has(`${asked} ${of}`)) return 'list'
  const [, tool = '', id = '', path] = /^(get_skill|read_skill_file) (\S+)(?: (.*))?$/.exec(of) ?? []
  if (asked === 'tools/call' && tool !== '')
    return `${tool === 'get_skill' || path === 'SKILL.md' ? 'load' : 'read'} ${skillOfId(id)}`
  if (asked === 'prompts/get') return of === 'init-skills' ? undefined : `load ${skillOfId(of)}`
  if (asked !== 'resources/read') return undefined
  const [, skill = '', file] = /^skill:\/\/(fx\/pdf\/inner|fx\/\w+)\/(.*)$/.exec(of) ?? []
  return `${file === 'SKILL.md' ? 'load' : 'read'} ${skill}`
}

const LISTS: ReadonlySet<string> = new Set([
  'skills/list',
  'dev.skillsyncd/omitted/list',
  'resources/list',
  'prompts/list',
  'resources/read skill://index.json',
  'prompts/get skills-catalog',
  'tools/call list_skills',
  'tools/call search_skills',
])

function skillOfId(id: string): string {
  return { pdf: 'fx/pdf', 'fx/pdf': 'fx/pdf', PDF: 'fx/pdf', xls: 'fx/xls', inner: 'fx/pdf/inner' }[id] ?? ''
}

/** Sends requests one after the other, or in one batch. */
type Asker = (calls: readonly Call[]) => Promise<void>

/** The revision that has batches. */
const BATCHES = '2025-03-26'

async function sendBatch(url: string, session: string, calls: readonly Call[]): Promise<void> {
  const batch = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
  const headers = { 'content-type': 'application/json', accept: 'application/json', 'mcp-session-id': session }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(batch) })
  expect(await answer.json()).toHaveLength(calls.length)
}

const CONFIG = [
  'packs: [{ id: docs, include: [{ source: fx, path: pdf }] }]',
  'serve: { forms: [default, -paths, skill-prompts] }',
]

test('the counts equal the audit log, line by line', { timeout: 1_800_000 }, async () => {
  await using repository = await Repository.create()
  await repository.commit({
    'pdf/SKILL.md': skillText('pdf'),
    'pdf/ref/a b.md': 'a',
    'pdf/inner/SKILL.md': skillText('inner'),
    'xls/SKILL.md': skillText('xls'),
    'xls/run.sh': 'run',
  })
  const events: AuditEvent[] = []
  let usage: UsageRecorder | undefined
  await using served = await serve(repository, {
    config: CONFIG,
    audit: (event) => void events.push(event),
    use: (answered) => usage?.count(answered),
  })
  await using modern = await modernHttp(served.url)
  await using whole = await legacyHttp(served.url, BATCHES)
  await using inPack = await legacyHttp(`${served.url}/docs`, BATCHES)
  const askers: Readonly<Record<string, Asker>> = {
    modern: async (calls) => {
      for (const [method, params] of calls) await modern.call(method, params)
    },
    whole: async (calls) => sendBatch(served.url, whole.session, calls),
    inPack: async (calls) => sendBatch(`${served.url}/docs`, inPack.session, calls),
  }
  const some = (length: number): fc.Arbitrary<Call[]> =>
    fc.array(fc.constantFrom(...CALLS), { minLength: length, maxLength: length })
  const calls = fc.record({ modern: some(10), whole: some(60), inPack: some(30) })
  const day = dayOf(systemClock.now())

  await fc.assert(
    fc.asyncProperty(calls, async (asked) => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'usage.db')
      const expected = new Map<string, number>()
      usage = new UsageRecorder(path, { principals: false, days: 2 }, LOG, systemClock)

      for (const [asker, all] of Object.entries(asked)) {
        events.length = 0
        await askers[asker]?.(all)
        for (const event of events.filter(({ allowed }) => allowed)) {
          const count = countOf(event)
          const key = `${asker === 'inPack' ? 'docs' : ''}: ${count}`
          if (count !== undefined) expected.set(key, (expected.get(key) ?? 0) + 1)
        }
      }

      await usage[Symbol.asyncDispose]()
      using database = openUsageToRead(path)
      const rows = usageRowsIn(database, { from: day, to: dayOf(systemClock.now()) }, ['pack', 'skill', 'client'])
      const counted = rows.flatMap(({ pack, skill, client, lists, loads, reads, failures }) => {
        expect(client).toBe('test')
        return [
          [`${pack ?? ''}: list`, lists],
          [`${pack ?? ''}: load ${skill ?? ''}`, loads],
          [`${pack ?? ''}: read ${skill ?? ''}`, reads],
          // The mistakes of clients are none.
          [`${pack ?? ''}: failure ${skill ?? ''}`, failures],
        ] as const
      })
      expect(new Map(counted.filter(([, count]) => count > 0))).toEqual(expected)
    }),
    { numRuns: lawRuns(1_000, 0.02) },
  )
})

test('a million requests for what is not served, by as many clients, take no memory', { timeout: 600_000 }, () => {
  const registry = new Registry()
  registry.publish(catalogOf(snapshotOf(sample('pdf', { 'SKILL.md': '' }))))
  const known = String(registry.catalog.listed[0]?.uri)
  const serving = { registry, forms: formsOf() }
  const counts = new UsageCounts()
  const ask = (uri: string, client: string): void => {
    const use = useIn({ method: 'resources/read', params: { uri }, serving, client, principal: undefined })
    if (use !== undefined) counts.add(use, { day: '2026-01-01', pack: '', client, principal: client })
  }

  for (let at = 0; at < lawRuns(1_000_000, 0.05); at += 1) ask(`skill://fx/${at}/SKILL.md`, `client ${at}`)
  const ofUnknown = counts.size
  for (let at = 0; at < lawRuns(1_000_000, 0.05); at += 1) ask(known, `client ${at}`)

  expect(ofUnknown).toBe(0)
  // Of each of the first thousand principals, and one for all others.
  expect(counts.size).toBeLessThanOrEqual(1_001)
  const rows = counts.take()
  expect(new Set(rows.map(({ client }) => client)).size).toBe(MOST_CLIENTS + 1)
  expect(rows.reduce((sum, { loads }) => sum + loads, 0)).toBe(lawRuns(1_000_000, 0.05))
})

const LOG = createLog({
  level: 'error',
  stream: process.stderr,
  format: 'json',
  journal: false,
  clock: systemClock,
  redactor: new Redactor(),
})
