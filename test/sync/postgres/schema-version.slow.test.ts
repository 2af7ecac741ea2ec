import { beforeAll, expect, test } from 'vitest'
import { MIGRATIONS } from '../../../src/sync/postgres/migrations.ts'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { grantToRole, migrateDatabase } from '../../../src/sync/postgres/schema-version.ts'
import { SharedStore } from '../../../src/sync/postgres/shared-store.ts'
import { describePostgres } from '../../support/describe-postgres.ts'

/** The version of the last migration of this program. */
const NOW = MIGRATIONS.length

describePostgres('the schema of a PostgreSQL database', (server) => {
  beforeAll(async () => {
    await using database = PostgresDatabase.at({ url: await server.createDatabase() })
    await database.query('prepare', 'CREATE ROLE runner LOGIN')
    await database.query('prepare', 'CREATE ROLE "Odd ""role" LOGIN')
  }, 120_000)

  /** The address of the same database for another role. */
  function asRole(url: string, role: string): string {
    return url.replace('//test@', `//${encodeURIComponent(role)}@`)
  }

  test('of many processes that open a new database at once, one makes its schema', async () => {
    const url = await server.createDatabase()

    const databases = await Promise.all(Array.from({ length: 8 }, async () => PostgresDatabase.open({ url })))

    const [first] = databases
    expect(await first?.query('read', 'SELECT version FROM skillsyncd.migration')).toHaveLength(NOW)
    for (const database of databases) await database[Symbol.asyncDispose]()
  })

  test('a database of a later version is refused if this program is too old for it', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    await database.query('write', 'INSERT INTO skillsyncd.migration VALUES (99, 50)')

    await expect(PostgresDatabase.open({ url })).rejects.toMatchObject({
      code: 'store-failed',
      message: `Cannot use the database: its schema has version 99, and this program knows ${NOW}; update it`,
    })
  })

  test('a database of a later version that has only added to the schema is used', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    await database.query('write', 'INSERT INTO skillsyncd.migration VALUES (98, $1), (99, $1)', [NOW])

    await using store = SharedStore.at({ url })
    await store.open()

    expect(await store.documents.read('decisions')).toEqual({ version: 0, bytes: undefined })
  })

  test('the strictest of the later migrations decides', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    await database.query('write', 'INSERT INTO skillsyncd.migration VALUES (98, 98), (99, $1)', [NOW])

    await expect(PostgresDatabase.open({ url })).rejects.toMatchObject({ code: 'store-failed' })
  })

  test('a later program adds its migrations, and this one works on beside it', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const later = [...MIGRATIONS, { text: 'CREATE TABLE skillsyncd.later (id integer)', compatible: NOW }]

    await migrateDatabase(database, later)
    await migrateDatabase(database, later)
    await database.migrate()

    const rows = await database.query(
      'read',
      'SELECT max(version) AS version, max(compatible) AS compatible FROM skillsyncd.migration',
    )
    expect(rows).toEqual([{ version: NOW + 1, compatible: NOW }])
  })

  test('a migration that fails leaves the schema as it was', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    const broken = [
      ...MIGRATIONS,
      { text: 'CREATE TABLE skillsyncd.later (id integer); SELECT 1 / 0', compatible: NOW + 1 },
    ]

    await expect(migrateDatabase(database, broken)).rejects.toMatchObject({ code: 'store-failed' })

    await database.migrate()
    expect(await database.query('read', "SELECT to_regclass('skillsyncd.later') AS later")).toEqual([{ later: null }])
  })

  test('a role without rights is refused, with the command of the administrator', async () => {
    const url = await server.createDatabase()
    const mend = 'an administrator runs skillsyncd store migrate --grant ROLE'

    await expect(PostgresDatabase.open({ url: asRole(url, 'runner') })).rejects.toMatchObject({
      code: 'store-failed',
      message: `Cannot bring the database to this version: it has no schema yet, and this role must not change it; ${mend}`,
    })
    await using _owner = await PostgresDatabase.open({ url })
    await expect(PostgresDatabase.open({ url: asRole(url, 'runner') })).rejects.toMatchObject({
      code: 'store-failed',
      message: `Cannot bring the database to this version: this role must not read its schema; ${mend}`,
    })
  })

  test('a role of an earlier version is refused, and names it', async () => {
    const url = await server.createDatabase()
    await using owner = await PostgresDatabase.open({ url })
    await grantToRole(owner, 'runner')
    await using runner = await PostgresDatabase.open({ url: asRole(url, 'runner') })
    const later = [...MIGRATIONS, { text: 'CREATE TABLE skillsyncd.later (id integer)', compatible: NOW }]

    await expect(migrateDatabase(runner, later)).rejects.toThrow(
      `its schema has version ${NOW}, and this role must not change it`,
    )
  })

  test.each(['runner', 'Odd "role'])('the role %s runs a hub with its rights, and changes no table', async (role) => {
    const url = await server.createDatabase()
    await using owner = await PostgresDatabase.open({ url })
    await grantToRole(owner, role)
    await grantToRole(owner, role)
    // A table of a later version.
    await owner.query('add', 'CREATE TABLE skillsyncd.later (id integer)')

    await using store = SharedStore.at({ url: asRole(url, role) })
    const objects = await store.open()
    const [generation = ''] = await objects.put([Buffer.from('a generation')])
    const leads = await store.leadership.take()
    const isPublished = await objects.swap(undefined, { sequence: 1, generation })
    const version = await store.documents.swap('decisions', 0, Buffer.from('{}'))
    await objects.collect({ heads: new Set(), live: new Set([generation]) })
    await using _listening = await store.database.listen(
      () => {},
      () => {},
    )
    await store.database.query('write', 'INSERT INTO skillsyncd.later VALUES (1)')
    await store.logs.append({ log: 'log', position: 0, lines: ['a line'] }, store.leadership.epoch ?? -1)

    expect([leads, isPublished, version]).toEqual([true, true, 2])
    await expect(readsAndWritesEverything(store.database)).resolves.toBeUndefined()
    for (const text of [
      'CREATE TABLE skillsyncd.mine (id integer)',
      'DROP TABLE skillsyncd.object',
      'ALTER TABLE skillsyncd.object ADD COLUMN more text',
      'INSERT INTO skillsyncd.migration VALUES (99, 99)',
      'DELETE FROM skillsyncd.migration',
      "UPDATE skillsyncd.log_entry SET line = ''",
      'DELETE FROM skillsyncd.log_entry',
      'UPDATE skillsyncd.head SET sequence = 2',
      'TRUNCATE skillsyncd.object',
      'CREATE SCHEMA mine',
    ])
      await expect(store.database.query('overstep', text), text).rejects.toMatchObject({ cause: { code: '42501' } })
  })

  test('a schema that an administrator has created for its owner is used', async () => {
    const url = await server.createDatabase()
    await using administrator = PostgresDatabase.at({ url })
    await administrator.query('prepare', 'CREATE SCHEMA skillsyncd AUTHORIZATION runner')

    await using owner = await PostgresDatabase.open({ url: asRole(url, 'runner') })

    expect(await owner.query('read', 'SELECT FROM skillsyncd.migration')).toHaveLength(NOW)
  })
})

/** Each table takes all that the program does with rows; those of migrations, logs and heads do not take each change. */
async function readsAndWritesEverything(database: PostgresDatabase): Promise<void> {
  const text = `
    SELECT count(*) AS lacking FROM pg_tables, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS kind
    WHERE schemaname = 'skillsyncd' AND tablename <> 'migration'
      AND NOT (tablename = 'log_entry' AND kind IN ('UPDATE', 'DELETE'))
      AND NOT (tablename = 'head' AND kind = 'UPDATE')
      AND NOT has_table_privilege(format('%I.%I', schemaname, tablename), kind)`
  const [row] = await database.query('look at the rights', text)
  if (row?.['lacking'] !== '0') throw new Error(`The role lacks ${String(row?.['lacking'])} rights`)
}
