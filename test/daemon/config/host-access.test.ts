import { describe, expect, test } from 'vitest'
import { type Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'

const ENVIRONMENT = environmentOf({}, '/home/ada')

function parse(text: string): Config {
  const config = parseConfig(text, '/etc/skillsyncd/skillsyncd.yaml', ENVIRONMENT)
  if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  return config
}

/** The problems, as `key: message`. */
function problems(text: string): string[] {
  const config = parseConfig(text, 'skillsyncd.yaml', ENVIRONMENT)
  if (!Array.isArray(config)) throw new Error('The configuration was taken')
  return config.map(({ key, message }) => `${key}: ${message}`)
}

function sourceWith(...lines: readonly string[]): string {
  return `sources:\n  - { id: a, url: 'https://git.example.com/team/a.git', ${lines.join(', ')} }\n`
}

test('each way of proving who we are is settled with its paths absolute and its defaults filled in', () => {
  const header = parse(sourceWith('auth: { header: { name: X-Api-Key, value: { file: key } } }'))
  const app = parse(
    sourceWith('auth: { github_app: { app_id: 7, installation_id: 9, private_key: { credential: app-key } } }'),
  )
  const helper = parse(sourceWith('auth: { helper: { command: ./give, env: { A: { value: b }, C: { env: D } } } }'))
  const bare = parse(sourceWith('auth: { helper: { command: git, args: [credential-store], timeout: 5s } }'))

  expect(header.sources[0]?.access).toEqual({
    kind: 'header',
    name: 'X-Api-Key',
    value: { kind: 'file', path: '/etc/skillsyncd/key' },
  })
  expect(app.sources[0]?.access).toEqual({
    kind: 'github-app',
    appId: 7,
    installationId: 9,
    privateKey: { kind: 'credential', name: 'app-key' },
    apiUrl: 'https://api.github.com',
  })
  expect(helper.sources[0]?.access).toEqual({
    kind: 'helper',
    command: '/etc/skillsyncd/give',
    args: [],
    env: { A: { kind: 'value', value: 'b' }, C: { kind: 'env', name: 'D' } },
    timeoutMs: 30_000,
  })
  expect(bare.sources[0]?.access).toMatchObject({ command: 'git', args: ['credential-store'], timeoutMs: 5_000 })
})

test('a proxy is none, one, or what the environment says', () => {
  const [none, named, unsaid] = [
    'proxy: none',
    'proxy: { url: "http://proxy.example.com:3128/", auth: { basic: { username: u, password: { env: P } } } }',
    'ca: ~/authority.pem',
  ].map((line) => parse(sourceWith(line)).sources[0])

  expect(none?.proxy).toEqual({ kind: 'none' })
  expect(named?.proxy).toEqual({
    kind: 'named',
    url: 'http://proxy.example.com:3128',
    access: { kind: 'basic', username: 'u', password: { kind: 'env', name: 'P' } },
  })
  expect(unsaid).toMatchObject({ proxy: { kind: 'variables' }, ca: '/home/ada/authority.pem' })
})

describe('defaults', () => {
  const OF_HOST = '{ match: "https://Git.Example.com", every: 1h, ca: host.pem, auth: { token: { env: HOST } } }'
  const OF_TEAM = '{ match: "https://git.example.com/team", every: "@hourly", auth: { token: { env: TEAM } } }'

  test('a source takes what it does not say itself from the longest match that says it', () => {
    const text = `${sourceWith('proxy: none')}defaults: [${OF_TEAM}, ${OF_HOST}]`

    const [source] = parse(text).sources

    expect(source).toMatchObject({
      access: { password: { kind: 'env', name: 'TEAM' } },
      ca: '/etc/skillsyncd/host.pem',
      proxy: { kind: 'none' },
      source: { schedule: { kind: 'cron', expression: '@hourly' } },
    })
  })

  test('what a source says wins, its times too', () => {
    const text = `${sourceWith('every: 7m', 'auth: { token: { env: OWN } }')}defaults: [${OF_TEAM}, ${OF_HOST}]`

    const [source] = parse(text).sources

    expect(source).toMatchObject({
      access: { password: { kind: 'env', name: 'OWN' } },
      source: { schedule: { kind: 'every', periodMs: 420_000 } },
    })
  })

  test.each([
    ['https://git.example.com', true],
    ['HTTPS://GIT.EXAMPLE.COM:443/', true],
    ['https://git.example.com/team', true],
    ['https://git.example.com/team/', true],
    ['https://git.example.com/x/../team', true],
    ['https://git.example.com/team/a.git', true],
    ['https://git.example.com/team/a', false],
    ['https://git.example.com/te', false],
    ['https://git.example.com/Team', false],
    ['https://git.example', false],
    ['https://git.example.com:8443', false],
    ['http://git.example.com', false],
    ['https://example.com', false],
  ])('%s matches https://git.example.com/team/a.git: %s', (match, isMatch) => {
    const [source] = parse(`${sourceWith('nested: as-skills')}defaults: [{ match: '${match}', ca: /x.pem }]`).sources

    expect(source?.ca).toBe(isMatch ? '/x.pem' : undefined)
  })

  test.each([
    ['git.example.com', 'must begin with https://'],
    ['https', 'must begin with https://'],
    ['https://user:CANARY@git.example.com', 'contains a user name or a password'],
    ['https://git.example.com?x=CANARY', 'must not contain a query'],
  ])('%s is refused as a beginning of addresses', (match, why) => {
    const [problem, ...more] = problems(
      `${sourceWith('nested: as-skills')}defaults: [{ match: '${match}', ca: /x.pem }]`,
    )

    expect(problem).toContain(`defaults[0].match: ${why}`)
    expect(problem).not.toContain('CANARY')
    expect(more).toEqual([])
  })

  test.each(['git@git.example.com', 'git@git.example.com:', 'git@git.example.com:team', 'ssh://git.example.com/team'])(
    '%s can be matched',
    (match) => {
      expect(
        parse(`${sourceWith('nested: as-skills')}defaults: [{ match: '${match}', every: 1h }]`).sources,
      ).toHaveLength(1)
    },
  )

  test('the same addresses twice are refused', () => {
    const found = problems(
      `${sourceWith('nested: as-skills')}defaults: [{ match: 'https://a.example/' }, { match: 'https://A.example', every: '@daily' }]`,
    )

    expect(found).toEqual(['defaults[1].match: means the same addresses as defaults[0]; make one of the two'])
  })

  test.each(['ssh://git@a.example/team.git', 'git@a.example:team.git'])(
    'our own reader is refused for %s, whoever names it, and the line is told',
    (url) => {
      const own = parseConfig(`sources:\n  - id: a\n    url: ${url}\n    backend: embedded\n`, 'x.yaml', ENVIRONMENT)
      const [match = ''] = /^.*a\.example/.exec(url) ?? []
      const given = problems(
        `sources: [{ id: a, url: '${url}' }]\ndefaults: [{ match: '${match}', backend: embedded }]`,
      )

      expect(own).toMatchObject([
        {
          key: 'sources[0].backend',
          line: 4,
          message: expect.stringContaining('cannot be embedded for an ssh address'),
        },
      ])
      expect(given).toEqual([expect.stringContaining('sources[0].url: is given a `backend` by `defaults` that cannot')])
    },
  )

  test('a proxy with a header of its own is refused beside the git program over http(s)', () => {
    const proxy = "proxy: { url: 'http://p.example', auth: { header: { name: X-Key, value: { env: K } } } }"
    const found = problems(sourceWith('backend: system', proxy))

    expect(found).toEqual([expect.stringContaining('sources[0].backend: cannot be system beside `proxy.auth.header`')])
    expect(parse(sourceWith('backend: embedded', proxy)).sources).toHaveLength(1)
  })

  test('what speaks git can be said for many, and by a source otherwise', () => {
    const { sources } = parse(
      `sources: [{ id: a, url: 'https://a.example/a.git' }, { id: b, url: 'https://a.example/b.git', backend: auto }]
defaults: [{ match: 'https://a.example', backend: system }]`,
    )

    expect(sources.map(({ source }) => source)).toMatchObject([{ backend: 'system' }, { backend: 'auto' }])
  })

  test.each([
    ['http://git.example.com/a.git', 'http://git.example.com', 'cross the network in clear'],
    ['file:///srv/a.git', 'file:///srv', 'is not used with a file: address'],
  ])('an auth for %s is refused, although it is `defaults` that says it', (url, match, why) => {
    const auth = 'auth: { token: { env: TOKEN } }'
    const found = problems(`sources: [{ id: a, url: '${url}' }]\ndefaults: [{ match: '${match}', ${auth} }]`)

    expect(found).toEqual([expect.stringMatching(`sources\\[0\\].url: is given an \`auth\` by \`defaults\`, .*${why}`)])
  })
})

test('a credential for loopback is refused where a proxy would carry it elsewhere in clear', () => {
  const source = (proxy: string) =>
    `sources: [{ id: a, url: 'http://127.0.0.1/a.git', auth: { token: { env: T } }, proxy: { url: '${proxy}' } }]`

  expect(problems(source('http://proxy.example.com'))).toEqual([expect.stringContaining('in clear')])
  expect(parse(source('http://127.0.0.1:3128')).sources).toHaveLength(1)
})

test.each([
  ['auth: { header: { name: Host, value: { env: V } } }', 'auth.header.name'],
  ['auth: { header: { name: TRANSFER-encoding, value: { env: V } } }', 'auth.header.name'],
  ['auth: { header: { name: content-length, value: { env: V } } }', 'auth.header.name'],
  ['auth: { header: { name: Proxy-Authorization, value: { env: V } } }', 'auth.header.name'],
  ['proxy: { url: "http://p", auth: { header: { name: Connection, value: { env: V } } } }', 'proxy.auth.header.name'],
])('%s is refused: the header is not free', (line, key) => {
  expect(problems(sourceWith(line))).toEqual([
    expect.stringContaining(`sources[0].${key}: is a header that HTTP or git`),
  ])
})

test('an API of GitHub that is asked in clear is refused, but on loopback', () => {
  const app = (api: string) =>
    sourceWith(`auth: { github_app: { app_id: 1, installation_id: 2, private_key: { env: K }, api_url: '${api}' } }`)

  expect(problems(app('http://ghe.example.com/api/v3'))).toEqual([expect.stringContaining('in clear')])
  expect(parse(app('http://127.0.0.1:1/api/v3')).sources).toHaveLength(1)
})
