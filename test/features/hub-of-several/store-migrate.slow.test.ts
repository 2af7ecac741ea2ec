import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { Home } from '../../support/process/program.ts'

describePostgres('skillsyncd store migrate', (server) => {
  beforeAll(async () => {
    await using database = PostgresDatabase.at({ url: await server.createDatabase() })
    await database.query('prepare', 'CREATE ROLE runner LOGIN')
  }, 120_000)

  test('the owner makes the schema, and the role of the processes can use it then', async () => {
    await using home = await Home.create()
    const url = await server.createDatabase()
    const owner = join(home.path, 'owner.url')
    await writeFile(owner, `${url}\n`, { mode: 0o600 })

    const end = await home.command('store', 'migrate', '--owner', owner, '--grant', 'runner')

    expect(end).toMatchObject({ status: 0, stderr: '' })
    expect(end.stdout).toMatch(/^The database has version \d+\nGRANT USAGE ON SCHEMA skillsyncd TO "runner";\n/)
    await using database = await PostgresDatabase.open({ url: url.replace('//test@', '//runner@') })
    expect(await database.query('look', 'SELECT FROM skillsyncd.present')).toHaveLength(1)
  })

  test('without --owner it uses the configured address, and says what it did as JSON', async () => {
    await using home = await Home.create()
    await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])
    home.env['DATABASE'] = await server.createDatabase()

    const first = await home.command('store', 'migrate', '--json')
    const again = await home.command('store', 'migrate', '--json', '--grant', 'runner')

    expect(JSON.parse(first.stdout)).toEqual({ version: expect.any(Number), granted: [] })
    expect(JSON.parse(again.stdout)).toMatchObject({
      granted: expect.arrayContaining([expect.stringContaining('GRANT USAGE')]),
    })
  })

  test('a role that does not exist, and a database that cannot be reached, are failures that show no password', async () => {
    await using home = await Home.create()
    await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])
    home.env['DATABASE'] = await server.createDatabase()
    const unknown = await home.command('store', 'migrate', '--grant', 'nobody-here')
    home.env['DATABASE'] = 'postgres://hub:s3cret-word@127.0.0.1:9/hub'

    const away = await home.command('store', 'migrate')

    expect(unknown).toMatchObject({ status: 1, stdout: '' })
    expect(unknown.stderr).toContain('Cannot give "nobody-here" its rights: role "nobody-here" does not exist')
    expect(away).toMatchObject({ status: 1, stdout: '' })
    expect(away.stderr).toContain('Cannot bring the database to this version: connect ECONNREFUSED 127.0.0.1:9')
    expect(away.stderr).not.toContain('s3cret')
  })
})

test('without an address there is nothing to migrate', async () => {
  await using home = await Home.create()
  await home.configure({ team: [`path: ${home.path}`] })

  const end = await home.command('store', 'migrate')

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('store migrate needs --owner FILE, or a configuration with store.postgres')
})
