import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sharedStoreOf } from '../../../src/daemon/access/open-shared.ts'
import type { SecretReference } from '../../../src/daemon/config/auth.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { freePort } from '../../support/free-port.ts'
import { postgresPrograms, startPostgres } from '../../support/postgres.ts'
import { loadedBy } from '../../support/process/loaded-files.ts'
import { Home } from '../../support/process/program.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const SECRET: SecretReference = { kind: 'env', name: 'DATABASE' }

/** The error of a configuration whose variable has this address, with what the redactor leaves of a text. */
async function refusalOf(address: string): Promise<unknown> {
  const opened = sharedStoreOf(
    { postgres: { url: SECRET } },
    environmentOf({ DATABASE: address }, '/home/ada'),
    new Redactor(),
  )
  return opened.then(
    async (store) => store?.[Symbol.asyncDispose](),
    (error: unknown) => error,
  )
}

test('a hub of one process has no shared store', async () => {
  expect(await sharedStoreOf({ postgres: undefined }, environmentOf({}, '/home/ada'), new Redactor())).toBeUndefined()
})

test.each([
  'postgres://hub:pass@db.example.com/hub?sslmode=verify-full',
  'postgresql://hub@db.example.com:5433/hub?sslmode=disable',
  'postgres://hub:pass@db.example.com/hub?sslmode=no-verify&sslcert=/c.pem&sslkey=/k.pem',
  'postgres://hub:pass@localhost/hub',
  'postgres://hub:pass@127.0.0.1:5433/hub',
  'postgres://hub:pass@[::1]/hub',
  'postgres://hub@/hub?host=/run/postgresql',
  'postgres://hub@/hub?host=%2Frun%2Fpostgresql&port=5433',
  'postgres://hub@%2Frun%2Fpostgresql/hub',
])('%s is an address', async (address) => {
  expect(await refusalOf(address)).toBeUndefined()
})

const FORM = 'it is not of the form postgres://USER:PASSWORD@HOST/NAME'

test.each([
  ['mysql://hub:s3cret-word@db.example.com/hub', FORM],
  ['hub:s3cret-word@db.example.com/hub', FORM],
  ['postgres://hub:s3cret-word@db.example.com:port/hub', FORM],
  ['host=db.example.com password=s3cret-word', FORM],
  ['postgres://hub:s3cret-word@db.example.com/hub', 'to another machine it needs an sslmode: verify-full'],
  ['postgres://hub:s3cret-word@/hub?host=db.example.com', 'to another machine it needs an sslmode'],
  ['postgres://hub:s3cret-word@db.example.com/hub?sslmode=require', 'it has an sslmode that is not supported'],
  ['postgres://hub:s3cret-word@db.example.com/hub?sslmode=prefer', 'it has an sslmode that is not supported'],
  ['postgres://hub:s3cret-word@a.example.com,b.example.com/hub?sslmode=disable', 'it names several hosts'],
  ['postgres://hub:s3cret-word@/hub', 'it has no host'],
  ['postgres:///hub', 'it has no host'],
  ['postgres://hub:s3cret-word@10.0.0.1/hub?sslmode=verify-full', 'verify-full needs the name of the host'],
  ['postgres://hub:s3cret-word@[::1]/hub?sslmode=verify-full', 'verify-full needs the name of the host'],
  ['postgres://hub:s3cret-word@localhost/hub?statement_timeout=0', 'it has a parameter that is not supported'],
  ['postgres://hub:s3cret-word@localhost/hub?uselibpqcompat=true', 'it has a parameter that is not supported'],
  ['postgres://hub:s3cret-word@localhost/hub?sslmode=disable&sslmode=no-verify', 'it has sslmode twice'],
])('%s is refused', async (address, reason) => {
  const error = await refusalOf(address)

  expect(error).toMatchObject({ code: 'bad-config' })
  expect(String(error)).toContain(
    `Cannot use the environment variable "DATABASE" as the address of the database: ${reason}`,
  )
  expect(String(error)).not.toContain('s3cret')
  expect(String(error)).not.toContain('example.com')
})

test('the address and the password in it, as it is written and as it is meant, are removed from what is logged', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'url')
  const address = 'postgres://hub:p%40ss%2Fword%2Done@localhost/hub?password=other-pass%21'
  await writeFile(file, `${address}\n`, { mode: 0o600 })
  const redactor = new Redactor()

  await using _store = await sharedStoreOf(
    { postgres: { url: { kind: 'file', path: file } } },
    environmentOf({}, '/home/ada'),
    redactor,
  )

  for (const secret of [address, 'p@ss/word-one', 'p%40ss%2Fword%2Done', 'other-pass!', 'other-pass%21'])
    expect(redactor.clean(`It has ${secret} here`)).toBe('It has *** here')
})

test('a password is removed also if the address cannot be used', async () => {
  const redactor = new Redactor()
  const address = 'postgres://hub:s3cret-word@db.example.com/hub'

  await sharedStoreOf({ postgres: { url: SECRET } }, environmentOf({ DATABASE: address }, '/home/ada'), redactor).catch(
    () => {},
  )

  expect(redactor.clean('The password is s3cret-word')).toBe('The password is ***')
})

const programs = await postgresPrograms()

test.skipIf(programs === undefined)('the store at the address opens', { timeout: 120_000 }, async () => {
  await using server = await startPostgres(programs ?? '')
  const address = await server.createDatabase()
  const environment = environmentOf({ DATABASE: address }, '/home/ada')

  await using store = await sharedStoreOf({ postgres: { url: SECRET } }, environment, new Redactor())
  await store?.open()

  expect(await store?.documents.read('decisions')).toEqual({ version: 0, bytes: undefined })
})

test.skipIf(programs === undefined)('a connection with TLS checks the certificate', { timeout: 120_000 }, async () => {
  const tlsPort = await freePort()
  await using server = await startPostgres(programs ?? '', { tlsPort })
  const name = new URL((await server.createDatabase()).replace('@/', '@host/')).pathname
  const at = (query: string): string => `postgres://test@localhost:${tlsPort}${name}?${query}`
  const opened = async (address: string): Promise<unknown> => {
    const environment = environmentOf({ DATABASE: address }, '/home/ada')
    await using store = await sharedStoreOf({ postgres: { url: SECRET } }, environment, new Redactor())
    await store?.open()
    const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    return (await store?.database.query('look at the connection', text))?.[0]?.['ssl']
  }

  const trusted = await opened(at(`sslmode=verify-full&sslrootcert=${encodeURIComponent(server.certificate)}`))
  const unchecked = await opened(at('sslmode=no-verify'))
  const inClear = await opened(at('sslmode=disable'))

  expect([trusted, unchecked, inClear]).toEqual([true, true, false])
  await expect(opened(at('sslmode=verify-full'))).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringMatching(/^Cannot reach the database: self.signed certificate/),
  })
  await expect(opened(at('sslmode=verify-full&sslrootcert=/none.pem'))).rejects.toMatchObject({ code: 'store-failed' })
})

test('a program without a database does not load its client', async () => {
  await using home = await Home.create()
  await home.configure({ team: [`path: ${home.path}`] })

  const served = await loadedBy(home, 'mcp')
  const synced = await loadedBy(home, 'sync')
  await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])
  home.env['DATABASE'] = 'postgres://hub@127.0.0.1:9/hub'
  const migrated = await loadedBy(home, 'store', 'migrate')

  expect(migrated.packages).toContain('pg')
  for (const { packages } of [served, synced]) {
    expect(packages).toContain('zod')
    expect(packages.filter((name) => name.startsWith('pg'))).toEqual([])
  }
})

test('a process that a client started refuses a configuration with a database', async () => {
  await using home = await Home.create()
  await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])

  const end = await home.command('mcp')

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('mcp cannot use a configuration with store.postgres')
})

test.each([['sync'], ['hold', 'team'], ['approve', 'team']])(
  '%s without the daemon of a hub refuses to publish beside the leader',
  async (...words) => {
    await using home = await Home.create()
    await home.configure({ team: [`path: ${home.path}`] }, ['store: { postgres: { url: { env: DATABASE } } }'])

    const end = await home.command(...words)

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toContain(`no daemon runs for "${home.state}"; start it with skillsyncd start`)
  },
)
