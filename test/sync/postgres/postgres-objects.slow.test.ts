import { hash } from 'node:crypto'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { Leadership } from '../../../src/sync/postgres/leadership.ts'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { PostgresObjects } from '../../../src/sync/postgres/postgres-objects.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { listed } from '../../support/listed.ts'
import { keepsObjects } from '../store/objects/object-store.contract.ts'

/** The epoch of a database in which no process has taken the lead. */
const FIRST = () => 0

describePostgres('PostgreSQL', (server) => {
  keepsObjects(async () => {
    const url = await server.createDatabase()
    const opened: PostgresDatabase[] = []
    return {
      open: async () => {
        const database = await PostgresDatabase.open({ url, connections: 4 })
        opened.push(database)
        return PostgresObjects.open(database, FIRST, 0)
      },
      [Symbol.asyncDispose]: async () => {
        for (const database of opened) await database[Symbol.asyncDispose]()
      },
    }
  })

  test('bytes that were changed in the database are never given out, and a put mends them', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    using store = await PostgresObjects.open(database, FIRST)
    const [digest = ''] = await store.put([Buffer.from('intact')])
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query("UPDATE skillsyncd.object SET bytes = 'other'")
    await client.end()

    await expect(store.get(digest)).rejects.toMatchObject({ code: 'store-failed' })
    await store.put([Buffer.from('intact')])

    expect(Buffer.from((await store.get(digest)) ?? []).toString()).toBe('intact')
  })

  test('a head that no hub writes is refused as damaged', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    using store = await PostgresObjects.open(database, FIRST)
    await database.query('damage', "INSERT INTO skillsyncd.head VALUES (1, '\\x00')")
    await expect(store.heads()).rejects.toMatchObject({
      code: 'store-failed',
      message: 'Cannot use a digest of the database: it is not 32 bytes',
    })

    await database.query('damage', `UPDATE skillsyncd.head SET sequence = ${2 ** 52}`)

    await expect(store.heads()).rejects.toMatchObject({
      code: 'store-failed',
      message: `Cannot use a head of the database: ${2 ** 52} is no number of a generation`,
    })
  })

  test.each([
    ['the least number as a time', 'at = -9223372036854775808'],
    ['the greatest number as a time', 'at = 9223372036854775807'],
    ['the greatest number as a total', 'total = 9223372036854775807'],
    ['the least number as a total', 'total = -9223372036854775808'],
    ['the greatest number as a sequence', 'sequence = 9223372036854775807'],
    ['the least number as a sequence', 'sequence = -9223372036854775808'],
    ['the sequence after the head', 'sequence = 5, total = 2147483648'],
  ])('a record of another hand is no record, and the next one is added: %s', async (_, forged) => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    using store = await PostgresObjects.open(database, FIRST)
    const recordOf = (sequence: number) => ({ sequence, at: sequence, total: sequence, hasLeaving: true, text: 'text' })
    await store.swap(undefined, { sequence: 4, generation: '0'.repeat(64) })
    await store.addRecords([1, 2, 3].map(recordOf))
    await database.query('forge', `UPDATE skillsyncd.record SET ${forged} WHERE sequence = 3`)

    const readAll = async () => listed(store.records(await store.recordSequences()))
    await store.addRecords([recordOf(1)])
    expect(await readAll()).toEqual([recordOf(2), recordOf(1)])
    await store.addRecords([recordOf(4)])
    expect(await readAll()).toEqual([recordOf(4), recordOf(2), recordOf(1)])
  })

  test('an object that a running collection removes is not found any more', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const store = await PostgresObjects.open(database, FIRST, 0)
    const [digest = ''] = await store.put([Buffer.from('an object')])
    await using blocker = await Blocker.of(url, digest)

    const collected = store.collect(NOTHING)
    await expect.poll(async () => waitingIn(database), WAIT).toBe(1)
    using _lease = store.lease()
    const found = [store.missing([digest]), store.get(digest)]
    // Gives the answers time to arrive that do not wait for the removal.
    for (let query = 0; query < 20; query += 1) await database.query('wait', 'SELECT 1')
    await blocker.release()

    expect(await Promise.all(found)).toEqual([[digest], undefined])
    expect(await collected).toMatchObject({ objects: 1 })
    await store.put([Buffer.from('an object')])
    expect(await store.collect(NOTHING)).toMatchObject({ objects: 0 })
  })

  test('a collection locks objects in the order in which they are put, so that it waits for no put that waits for it', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const store = await PostgresObjects.open(database, FIRST, 0)
    const objects = ['one', 'two'].map((text) => Buffer.from(text))
    const [low = '', high = ''] = (await store.put(objects)).toSorted()
    await database.query('empty', 'DELETE FROM skillsyncd.object')
    // The later digest first: the order of the rows is another one.
    const isHigh = (bytes: Buffer) => hash('sha256', bytes, 'hex') === high
    for (const bytes of objects.toSorted((a, b) => Number(isHigh(b)) - Number(isHigh(a)))) await store.put([bytes])
    await using blocker = await Blocker.of(url, low)

    const collected = store.collect(NOTHING)
    await expect.poll(async () => waitingIn(database), WAIT).toBe(1)
    const free = await database.query('look', 'SELECT digest FROM skillsyncd.object FOR UPDATE SKIP LOCKED')
    await blocker.release()

    expect(free.map(({ digest }) => Buffer.from(digest).toString('hex'))).toEqual([high])
    expect(await collected).toMatchObject({ objects: 2 })
  })

  test.each(['missing', 'put'] as const)(
    'what another process has stored, or found by %s, is spared for an hour',
    async (find) => {
      const url = await server.createDatabase()
      await using one = await PostgresDatabase.open({ url })
      await using two = await PostgresDatabase.open({ url })
      const leader = await PostgresObjects.open(one, FIRST)
      const other = await PostgresObjects.open(two, () => undefined)
      const bytes = ['found', 'left'].map((text) => Buffer.from(text))
      const [found = '', left = ''] = await other.put(bytes)
      const fresh = await leader.collect(NOTHING)
      await one.query('age', "UPDATE skillsyncd.object SET touched = touched - interval '2 hours'")

      const there = find === 'put' ? await other.put(bytes.slice(0, 1)) : await other.missing([found])
      const collected = await leader.collect(NOTHING)
      const isRestored = await other.restore(undefined, { sequence: 1, generation: found })

      expect(there).toEqual(find === 'put' ? [found] : [])
      expect([fresh.objects, collected.objects, isRestored]).toEqual([0, 1, true])
      expect(await leader.missing([found, left])).toEqual([left])
    },
  )

  test('what was found a moment ago is found without a write', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const store = await PostgresObjects.open(database, FIRST)
    const [digest = ''] = await store.put([Buffer.from('an object')])
    const row = 'SELECT xmin, ctid, touched FROM skillsyncd.object'
    await database.query('age', "UPDATE skillsyncd.object SET touched = touched - interval '11 minutes'")
    const before = await database.query('look', row)

    await store.missing([digest])
    const renewed = await database.query('look', row)
    await store.missing([digest])
    await store.put([Buffer.from('an object')])

    expect(renewed).not.toEqual(before)
    expect((await database.query('look', row)).map(({ xmin, touched }) => [xmin, touched])).toEqual(
      renewed.map(({ xmin, touched }) => [xmin, touched]),
    )
  })

  test('a connection that ends between two statements of a transaction fails it alone', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })

    const broken = database.transact('write', async (client) => {
      // `once` of Node would catch the error that comes before the end.
      const ended = new Promise((resolve) => void client.once('end', resolve))
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
      await database.query('end it', 'SELECT pg_terminate_backend($1)', [rows[0].pid])
      await ended
      await client.query('SELECT 1')
    })

    await expect(broken).rejects.toMatchObject({ code: 'store-failed' })
    expect(await database.query('read', 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('of two hubs that swap one head, one succeeds, each time', async () => {
    const url = await server.createDatabase()
    await using one = await PostgresDatabase.open({ url })
    await using other = await PostgresDatabase.open({ url })
    const stores = [await PostgresObjects.open(one, FIRST), await PostgresObjects.open(other, FIRST)]
    for (let round = 1; round <= 20; round += 1) {
      const expected = await stores[0]?.head()
      const swaps = stores.map(async (store, index) =>
        store.swap(expected, { sequence: round * 10 + index, generation: String(index).repeat(64) }),
      )
      const done = await Promise.all(swaps)
      expect(done.filter(Boolean)).toHaveLength(1)
    }
    expect(await stores[1]?.heads()).toHaveLength(20)
  })

  test('one process leads, and another once it has given up or has not renewed', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const [one, other] = [new Leadership(database, 'one', 60_000), new Leadership(database, 'other', 60_000)]

    expect([await one.take(), await other.take(), await one.take()]).toEqual([true, false, true])
    expect(await other.standing()).toMatchObject({ leader: { holder: 'one' } })
    const { epoch } = one
    await one.leave()
    expect([await other.take(), await one.take()]).toEqual([true, false])
    expect(other.epoch).toBeGreaterThan(epoch ?? 0)
    await database.query('expire', "UPDATE skillsyncd.leader SET until = clock_timestamp() - interval '1 ms'")
    expect([await one.take(), await other.take()]).toEqual([true, false])
    expect(other.epoch).toBeUndefined()
  })

  test('a leader that was deposed without its knowledge publishes nothing', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const [stopped, next] = [new Leadership(database, 'stopped', 60_000), new Leadership(database, 'next', 60_000)]
    await stopped.take()
    const stores = {
      stopped: await PostgresObjects.open(database, () => stopped.epoch),
      next: await PostgresObjects.open(database, () => next.epoch),
    }
    expect(await stores.next.swap(undefined, headOf(1))).toBe(false)
    expect(await stores.stopped.swap(undefined, headOf(1))).toBe(true)

    await database.query('expire', "UPDATE skillsyncd.leader SET until = clock_timestamp() - interval '1 ms'")
    await next.take()

    expect(await stores.stopped.swap(headOf(1), headOf(2))).toBe(false)
    expect(await stores.next.swap(headOf(1), headOf(2))).toBe(true)
    expect(await stores.stopped.swap(headOf(2), headOf(3))).toBe(false)
  })
})

/** A collection that keeps no object, and no earlier head. */
const NOTHING = { heads: new Set<number>(), live: new Set<string>() }

const WAIT = { timeout: 20_000, interval: 10 }

/** The number of statements in the database that wait for a lock. */
async function waitingIn(database: PostgresDatabase): Promise<number> {
  const text = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return (await database.query('look for waits', text)).length
}

/** Locks the row of an object until it is released. */
class Blocker implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async of(url: string, digest: string): Promise<Blocker> {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT FROM skillsyncd.object WHERE digest = $1 FOR UPDATE', [Buffer.from(digest, 'hex')])
    return new Blocker(client)
  }

  async release(): Promise<void> {
    await this.#client.query('COMMIT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}

function headOf(sequence: number) {
  return { sequence, generation: String(sequence % 10).repeat(64) }
}
