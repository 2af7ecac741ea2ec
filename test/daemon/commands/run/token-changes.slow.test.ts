import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { Home } from '../../../support/process/program.ts'

describePostgres('tokens of a hub of several processes', (server) => {
  async function machine(url: string): Promise<Home> {
    const home = await Home.create()
    home.env['DATABASE'] = url
    await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])
    return home
  }

  test('before the first process has started, a token is added in the database, and a process off loopback starts', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await machine(url), await machine(url)]

    const added = await one.command('hub', 'token', 'add', 'ada')
    const twice = await other.command('hub', 'token', 'add', 'ada')
    const daemon = other.start('start', '--host', '0.0.0.0', '--port', '0')

    expect(added).toMatchObject({ status: 0, stdout: expect.stringMatching(/^sks_/) })
    expect(twice).toMatchObject({ status: 1, stderr: expect.stringContaining('There is a token "ada" already') })
    expect(await daemon.line()).toMatch(/^http:/)
    expect((await other.command('hub', 'token', 'list')).stdout).toContain('ada')
  })

  test('a token of a file is added at each machine, and is no error the second time', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await machine(url), await machine(url)]
    const secret = join(one.path, 'token')
    await writeFile(secret, `sks_${'a'.repeat(43)}\n`)

    const ends = [
      await one.command('hub', 'token', 'add', 'clients', '--from', secret),
      await other.command('hub', 'token', 'add', 'clients', '--from', secret),
    ]

    expect(ends.map(({ status }) => status)).toEqual([0, 0])
    expect(ends[1]?.stdout).toContain('clients is there already, as it was')
  })

  test('a token is renewed and revoked without a daemon', async () => {
    const url = await server.createDatabase()
    const home = await machine(url)
    await home.command('hub', 'token', 'add', 'ada')

    const renewed = await home.command('hub', 'token', 'renew', 'ada', '--expires', 'never')
    await using shared = SharedStore.at({ url })
    const between = await shared.documents.read('tokens')
    const revoked = await home.command('hub', 'token', 'revoke', 'ada')
    const after = await shared.documents.read('tokens')

    expect([renewed.status, revoked.status]).toEqual([0, 0])
    expect(JSON.parse(Buffer.from(between?.bytes ?? []).toString())).toMatchObject({ tokens: [{ name: 'ada' }] })
    expect(Buffer.from(between?.bytes ?? []).toString()).not.toContain('expires')
    expect(JSON.parse(Buffer.from(after?.bytes ?? []).toString())).toEqual({ tokens: [] })
  })

  test('without the database nothing is changed', async () => {
    const home = await machine('postgres://hub:s3cret-word@127.0.0.1:9/hub')

    const end = await home.command('hub', 'token', 'add', 'ada')

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).not.toContain('s3cret')
  })
})
