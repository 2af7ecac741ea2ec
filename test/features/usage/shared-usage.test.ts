import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { LocalUsage } from '../../../src/features/usage/local-usage.ts'
import { SharedUsage } from '../../../src/features/usage/shared-usage.ts'
import type { UsageBatch } from '../../../src/features/usage/unshared-counts.ts'
import type { UsageCount } from '../../../src/features/usage/usage-counts.ts'
import { UsageDatabase } from '../../../src/features/usage/usage-database.ts'
import { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import type { UsageRow } from '../../../src/features/usage/usage-report.ts'
import type { AnsweredFile } from '../../../src/serve/mcp/core/methods.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const SPAN = { from: '2020-01-01', to: '2040-12-31' }

describePostgres('counts of a hub of several processes', (server) => {
  test('are the sum of all processes, at each of them, after a clean stop', async () => {
    await using hub = await open()
    await using folders = new AsyncDisposableStack()
    for (const times of [2, 3]) {
      const place = await hub.process(folders)
      await using usage = place.recorder()
      for (let at = 0; at < times; at += 1) usage.count(load('pdf', 'claude-code'))
      usage.count(load(`of ${times}`, 'codex-mcp-client'))
    }

    expect(await hub.shared.rows(SPAN, ['skill', 'client'])).toEqual([
      { skill: 'fx/pdf', client: 'claude-code', lists: 0, loads: 5, reads: 0, failures: 0 },
      { skill: 'fx/of 2', client: 'codex-mcp-client', lists: 0, loads: 1, reads: 0, failures: 0 },
      { skill: 'fx/of 3', client: 'codex-mcp-client', lists: 0, loads: 1, reads: 0, failures: 0 },
    ])
    expect(await hub.shared.countedDays(SPAN)).toMatchObject({ since: '2026-06-15' })
    expect([...(await hub.shared.lastUses('2026-06-15')).keys()].toSorted()).toEqual(['fx/of 2', 'fx/of 3', 'fx/pdf'])
  })

  test('are not doubled by a lost answer, nor lost while the database is away or by a kill', async () => {
    await using hub = await open()
    await using folders = new AsyncDisposableStack()
    const place = await hub.process(folders)
    // The batch arrives, and its answer is lost.
    const fail = (text: string): void => {
      if (text.includes('use_batch')) throw new SyncError('store-failed', 'the answer is lost')
    }
    place.after = fail
    const killed = place.recorder()
    killed.count(load('pdf', 'one'))
    await place.clock.advance(60_000)
    await expect.poll(async () => hub.shared.rows(SPAN, ['skill'])).toEqual([row(1)])
    // The database is away.
    place.before = fail
    killed.count(load('pdf', 'one'))
    await place.clock.advance(60_000)
    await expect.poll(async () => new LocalUsage(place.path).rows(SPAN, ['skill'])).toEqual([row(2)])
    expect(place.logged()).toContain('usage-not-shared')

    // The process was killed after that, and another one continues in its state folder.
    const later = await hub.process(folders, place.path)
    await later.recorder()[Symbol.asyncDispose]()

    const both = [await hub.shared.rows(SPAN, ['skill']), await new LocalUsage(place.path).rows(SPAN, ['skill'])]
    expect(both).toEqual([[row(2)], [row(2)]])
  })

  test('are not lost by a late answer for a batch that arrived before', async () => {
    await using folder = await temporaryFolder()
    const now = new Date('2026-06-15T12:00:00Z')
    using database = UsageDatabase.open(join(folder.path, 'usage.db'), now, () => {}, true)
    database.add([countOf({})], '2026-06-15')
    const first = database.unshared?.next()
    database.unshared?.arrived(first?.id ?? '')
    database.add([countOf({ loads: 2 })], '2026-06-15')
    const second = database.unshared?.next()

    database.unshared?.arrived(first?.id ?? '')

    expect(second).toMatchObject({ rows: [{ loads: 2 }] })
    expect(database.unshared?.next()).toEqual(second)
    database.unshared?.arrived(second?.id ?? '')
    expect(database.unshared?.next()).toBeUndefined()
  })

  test('have the uses and failures of each content once, however often they are sent', async () => {
    await using hub = await open()
    await using folders = new AsyncDisposableStack()
    for (const [failed, digest] of [
      [true, 'c1'],
      [false, 'c1'],
      [true, 'c2'],
    ] as const) {
      const place = await hub.process(folders)
      // The totals arrive, and the answer is lost.
      place.after = (text) => {
        if (text.includes('content_use')) throw new SyncError('store-failed', 'the answer is lost')
      }
      const killed = place.recorder()
      killed.count({ ...load('pdf', 'one'), part: { source: 'fx', path: 'pdf', digest, isDocument: true } })
      await place.clock.advance(60_000)
      await expect.poll(() => place.logged()).toContain('usage-not-shared')
      place.after = () => {}
      await using usage = place.recorder()
      const part = { source: 'fx', path: 'pdf', digest, isDocument: true }
      usage.count({ ...load('pdf', 'one'), part, isFailed: failed })
    }
    const wanted = ['c1', 'c2', 'c3'].map((content) => ({ skill: 'fx/pdf', content }))

    expect(await hub.shared.contentUses(wanted)).toEqual([
      { skill: 'fx/pdf', content: 'c1', uses: 4, failures: 1 },
      { skill: 'fx/pdf', content: 'c2', uses: 2, failures: 1 },
    ])
    expect(await hub.shared.rows(SPAN, ['skill'])).toMatchObject([{ loads: 4, failures: 2 }])
    await hub.shared.prune('2026-06-15', { days: 1, rows: 0 })
    expect(await hub.shared.contentUses(wanted)).toHaveLength(2)
    await hub.shared.prune('2026-06-17', { days: 1, rows: 0 })
    expect(await hub.shared.contentUses(wanted)).toEqual([])
  })

  test('are removed by age, and a clock that is ahead for a moment removes none', async () => {
    await using hub = await open()
    const days = ['2026-06-12', '2026-06-13', '2026-06-14', '2026-06-15']
    for (const day of days) await hub.shared.add({ id: randomUUID(), rows: [countOf({ day })] }, day)

    await hub.shared.prune('2031-01-01', { days: 10, rows: 100 })
    const ahead = await hub.shared.rows(SPAN, ['day'])
    await hub.shared.prune('2026-06-15', { days: 3, rows: 100 })
    const aged = await hub.shared.rows(SPAN, ['day'])
    await hub.shared.prune('2026-06-15', { days: 3, rows: 1 })

    expect(ahead.map(({ day }) => day)).toEqual(days)
    expect(aged.map(({ day }) => day)).toEqual(days.slice(1))
    expect((await hub.shared.rows(SPAN, ['day'])).map(({ day }) => day)).toEqual(days.slice(2))
  })

  test('are exact for any batches that are sent any number of times, in any order', async () => {
    await using hub = await open()
    const name = fc.constantFrom('a', 'b', 'é', 'x'.repeat(5_000))
    const count = fc.record({ skill: name, client: name, loads: fc.nat(9), reads: fc.nat(9), lists: fc.nat(9) })
    const batches = fc.array(fc.uniqueArray(count, { selector: ({ skill, client }) => `${skill} ${client}` }), {
      maxLength: 4,
    })

    await fc.assert(
      fc.asyncProperty(batches, fc.array(fc.nat(3), { maxLength: 6 }), async (parts, again) => {
        await hub.database.query('empty', 'TRUNCATE skillsyncd.use_of_day')
        const sent = parts.map((rows): UsageBatch => ({ id: randomUUID(), rows: rows.map(countOf) }))
        const repeated = again.flatMap((at) => sent[at] ?? [])

        await Promise.all([...sent, ...repeated].map((batch) => hub.shared.add(batch, '2026-06-15')))

        const expected = parts.flat().reduce((sum, { loads }) => sum + loads, 0)
        expect((await hub.shared.rows(SPAN, ['skill'])).reduce((sum, { loads }) => sum + loads, 0)).toBe(expected)
      }),
      { numRuns: 30 },
    )
  })

  async function open() {
    const database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const shared = new SharedUsage({ database, open: async () => {} })
    return {
      database,
      shared,
      /** `path`: the counts of an earlier process, which it continues. */
      async process(folders: AsyncDisposableStack, path?: string) {
        const folder = folders.use(await temporaryFolder())
        const clock = new FakeClock()
        let logged = ''
        const stream = { write: (text: string) => (logged += text) }
        const log = createLog({
          level: 'info',
          stream,
          format: 'json',
          journal: false,
          clock,
          redactor: new Redactor(),
        })
        const place = {
          path: path ?? join(folder.path, 'usage', 'usage.db'),
          clock,
          before: (_text: string) => {},
          after: (_text: string) => {},
          logged: () => logged,
          recorder: () => new UsageRecorder(place.path, { principals: false, days: 400 }, log, clock, throughPlace),
        }
        const throughPlace = new SharedUsage({
          open: async () => {},
          database: {
            async query(...asked) {
              place.before(asked[1])
              const rows = await database.query(...asked)
              place.after(asked[1])
              return rows
            },
          },
        })
        return place
      },
      [Symbol.asyncDispose]: async () => database[Symbol.asyncDispose](),
    }
  }
})

function load(path: string, client: string): AnsweredFile {
  return { part: { source: 'fx', path, digest: 'c1', isDocument: true }, client, principal: undefined, serving: {} }
}

function countOf(some: Partial<UsageCount>): UsageCount {
  return {
    day: '2026-06-15',
    skill: 'fx/pdf',
    pack: '',
    client: 'one',
    principal: '',
    lists: 0,
    loads: 1,
    reads: 0,
    failures: 0,
    ...some,
  }
}

function row(loads: number): UsageRow {
  return { skill: 'fx/pdf', lists: 0, loads, reads: 0, failures: 0 }
}
