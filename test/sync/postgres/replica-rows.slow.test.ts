import { expect, test } from 'vitest'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { ReplicaRows } from '../../../src/sync/postgres/replica-rows.ts'
import { describePostgres } from '../../support/describe-postgres.ts'

describePostgres('the processes of a hub in its database', (server) => {
  test('one is behind until it shows the version, and counts no more once it is dead or has left', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const [own, other] = [new ReplicaRows(database, 'own'), new ReplicaRows(database, 'other')]
    const show = async (rows: ReplicaRows, version: number): Promise<void> =>
      rows.show({ machine: 'one', program: '0.1.0', sequence: 1, version, config: undefined })
    await show(own, 0)

    expect(await own.behind(7)).toEqual([])
    await show(other, 6)
    expect([await own.behind(6), await own.behind(7)]).toEqual([[], ['other']])
    await show(other, 7)
    expect(await own.behind(7)).toEqual([])
    await database.query('age', "UPDATE skillsyncd.replica SET version = 6, seen = clock_timestamp() - interval '16 s'")
    expect(await own.behind(7)).toEqual([])
    await show(other, 6)
    expect(await own.behind(7)).toEqual(['other'])
    await other.leave()
    expect(await own.behind(7)).toEqual([])
  })

  test('any number of rows of any length are a bounded list, with the own one', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const rows = new ReplicaRows(database, 'own')
    await rows.show({ machine: 'one', program: '0.1.0', sequence: 1, version: 1, config: undefined })
    await database.query(
      'flood',
      `INSERT INTO skillsyncd.replica (id, name, program, started, seen, sequence, version, config)
       SELECT repeat(at::text, 20), repeat('n', 100000), repeat('p', 100000), clock_timestamp(), clock_timestamp(), 1, 0,
         repeat('c', 100000) FROM generate_series(1, 3000) AS at`,
    )

    const all = await rows.all()

    expect(all.some(({ id }) => id === 'own')).toBe(true)
    expect(all.length).toBeLessThanOrEqual(256)
    expect(JSON.stringify(all).length).toBeLessThan(2 ** 18)
  })

  test('rows with times that were edited by hand hold nothing up, and are forgotten', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const rows = new ReplicaRows(database, 'own')
    await rows.show({ machine: 'one', program: '0.1.0', sequence: 1, version: 1, config: undefined })
    const put = `INSERT INTO skillsyncd.replica (id, name, program, started, seen, sequence, version)
      VALUES ($1, 'one', '0.1.0', $2, $2, 1, 0)`
    const times = { far: '294000-01-01', endless: 'infinity', old: '2020-01-01', first: '-infinity' }
    for (const row of Object.entries(times)) await database.query('edit', put, row)
    await database.query('edit', "UPDATE skillsyncd.replica SET started = 'infinity' WHERE id = 'own'")

    const [behind, all] = [await rows.behind(1), await rows.all()]

    expect(behind).toEqual([])
    expect(all.map(({ id, started }) => [id, started.getTime()])).toEqual([['own', 0]])
    expect(await database.query('read', 'SELECT id FROM skillsyncd.replica')).toEqual([{ id: 'own' }])
  })
})
