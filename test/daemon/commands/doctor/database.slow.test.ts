import { expect, test } from 'vitest'
import { PostgresDatabase } from '../../../../src/sync/postgres/postgres-database.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { Home } from '../../../support/process/program.ts'

/** The results of `doctor` that concern the database or its address. */
async function foundAbout(home: Home, ...options: readonly string[]): Promise<readonly object[]> {
  const { stdout } = await home.command('doctor', '--json', ...options)
  const { checks }: { readonly checks: readonly { readonly subject?: string; readonly check: string }[] } =
    JSON.parse(stdout)
  return checks.filter(({ check }) => check === 'database' || check === 'secret')
}

async function hub(url: string): Promise<Home> {
  const home = await Home.create()
  home.env['DATABASE'] = url
  await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])
  return home
}

describePostgres('skillsyncd doctor in a hub of several processes', (server) => {
  test('a database without the schema is a warning and stays as it is; with the schema all is well', async () => {
    const url = await server.createDatabase()
    const home = await hub(url)

    const before = await foundAbout(home)
    await home.command('store', 'migrate')
    const after = await foundAbout(home)

    expect(before).toContainEqual(
      expect.objectContaining({ check: 'database', verdict: 'warn', message: 'it has no schema yet' }),
    )
    expect(after).toContainEqual({
      check: 'database',
      subject: 'store.postgres',
      verdict: 'ok',
      message: expect.stringMatching(/^PostgreSQL \d+, schema of version \d+$/),
    })
    expect(after).toContainEqual(expect.objectContaining({ check: 'secret', verdict: 'ok' }))
    expect(await foundAbout(home, '--offline')).not.toContainEqual(expect.objectContaining({ check: 'database' }))
  })

  test('a schema that this program does not know is a failure', async () => {
    const url = await server.createDatabase()
    await using database = await PostgresDatabase.open({ url })
    await database.query('write', 'INSERT INTO skillsyncd.migration VALUES (99, 99)')

    expect(await foundAbout(await hub(url))).toContainEqual(
      expect.objectContaining({
        verdict: 'fail',
        message: 'its schema has version 99, which this program does not know',
      }),
    )
  })
})

test('a database that is away, and an address that cannot be used, are failures that show no password', async () => {
  const away = await foundAbout(await hub('postgres://hub:s3cret-word@127.0.0.1:9/hub'))
  const wrong = await foundAbout(await hub('postgres://hub:s3cret-word@db.example.com/hub'))

  expect(away).toContainEqual(
    expect.objectContaining({
      check: 'database',
      verdict: 'fail',
      message: expect.stringContaining('ECONNREFUSED'),
      fix: 'Correct the address in the environment variable "DATABASE", or start the server',
    }),
  )
  expect(wrong).toContainEqual(
    expect.objectContaining({
      check: 'database',
      verdict: 'fail',
      message: expect.stringContaining('it needs an sslmode'),
    }),
  )
  expect(JSON.stringify([away, wrong])).not.toContain('s3cret')
})

test('a hub of one process has no database to check', async () => {
  const home = await Home.create()
  await home.configure({ team: [`path: ${home.path}`] })

  expect(await foundAbout(home)).toEqual([])
})
