import { expect, test } from 'vitest'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { describePostgres } from '../../support/describe-postgres.ts'

const SLEEPING = "SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(3600)'"

describePostgres('connections to a PostgreSQL database that are cut off', (server) => {
  test('end what waits for an answer, and all that comes later', async () => {
    const url = await server.createDatabase()
    await using other = PostgresDatabase.at({ url })
    await using database = PostgresDatabase.at({ url })
    const waiting = database.query('wait', 'SELECT pg_sleep(3600)')
    const inTransaction = database.transact('wait in a transaction', async (client) =>
      client.query('SELECT pg_sleep(3600)'),
    )
    const ends = Promise.allSettled([waiting, inTransaction])
    await expect.poll(async () => other.query('look', SLEEPING)).toHaveLength(2)

    await database.cutOff()

    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'store-failed' }) }
    expect(await ends).toEqual([refused, refused])
    await expect(database.query('read', 'SELECT 1')).rejects.toMatchObject({ code: 'store-failed' })
  })

  test('of which none waits are ended too', async () => {
    const url = await server.createDatabase()
    const database = PostgresDatabase.at({ url })
    await database.query('read', 'SELECT 1')

    await database.cutOff()
    await database[Symbol.asyncDispose]()

    await expect(database.query('read', 'SELECT 1')).rejects.toMatchObject({ code: 'store-failed' })
  })
})
