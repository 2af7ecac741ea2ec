import { expect, test } from 'vitest'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { SharedDocuments } from '../../../src/sync/postgres/shared-documents.ts'
import { fillSharedState, readSharedState } from '../../../src/sync/postgres/shared-state.ts'
import { describePostgres } from '../../support/describe-postgres.ts'

describePostgres('the state in a database', (server) => {
  test('a log of more lines than one statement has is written and read whole, and in its order', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const lines = Array.from({ length: 20_001 }, (_, index) => `line ${index}`)

    await fillSharedState(database, { heads: [], documents: [], logs: [{ name: 'log', lines }] })

    expect((await readSharedState(database)).logs).toEqual([{ name: 'log', lines }])
  })

  test('a document that another process has changed meanwhile stays, and no process has to read again', async () => {
    await using database = await PostgresDatabase.open({ url: await server.createDatabase() })
    const documents = new SharedDocuments(database)
    const first = await documents.swap('decisions', 0, Buffer.from('first'))
    const version = 'SELECT version FROM skillsyncd.present'
    const before = await database.query('look', version)

    const swaps = [documents.swap('decisions', 0, Buffer.from('late')), documents.swap('other', 7, undefined)]

    expect(await Promise.all(swaps)).toEqual([undefined, undefined])
    expect(await database.query('look', version)).toEqual(before)
    expect(await documents.read('decisions')).toMatchObject({ version: first })
  })
})
