import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { MOST_CLIENTS, MOST_PRINCIPALS, UsageCounts } from '../../../src/features/usage/usage-counts.ts'
import type { UsageCount } from '../../../src/features/usage/usage-counts.ts'
import { MOST_ROWS_OF_A_DAY, UsageDatabase, openUsageToRead } from '../../../src/features/usage/usage-database.ts'
import { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import { countedDaysIn, lastUseOfSkills, spanUpTo, usageRowsIn } from '../../../src/features/usage/usage-report.ts'
import type { Dimension, UsageRow } from '../../../src/features/usage/usage-report.ts'
import type { AnsweredFile } from '../../../src/serve/mcp/core/methods.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const PDF = { source: 'fx', path: 'pdf', digest: 'c1', isDocument: true }
const TODAY = '2026-06-15'
/** The page size of SQLite. */
const PAGE_BYTES = 4_096
const SPAN = { from: '2026-01-01', to: '2026-12-31' }

test('counts are written once a minute, and survive a kill after that', async () => {
  await using place = await open()
  const usage = place.recorder()
  usage.count(answered({ client: 'one' }))
  usage.count(answered({ client: 'one', part: { ...PDF, isDocument: false } }))
  usage.count(answered({ client: 'two', part: undefined, pack: 'docs' }))

  await place.clock.advance(60_000)

  expect(place.rows(['skill', 'pack', 'client'])).toEqual([
    { skill: 'fx/pdf', pack: null, client: 'one', lists: 0, loads: 1, reads: 1, failures: 0 },
    { skill: null, pack: 'docs', client: 'two', lists: 1, loads: 0, reads: 0, failures: 0 },
  ])
  await usage[Symbol.asyncDispose]()
})

test('what a stop and the next start count is added up', async () => {
  await using place = await open()
  for (const client of ['one', 'one', 'two']) {
    await using usage = place.recorder()
    usage.count(answered({ client }))
  }

  expect(place.rows(['client'])).toMatchObject([
    { client: 'one', loads: 2 },
    { client: 'two', loads: 1 },
  ])
})

test('two processes add to the same rows', async () => {
  await using place = await open()
  {
    await using one = place.recorder()
    await using other = place.recorder()
    for (const usage of [one, other]) usage.count(answered({ client: 'one' }))
  }

  expect(place.rows(['client'])).toMatchObject([{ client: 'one', loads: 2 }])
})

test('what doctor --connect reads is not counted: it is no agent', async () => {
  await using place = await open()
  {
    await using usage = place.recorder()
    for (const client of ['skillsyncd-doctor', 'one']) usage.count(answered({ client }))
  }

  expect(place.rows(['client'])).toMatchObject([{ client: 'one', loads: 1 }])
})

test('people are counted only if the operator turns that on', async () => {
  await using place = await open()
  for (const principals of [false, true]) {
    await using usage = place.recorder({ principals })
    usage.count(answered({ client: 'one', principal: 'ada#0a1b' }))
  }

  expect(place.rows(['principal'])).toMatchObject([
    { principal: null, loads: 1 },
    { principal: 'ada#0a1b', loads: 1 },
  ])
})

test('a damaged file is moved aside, and counting begins anew', async () => {
  await using place = await open()
  {
    await using usage = place.recorder()
    usage.count(answered({ client: 'one' }))
  }
  await writeFile(place.path, 'x'.repeat(20_000))
  {
    await using usage = place.recorder()
    usage.count(answered({ client: 'two' }))
  }

  expect(place.rows(['client'])).toMatchObject([{ client: 'two', loads: 1 }])
  expect(place.logged()).toContain('usage-moved-aside')
  expect((await readdir(join(place.path, '..'))).some((name) => name.includes('.damaged-'))).toBe(true)
})

test('a file that is damaged behind its first pages is moved aside, and what was counted since is kept', async () => {
  await using place = await open()
  {
    await using usage = place.recorder()
    for (let at = 0; at < 500; at += 1) usage.count(answered({ client: 'one', part: { ...PDF, path: `skill-${at}` } }))
  }
  const bytes = await readFile(place.path)
  expect(bytes.length).toBeGreaterThan(3 * PAGE_BYTES)
  await writeFile(place.path, bytes.fill(0xff, 2 * PAGE_BYTES))
  await using usage = place.recorder()
  usage.count(answered({ client: 'two' }))

  await place.clock.advance(60_000)

  expect(place.rows(['client'])).toMatchObject([{ client: 'two', loads: 1 }])
  expect(place.logged()).toContain('usage-moved-aside')
  expect(place.logged()).not.toContain('usage-not-written')
})

test('an error of the search for the earliest days is one that the recorder reports', async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  using other = new DatabaseSync(place.path)
  other.exec('DROP TABLE use_of_day')

  await expect(database.prune(TODAY, { days: 3, rows: 1 })).rejects.toMatchObject({ code: 'store-failed' })
})

test('what cannot be written waits, and is written later', async () => {
  await using place = await open()
  await using usage = place.recorder()
  const folder = join(place.path, '..')
  await writeFile(folder, 'in the way')
  usage.count(answered({ client: 'one' }))
  await place.clock.advance(60_000)
  expect(place.logged()).toContain('usage-not-written')

  await rm(folder)
  usage.count(answered({ client: 'one' }))
  await place.clock.advance(60_000)

  expect(place.rows(['client'])).toMatchObject([{ client: 'one', loads: 2 }])
})

test('a day has a bounded number of names, also over a restart', async () => {
  await using place = await open()
  for (const round of [1, 2]) {
    await using usage = place.recorder()
    for (let at = 0; at < MOST_CLIENTS; at += 1) usage.count(answered({ client: `${round} ${at}` }))
  }

  const rows = place.rows(['client'])
  expect(rows).toHaveLength(MOST_CLIENTS + 1)
  expect(rows.find(({ client }) => client === 'other')).toMatchObject({ loads: MOST_CLIENTS })
})

test('a published client keeps its row, however many names others invent, also over a restart', async () => {
  await using place = await open()
  for (const round of [1, 2]) {
    await using usage = place.recorder()
    for (let at = 0; at < 2 * MOST_CLIENTS; at += 1) usage.count(answered({ client: `${round} ${at}` }))
    for (const client of ['claude-code', 'codex-mcp-client']) usage.count(answered({ client }))
  }

  const rows = place.rows(['client'])
  expect(rows.filter(({ client }) => client === 'claude-code' || client === 'codex-mcp-client')).toMatchObject([
    { loads: 2 },
    { loads: 2 },
  ])
  expect(rows).toHaveLength(MOST_CLIENTS + 3)
})

test('a name is one line of at most 64 characters, and a client without one is unknown', async () => {
  await using place = await open()
  {
    await using usage = place.recorder()
    for (const client of [' a\n\u202Eb ', 'x'.repeat(1_000), '\u200B', undefined]) usage.count(answered({ client }))
  }

  expect(place.rows(['client']).map(({ client }) => client)).toEqual(['unknown', 'ab', 'x'.repeat(64)])
})

test('rows beyond the limit of memory are counted as one', () => {
  const counts = new UsageCounts()
  const by = { day: TODAY, pack: '', client: undefined, principal: undefined }
  for (let at = 0; at < 30_000; at += 1) counts.add({ kind: 'load', skill: `fx/${at}`, content: 'c1' }, by)

  expect(counts.size).toBe(20_001)
  expect(counts.take().reduce((sum, { loads }) => sum + loads, 0)).toBe(30_000)
})

test('a day has a bounded number of rows on the disk', { timeout: 60_000 }, async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  const row = { day: TODAY, pack: '', client: 'one', principal: '', lists: 0, loads: 1, reads: 0, failures: 0 }
  const rows = Array.from({ length: MOST_ROWS_OF_A_DAY - 1 }, (_, at) => ({ ...row, skill: `fx/${at}` }))
  database.add(rows, TODAY)

  database.add(
    [
      { ...row, skill: 'fx/0' },
      { ...row, skill: 'fx/more' },
      { ...row, pack: 'docs', skill: 'fx/0' },
    ],
    TODAY,
  )

  const found = place.rows(['skill', 'pack', 'client', 'principal'])
  expect(found).toHaveLength(MOST_ROWS_OF_A_DAY)
  expect(found.filter(({ loads }) => loads > 1)).toMatchObject([
    { skill: 'fx/0', pack: null, loads: 2 },
    { skill: 'other', pack: 'other', client: 'other', principal: 'other', loads: 2 },
  ])
})

test('clients without a token are none of the people that a day counts', async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  const row = { day: TODAY, skill: 'fx/pdf', pack: '', client: 'one', lists: 0, loads: 1, reads: 0, failures: 0 }
  const rowOf = (principal: string): UsageCount => ({ ...row, principal })
  const people = Array.from({ length: MOST_PRINCIPALS }, (_, at) => `person ${at}`)

  database.add(
    [...people, 'one more', '', 'other'].map((principal) => rowOf(principal)),
    TODAY,
  )

  const rows = place.rows(['principal'])
  expect(rows).toHaveLength(MOST_PRINCIPALS + 2)
  expect(rows.filter(({ principal }) => !people.includes(String(principal)))).toMatchObject([
    { principal: 'other', loads: 2 },
    { principal: null, loads: 1 },
  ])
})

test('days beyond the limits are removed, the earliest first', async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  const row = { skill: 'fx/pdf', pack: '', client: 'one', principal: '', lists: 0, loads: 1, reads: 0, failures: 0 }
  const days = ['2026-06-12', '2026-06-13', '2026-06-14', TODAY]
  for (const day of days)
    database.add(
      [
        { ...row, day },
        { ...row, day, client: 'two' },
      ],
      day,
    )

  await database.prune(TODAY, { days: 3, rows: 100 })
  expect(place.rows(['day']).map(({ day }) => day)).toEqual(days.slice(1))

  await database.prune(TODAY, { days: 3, rows: 2 })
  expect(place.rows(['day']).map(({ day }) => day)).toEqual(days.slice(2))

  await database.prune(TODAY, { days: 3, rows: 1 })
  expect(place.rows(['day']).map(({ day }) => day)).toEqual([TODAY])
})

test('a clock that is ahead for a moment removes no counts', async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  const row = { skill: 'fx/pdf', pack: '', client: 'one', principal: '', lists: 0, loads: 1, reads: 0, failures: 0 }
  for (const day of ['2026-06-14', TODAY, '2031-01-01']) database.add([{ ...row, day }], day)

  await database.prune('2031-01-01', { days: 400, rows: 100 })
  database.add([{ ...row, day: '2026-06-16' }], '2026-06-16')
  await database.prune('2026-06-16', { days: 400, rows: 100 })

  expect(place.rows(['day']).map(({ day }) => day)).toEqual(['2026-06-14', TODAY, '2026-06-16'])
})

test('the days without counting are known, and the last use of a skill', async () => {
  await using place = await open()
  using database = UsageDatabase.open(place.path, place.clock.now(), () => {})
  const row = { skill: 'fx/pdf', pack: '', client: 'one', principal: '', lists: 0, loads: 1, reads: 0, failures: 0 }
  for (const day of ['2026-06-10', '2026-06-12', TODAY]) database.add([{ ...row, day }], day)
  database.add([], '2026-06-13')

  using reading = openUsageToRead(place.path)
  expect(countedDaysIn(reading, spanUpTo(TODAY, 30 * 86_400_000))).toEqual({ since: '2026-06-10', missing: 2 })
  expect(countedDaysIn(reading, { from: TODAY, to: TODAY })).toEqual({ since: '2026-06-10', missing: 0 })
  expect([...lastUseOfSkills(reading, TODAY)]).toEqual([['fx/pdf', TODAY]])
  // The last day was counted while the clock was ahead.
  expect([...lastUseOfSkills(reading, '2026-06-11')]).toEqual([['fx/pdf', '2026-06-10']])
})

test('the file is open only to its owner', async () => {
  await using place = await open()
  await place.recorder()[Symbol.asyncDispose]()

  expect((await stat(place.path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(place.path, '..'))).mode & 0o777).toBe(0o700)
})

interface Answered {
  readonly client: string | undefined
  readonly part?: AnsweredFile['part']
  readonly pack?: string
  readonly principal?: string
}

function answered(given: Answered): AnsweredFile {
  const { client, pack, principal } = given
  const part = 'part' in given ? given.part : PDF
  return { part, client, principal, serving: pack === undefined ? {} : { view: pack } }
}

async function open() {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'usage', 'usage.db')
  const clock = new FakeClock()
  let logged = ''
  const stream = { write: (text: string) => (logged += text) }
  const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  return {
    path,
    clock,
    logged: () => logged,
    recorder: ({ principals = false } = {}) => new UsageRecorder(path, { principals, days: 400 }, log, clock),
    rows(by: readonly Dimension[]): UsageRow[] {
      using database = openUsageToRead(path)
      return usageRowsIn(database, SPAN, by)
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  }
}
