import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Keyring } from '../../../src/daemon/access/keyring.ts'
import { type ConfiguredSource } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import type { Outcome } from '../../../src/sync/model/outcome.ts'
import { CredentialRefused, SyncError } from '../../../src/sync/model/sync-error.ts'
import type { HostAccess } from '../../../src/sync/upstream/http/host-access.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { GitHubApi } from '../../support/git/github-api.ts'
import { Authority } from '../../support/http/certificates.ts'
import { ProxyServer } from '../../support/http/proxy-server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const STEADY = new AbortController().signal
const REFUSED: Outcome = { kind: 'failed', error: new CredentialRefused('Cannot reach "x": the host answers 401') }
const UNREACHABLE: Outcome = { kind: 'failed', error: new SyncError('source-unreachable', 'Cannot reach "x"') }
const UNCHANGED = { kind: 'unchanged' } as unknown as Outcome
const FETCH_MS = 600_000
const HOUR = 3_600_000

/** A keyring, and a source with these lines. */
class Desk {
  readonly clock = new FakeClock()
  readonly redactor = new Redactor()
  readonly variables: Record<string, string> = { PATH: process.env['PATH'] ?? '', HOME: '/' }
  readonly keyring: Keyring
  readonly source: ConfiguredSource

  constructor(...lines: readonly string[]) {
    const environment = environmentOf(this.variables, '/')
    const url = lines.some((line) => line.startsWith('url:')) ? [] : ["url: 'https://git.example.com/team/a%20b.git'"]
    const text = `sources:\n  - { id: a, ${[...url, ...lines].join(', ')} }\n`
    const config = parseConfig(text, '/etc/skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
    this.source = config.sources[0]!
    this.keyring = new Keyring({
      environment,
      redactor: this.redactor,
      clock: this.clock,
      names: undefined,
      fetchMs: FETCH_MS,
    })
  }

  /** The way of one pull that asks but once. */
  async way(): Promise<HostAccess> {
    return this.keyring.wayTo(this.source)(STEADY)
  }

  async password(): Promise<string> {
    const [, pair = ''] = /^Basic (.*)$/.exec((await this.way()).headers['authorization'] ?? '') ?? []
    return Buffer.from(pair, 'base64').toString()
  }

  async failure(): Promise<SyncError> {
    const failure: unknown = await this.way().catch((error: unknown) => error)
    if (failure instanceof SyncError) return failure
    throw new Error('expected a SyncError', { cause: failure })
  }

  heard(outcome: Outcome): Promise<void> {
    return this.keyring.heard(this.source, outcome, STEADY)
  }
}

test.each(['', ' \t\n', '\n\n'])(
  'one pull goes on with the last token of a file that holds %j, the next fails',
  async (blank) => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'token')
    await writeFile(file, 'good-token\n')
    const desk = new Desk(`auth: { token: { file: '${file}' } }`)
    expect(await desk.password()).toBe('x-access-token:good-token')
    await writeFile(file, blank)

    const pull = desk.keyring.wayTo(desk.source)
    const [first, second] = [await pull(STEADY), await pull(STEADY)]
    const next = await desk.failure()
    await writeFile(file, 'new-token')

    expect(second).toEqual(first)
    expect(first.headers['authorization']).toContain(Buffer.from('x-access-token:good-token').toString('base64'))
    expect(next).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining(file) })
    expect(await desk.password()).toBe('x-access-token:new-token')
  },
)

test('a secret of white space is never sent, whatever it is read from', async () => {
  const desk = new Desk('auth: { token: { env: TOKEN } }')
  desk.variables['TOKEN'] = '   '

  expect(await desk.failure()).toMatchObject({
    code: 'credentials-rejected',
    message: 'Cannot use the environment variable "TOKEN": it contains only white space',
  })
})

test('a header of its own is sent as it is read, anew for each use', async () => {
  const desk = new Desk('auth: { header: { name: X-Api-Key, value: { env: KEY } } }')
  desk.variables['KEY'] = 'first'
  const way = desk.keyring.wayTo(desk.source)

  const before = await way(STEADY)
  desk.variables['KEY'] = 'second'
  const after = await way(STEADY)

  expect([before.headers, after.headers]).toEqual([{ 'x-api-key': 'first' }, { 'x-api-key': 'second' }])
  expect(desk.redactor.clean('first second')).toBe('*** ***')
})

describe('a GitHub App', () => {
  test('asks for a token with its key, for reading alone, and uses it for as long as it outlives a fetch', async () => {
    await using api = await GitHubApi.start()
    const desk = appDesk(api)
    const now = desk.clock.now().getTime()
    api.tokens = { prefix: 'ghs_one', expiresAt: new Date(now + HOUR) }

    const first = await desk.password()
    await desk.clock.advance(HOUR - FETCH_MS - 121_000)
    const second = await desk.password()

    expect([first, second]).toEqual(['x-access-token:ghs_one1', 'x-access-token:ghs_one1'])
    expect(api.requests).toEqual([
      {
        url: 'POST /api/v3/app/installations/9/access_tokens',
        claims: { iat: now / 1000 - 60, exp: now / 1000 + 540, iss: '7' },
        body: { permissions: { contents: 'read' } },
      },
    ])
  })

  test('a token that a long fetch could outlive is renewed before the fetch', async () => {
    await using api = await GitHubApi.start()
    const desk = appDesk(api)
    api.tokens = { prefix: 'ghs_one', expiresAt: new Date(desk.clock.now().getTime() + HOUR) }
    await desk.password()
    await desk.clock.advance(HOUR - FETCH_MS)

    const renewed = await desk.password()

    expect(renewed).toBe('x-access-token:ghs_one2')
    for (const secret of ['ghs_one1', 'ghs_one2', api.privateKey.split('\n')[3]!]) {
      expect(desk.redactor.clean(`(${secret})`)).toBe('(***)')
    }
  })

  test('a token that the host refused is not used again, and one it did not judge is', async () => {
    await using api = await GitHubApi.start()
    const desk = appDesk(api)
    api.tokens = { prefix: 'ghs_one', expiresAt: new Date(desk.clock.now().getTime() + HOUR) }
    await desk.password()

    await desk.heard(UNREACHABLE)
    const same = await desk.password()
    await desk.heard(REFUSED)
    const next = await desk.password()

    expect([same, next]).toEqual(['x-access-token:ghs_one1', 'x-access-token:ghs_one2'])
  })

  test('a token that is shorter than a fetch is used for half of its time, and not made anew for each use', async () => {
    await using api = await GitHubApi.start()
    const desk = appDesk(api)
    api.tokens = { prefix: 'ghs_one', expiresAt: new Date(desk.clock.now().getTime() + 60_000) }

    await desk.password()
    await desk.clock.advance(29_000)
    await desk.password()
    await desk.clock.advance(2_000)
    await desk.password()

    expect(api.requests).toHaveLength(2)
  })

  test.each([
    [401, {}, 'credentials-rejected', 'does not accept the key'],
    [404, {}, 'credentials-rejected', 'no such installation'],
    [422, {}, 'credentials-rejected', 'may not read contents'],
    [403, {}, 'credentials-rejected', '403'],
    [403, { 'x-ratelimit-remaining': '0' }, 'rate-limited', 'pause'],
    [429, { 'retry-after': '9' }, 'rate-limited', 'pause'],
    [302, { location: 'http://127.0.0.1:1/' }, 'source-unreachable', '302'],
    [500, {}, 'source-unreachable', '500'],
    [200, {}, 'source-unreachable', 'without a token'],
    [201, {}, 'source-unreachable', 'no token'],
  ] as const)('is told why, when the API answers %i %j', async (status, headers, code, why) => {
    await using api = await GitHubApi.start()
    api.fault = { status, headers, body: '{"token": 7}' }

    const failure = await appDesk(api).failure()

    expect(failure).toMatchObject({ code, message: expect.stringContaining(why) })
    expect(failure.message).toContain('Cannot get a token for GitHub App 7')
    expect(failure).not.toBeInstanceOf(CredentialRefused)
  })

  test.each([
    ['no key at all', 'CANARY'],
    ['a damaged key', '-----BEGIN RSA PRIVATE KEY-----\nCANARYCANARYCANARYCANARY\n-----END RSA PRIVATE KEY-----'],
  ])('%s is named, and not shown', async (_, pem) => {
    await using api = await GitHubApi.start()
    const desk = appDesk(api)
    desk.variables['APP_KEY'] = pem

    const failure = await desk.failure()

    expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining('"APP_KEY"') })
    expect(`${failure.message} ${String(failure.cause)}`).not.toContain('CANARY')
    expect(api.requests).toEqual([])
  })

  test('an answer without end is not read to its end', async () => {
    await using api = await GitHubApi.start()
    api.fault = { status: 201, body: `{"token": "${'x'.repeat(9_000_000)}"}` }

    expect(await appDesk(api).failure()).toMatchObject({ code: 'limit-exceeded' })
  })

  test('its API is asked through the proxy of the source, and not without it', async () => {
    await using api = await GitHubApi.start()
    await using proxy = await ProxyServer.start(new URL(api.url).origin)
    const desk = appDesk(api, `proxy: { url: '${proxy.url}' }`)

    await desk.way()
    proxy.status = 407
    await desk.heard(REFUSED)
    const failure = await desk.failure()

    expect(proxy.requests[0]?.target).toContain('/app/installations/9/access_tokens')
    expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining(proxy.url) })
    expect(api.requests).toHaveLength(1)
  })
})

describe('a credential helper', () => {
  test('is asked for the path and then for the host, and gets PATH, HOME and what it is given', async () => {
    await using helper = await FakeHelper.create('case "$in" in *path=*) ;; *) echo username=u; echo password=p;; esac')
    const desk = helper.desk('env: { OWN: { value: yes }, FROM: { env: SECRET } }')
    desk.variables['SECRET'] = 'hidden'
    desk.variables['OTHER'] = 'not for it'

    const password = await desk.password()

    const capabilities = 'capability[]=authtype\ncapability[]=state\n'
    expect(password).toBe('u:p')
    expect(await helper.calls()).toEqual([
      `get\n${capabilities}protocol=https\nhost=git.example.com\npath=team/a b.git\n`,
      `get\n${capabilities}protocol=https\nhost=git.example.com\n`,
    ])
    expect((await helper.environment()).filter((line) => !/^(?:PWD|SHLVL|_|OLDPWD)=/.test(line))).toEqual(
      ['FROM=hidden', 'HOME=/', 'OWN=yes', `PATH=${desk.variables['PATH']}`].toSorted(),
    )
    expect(desk.redactor.clean('hidden')).toBe('***')
  })

  test('is asked once for a pull, and again for the next', async () => {
    await using helper = await FakeHelper.create('echo username=u; echo password=p')
    const desk = helper.desk()
    const way = desk.keyring.wayTo(desk.source)

    await way(STEADY)
    await way(STEADY)
    await desk.way()

    expect(await helper.calls()).toHaveLength(2)
  })

  test('is told to erase what the host refused, and to store once what it took', async () => {
    await using helper = await FakeHelper.create(
      'echo username=u; echo password=p; echo password_expiry_utc=99999999999',
    )
    const desk = helper.desk()

    for (const outcome of [UNREACHABLE, UNCHANGED, UNCHANGED, REFUSED, UNCHANGED]) {
      await desk.way()
      await desk.heard(outcome)
    }

    const told = (await helper.calls()).filter((call) => !call.startsWith('get'))
    const rest =
      'protocol=https\nhost=git.example.com\npath=team/a b.git\nusername=u\npassword=p\npassword_expiry_utc=99999999999\n'
    expect(told).toEqual([`store\n${rest}`, `erase\n${rest}`, `store\n${rest}`])
  })

  test('can give a whole header, which is not stored where it says so', async () => {
    await using helper = await FakeHelper.create(
      'echo "capability[]=authtype"; echo authtype=Bearer; echo credential=CANARY; echo ephemeral=1; echo "state[]=one"',
    )
    const desk = helper.desk()

    const { headers } = await desk.way()
    await desk.heard(UNCHANGED)

    expect(headers).toEqual({ authorization: 'Bearer CANARY' })
    expect(desk.redactor.clean('CANARY')).toBe('***')
    expect(await helper.calls()).toHaveLength(1)
  })

  test.each([
    ['gives nothing', '', 'it gives none'],
    ['says that nobody is to be asked', 'echo quit=1', 'it gives none'],
    ['gives one that has expired', 'echo password=CANARY; echo password_expiry_utc=1', 'has expired'],
    ['fails', 'echo password=CANARY; echo CANARY >&2; exit 4', 'it ends with status 4'],
    ['says something else', 'echo CANARY', 'not a list of attributes'],
    ['says what no header can hold', 'printf "password=CANARY\\033[2J\\n"', 'not a list of attributes'],
    ['says too much', 'yes', 'more than 65536 bytes'],
    ['takes too long', 'echo password=CANARY; exec sleep 1000', 'it is not done after 1000 ms'],
  ])('that %s is named, and what it said is not shown', async (_, script, why) => {
    await using helper = await FakeHelper.create(script)

    const failure = await helper.desk('timeout: 1s').failure()

    expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining(why) })
    expect(failure.message).toContain(helper.command)
    expect(`${failure.message} ${String(failure.cause)}`).not.toContain('CANARY')
  })

  test('that is not there is named', async () => {
    const desk = new Desk('auth: { helper: { command: /no/such/program } }')

    expect(await desk.failure()).toMatchObject({
      code: 'credentials-rejected',
      message: 'Cannot run the credential helper "/no/such/program": it cannot be started (ENOENT)',
    })
  })

  test('of git itself is understood: what it stored for a host is found, and erased when the host refuses it', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'credentials')
    await writeFile(file, 'https://u:p@git.example.com\nhttps://v:q@elsewhere.example.com\n')
    const desk = new Desk(`auth: { helper: { command: git, args: [credential-store, --file, '${file}'] } }`)

    const password = await desk.password()
    await desk.heard(UNCHANGED)
    const kept = await readFile(file, 'utf8')
    await desk.way()
    await desk.heard(REFUSED)

    expect(password).toBe('u:p')
    expect(kept).toContain('https://u:p@git.example.com')
    expect(await readFile(file, 'utf8')).toBe('https://v:q@elsewhere.example.com\n')
    expect(await desk.failure()).toMatchObject({ message: expect.stringContaining('it gives none') })
  })
})

describe('a proxy of the environment', () => {
  const PROXY = 'http://u:p%40ss@proxy.example.com:3128'

  test('leads to hosts by the scheme of their addresses, and what it wants to know is kept out of all that is said', async () => {
    const desk = new Desk('nested: as-skills')
    Object.assign(desk.variables, { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other.example.com' })

    const { route } = await desk.way()

    const authorization = `Basic ${Buffer.from('u:p@ss').toString('base64')}`
    expect(route.proxy).toEqual({
      url: 'http://proxy.example.com:3128',
      headers: { 'proxy-authorization': authorization },
    })
    expect(desk.redactor.clean('p@ss and p%40ss')).toBe('*** and ***')
  })

  test.each([
    ['https_proxy', 'proxy.example.com:3128', 'http://proxy.example.com:3128'],
    ['HTTPS_PROXY', 'https://proxy.example.com', 'https://proxy.example.com'],
    ['HTTPS_PROXY', '  ', undefined],
    ['HTTP_PROXY', 'http://proxy.example.com', undefined],
  ])('%s=%s leads to an https address by way of %s', async (name, value, url) => {
    const desk = new Desk('nested: as-skills')
    desk.variables[name] = value

    expect((await desk.way()).route.proxy?.url).toBe(url)
  })

  test('that is none of HTTP is refused by name: nothing goes around it', async () => {
    const desk = new Desk('nested: as-skills')
    desk.variables['HTTPS_PROXY'] = 'socks5://user:CANARY@proxy.example.com'

    const failure = await desk.failure()

    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining('HTTPS_PROXY') })
    expect(failure.message).not.toContain('CANARY')
  })

  test.each([
    ['*', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['GIT.example.com', true],
    ['git.example.com:443', true],
    ['other.example.org, git.example.com', true],
    ['git.example.com:8443', false],
    ['ample.com', false],
    ['git.example.com.evil.org', false],
    ['', false],
    ['.', false],
  ])('NO_PROXY=%j leaves out git.example.com: %s', async (value, isLeftOut) => {
    const desk = new Desk('nested: as-skills')
    Object.assign(desk.variables, { HTTPS_PROXY: PROXY, NO_PROXY: value })

    expect((await desk.way()).route.proxy === undefined).toBe(isLeftOut)
  })

  test.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '11.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.0.0.0/99', false],
    ['[fd00::1]', 'fd00::/8', true],
    ['[fd00::1]', 'fd00::1', true],
    ['[fd00::1]', '[fd00::1]:443', true],
    ['[fd00::1]', '[fd00::1]:80', false],
    ['[fd00::1]', '10.0.0.0/8', false],
  ])('the address %s is left out by NO_PROXY=%s: %s', async (host, value, isLeftOut) => {
    const desk = new Desk(`url: 'https://${host}/a.git'`)
    Object.assign(desk.variables, { HTTPS_PROXY: PROXY, NO_PROXY: value })

    expect((await desk.way()).route.proxy === undefined).toBe(isLeftOut)
  })

  test.each(['http://127.0.0.1:1/a.git', 'https://localhost/a.git', 'https://[::1]/a.git'])(
    'never leads to %s, and `proxy: none` never to any',
    async (url) => {
      const desk = new Desk(`url: '${url}'`)
      const none = new Desk('proxy: none')
      for (const { variables } of [desk, none]) Object.assign(variables, { HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY })

      expect((await desk.way()).route.proxy).toBeUndefined()
      expect((await none.way()).route.proxy).toBeUndefined()
    },
  )
})

describe('a file of authorities', () => {
  test('is read anew for each use, and nothing of it but certificates is taken', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'ca.pem')
    const desk = new Desk(`ca: '${file}'`)
    const [first, second] = [new Authority('One').cert, new Authority('Two').cert]
    const way = desk.keyring.wayTo(desk.source)

    await writeFile(file, `# ours\n${first}-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----\n`)
    const before = await way(STEADY)
    await writeFile(file, first + second)
    const after = await way(STEADY)

    expect(before.route.ca).toBe(first)
    expect(after.route.ca).toBe(first + second)
  })

  test.each([
    ['no such file', async () => {}],
    ['it is not a plain file', async (path: string) => mkdir(path)],
    ['there is none in PEM form', async (path: string) => writeFile(path, 'nothing')],
    ['it is over 1048576 bytes', async (path: string) => writeFile(path, 'x'.repeat(1_048_577))],
    [
      'number 2 is damaged',
      async (path: string) =>
        writeFile(path, `${new Authority().cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`),
    ],
  ])('that cannot be used is named: %s', async (why, make) => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'ca.pem')
    await make(file)

    const failure = await new Desk(`ca: '${file}'`).failure()

    expect(failure).toMatchObject({ code: 'tls-failed', message: expect.stringContaining(`"${file}": ${why}`) })
  })
})

test('a repository on this disk is reached without anything of it', async () => {
  const desk = new Desk("url: 'file:///srv/a.git'", "ca: '/no/such/file'")
  desk.variables['HTTP_PROXY'] = 'http://proxy.example.com'

  expect(await desk.way()).toEqual({ headers: {}, route: { ca: undefined, proxy: undefined } })
})

function appDesk(api: GitHubApi, ...lines: readonly string[]): Desk {
  const app = `{ app_id: 7, installation_id: 9, private_key: { env: APP_KEY }, api_url: '${api.url}' }`
  const desk = new Desk(`auth: { github_app: ${app} }`, ...lines)
  desk.variables['APP_KEY'] = api.privateKey
  return desk
}

/** A helper that writes down how it was called and then runs a script, with its input in `$in`. */
class FakeHelper implements AsyncDisposable {
  readonly command: string
  readonly #folder: AsyncDisposable & { readonly path: string }

  private constructor(folder: AsyncDisposable & { readonly path: string }) {
    this.#folder = folder
    this.command = join(folder.path, 'helper')
  }

  static async create(script: string): Promise<FakeHelper> {
    const helper = new FakeHelper(await temporaryFolder())
    const { path } = helper.#folder
    const lines = [
      '#!/bin/sh',
      `/usr/bin/env > ${path}/environment`,
      'in=$(cat)',
      `printf '%s\\n%s\\n\\0' "$1" "$in" >> ${path}/calls`,
      'test "$1" = get || exit 0',
      script,
    ]
    await writeFile(helper.command, `${lines.join('\n')}\n`, { mode: 0o755 })
    return helper
  }

  desk(...lines: readonly string[]): Desk {
    return new Desk(`auth: { helper: { ${[`command: '${this.command}'`, ...lines].join(', ')} } }`)
  }

  /** The operation and the input of each. */
  async calls(): Promise<string[]> {
    return (await readFile(join(this.#folder.path, 'calls'), 'utf8')).split('\0').slice(0, -1)
  }

  async environment(): Promise<string[]> {
    return (await readFile(join(this.#folder.path, 'environment'), 'utf8')).split('\n').filter(Boolean).toSorted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
