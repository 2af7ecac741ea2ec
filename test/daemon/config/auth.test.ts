import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type FixedAccess, headersOf, sshAccessOf } from '../../../src/daemon/config/auth.ts'
import { type Environment, environmentOf } from '../../../src/daemon/config/environment.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { temporaryFolder } from '../../support/temporary.ts'

function decoded(header: string | undefined): string {
  return Buffer.from(header?.replace('Basic ', '') ?? '', 'base64').toString()
}

function access(password: Extract<FixedAccess, { kind: 'basic' }>['password']): FixedAccess {
  return { kind: 'basic', username: 'x-access-token', password }
}

function authorizationOf(access: FixedAccess, environment: Environment, redactor: Redactor) {
  return async () => (await headersOf(access, environment, redactor))['authorization']
}

test('without a credential there is no header', async () => {
  expect(await headersOf({ kind: 'none' }, environmentOf({}, '/'), new Redactor())).toEqual({})
})

test('a token from the environment is read anew before each use', async () => {
  const variables: Record<string, string> = { TOKEN: 'first' }
  const authorization = authorizationOf(
    access({ kind: 'env', name: 'TOKEN' }),
    environmentOf(variables, '/'),
    new Redactor(),
  )

  const before = await authorization()
  variables['TOKEN'] = 'second'
  const after = await authorization()

  expect(decoded(before)).toBe('x-access-token:first')
  expect(decoded(after)).toBe('x-access-token:second')
})

test('a token from a file is read anew, without the line break at its end', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'token')
  const authorization = authorizationOf(access({ kind: 'file', path }), environmentOf({}, '/'), new Redactor())

  await writeFile(path, 'first\n')
  const before = await authorization()
  await writeFile(path, 'sécond\r\n')
  const after = await authorization()

  expect(decoded(before)).toBe('x-access-token:first')
  expect(decoded(after)).toBe('x-access-token:sécond')
})

test('a credential of the service manager is a file of its folder', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'git-token'), 'secret')
  const reference = access({ kind: 'credential', name: 'git-token' })

  const given = await authorizationOf(
    reference,
    environmentOf({ CREDENTIALS_DIRECTORY: folder.path }, '/'),
    new Redactor(),
  )()
  const missing = authorizationOf(reference, environmentOf({}, '/'), new Redactor())()

  expect(decoded(given)).toBe('x-access-token:secret')
  await expect(missing).rejects.toThrow('Cannot read the credential "git-token": CREDENTIALS_DIRECTORY is not set')
})

test.each([
  ['no such file', async () => {}],
  ['it is not a plain file', async (path: string) => mkdir(path)],
  ['it is not a plain file', async (path: string) => promisify(execFile)('mkfifo', [path])],
  ['it is over 65536 bytes', async (path: string) => writeFile(path, 'canary'.repeat(11_000))],
  ['it is not set, or empty', async (path: string) => writeFile(path, '\n')],
  ['it holds a line break', async (path: string) => writeFile(path, 'canary\ncanary')],
  ['it is not valid UTF-8', async (path: string) => writeFile(path, Buffer.from([0xff, 0x63]))],
])('a credential file that cannot be used is named, and its content is not: %s', async (reason, make) => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'token')
  await make(path)

  const error = await authorizationOf(access({ kind: 'file', path }), environmentOf({}, '/'), new Redactor())().catch(
    (error: unknown) => error,
  )

  expect(error).toBeInstanceOf(SyncError)
  expect(error).toMatchObject({
    code: 'credentials-rejected',
    message: expect.stringContaining(`credential file "${path}": ${reason}`),
  })
  expect(String(error)).not.toContain('canary')
})

test('an environment variable that is not set is named', async () => {
  const authorization = authorizationOf(access({ kind: 'env', name: 'TOKEN' }), environmentOf({}, '/'), new Redactor())

  await expect(authorization()).rejects.toMatchObject({
    code: 'credentials-rejected',
    message: 'Cannot use the environment variable "TOKEN": it is not set, or empty',
  })
})

test('whatever secret is read is taken out of all that is said from then on', async () => {
  const redactor = new Redactor()
  const variables = { TOKEN: 'canary-3f9a' }

  const header = await authorizationOf(
    access({ kind: 'env', name: 'TOKEN' }),
    environmentOf(variables, '/'),
    redactor,
  )()

  expect(redactor.clean('token canary-3f9a')).not.toContain('canary')
  expect(redactor.clean(`header ${header}`)).not.toContain(header?.replace('Basic ', '') ?? 'no header')
})

const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'canaryLine'.repeat(7)}\n-----END OPENSSH PRIVATE KEY-----\n`

test('a key for ssh in a variable is read anew, and the redactor knows it by each line, and the passphrase', async () => {
  const variables: Record<string, string> = { KEY: 'an older one', PASS: 'canary-passphrase' }
  const redactor = new Redactor()
  const ssh = { key: { kind: 'env', name: 'KEY' }, passphrase: { kind: 'env', name: 'PASS' } } as const
  const access = sshAccessOf({ kind: 'ssh', ...ssh, knownHosts: '/hosts' }, environmentOf(variables, '/'), redactor)
  await access()
  variables['KEY'] = KEY

  const given = await access()

  expect(given).toMatchObject({ key: { kind: 'text', text: KEY }, knownHosts: '/hosts', systemHosts: false })
  expect(given.agent).toBeUndefined()
  expect(redactor.clean(`${'canaryLine'.repeat(7)} canary-passphrase`)).not.toContain('canary')
})

test('a key for ssh in a variable that is empty is told with the next step', async () => {
  const key = { kind: 'env', name: 'KEY' } as const
  const settings = { kind: 'ssh', key, passphrase: undefined, knownHosts: '/hosts' } as const
  const access = sshAccessOf(settings, environmentOf({ KEY: ' ' }, '/'), new Redactor())

  await expect(access()).rejects.toMatchObject({
    code: 'credentials-rejected',
    message: expect.stringMatching(/^Cannot use the environment variable "KEY": it /),
    fix: expect.stringContaining('name another secret'),
  })
})

test('a key for ssh in a file is left to ssh, and without known hosts those of the user and the system count', async () => {
  const key = { kind: 'file', path: '/nonexistent/key' } as const
  const settings = { kind: 'ssh', key, passphrase: undefined, knownHosts: undefined } as const

  const given = await sshAccessOf(settings, environmentOf({ SSH_AUTH_SOCK: '/agent' }, '/home/ada'), new Redactor())()

  expect(given).toEqual({
    key: { kind: 'file', path: '/nonexistent/key', name: 'credential file "/nonexistent/key"' },
    passphrase: undefined,
    agent: undefined,
    knownHosts: '/home/ada/.ssh/known_hosts',
    systemHosts: true,
  })
})

test("without a key, the user's agent and known hosts are used", async () => {
  const environment = environmentOf({ SSH_AUTH_SOCK: '/agent' }, '/home/ada')

  const given = await sshAccessOf({ kind: 'none' }, environment, new Redactor())()

  expect(given).toMatchObject({ key: undefined, agent: '/agent', knownHosts: '/home/ada/.ssh/known_hosts' })
})
