import { readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import { GitServer } from '../support/git/git-server.ts'
import { GitHubApi } from '../support/git/github-api.ts'
import { Repository } from '../support/git/repository.ts'
import { ProxyServer } from '../support/http/proxy-server.ts'
import { Home } from '../support/process/program.ts'
import { skill } from './world.ts'

const CANARIES = {
  token: 'canary/token+7f3a=&%9c1e',
  file: 'canary-file-"5b2d8e"',
  basic: 'canary:basic:ümlaut-31aa',
  header: 'canary-header-c0ffee',
  proxy: 'canary@proxy/4d4d',
  helper: 'canary-helper-88f1',
  helperInput: 'canary-helper-input-6e6e',
  app: 'ghs_canaryAppToken0123456789abcdef_',
  variable: 'canary-variable-proxy-77aa',
}

test('canary secrets of every kind open their doors, and are met in no output and in no file', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start', '--log-level', 'debug')
  const url = await daemon.line()
  for (const id of world.ids) await daemon.said((line) => line.includes('"source-updated"') && line.includes(`"${id}"`))
  await using peer = await modernHttp(url)
  const said: Record<string, unknown> = { commandLine: await readFile(`/proc/${daemon.pid}/cmdline`, 'utf8') }

  said['status'] = await world.home.run('status', '--json')
  said['lines'] = await world.home.run('status')
  said['sync'] = await world.home.run('sync', '--json', '--log-level', 'debug')
  said['list'] = await peer.call('skills/list')
  said['missing'] = await (await fetch(new URL(`/${encodeURIComponent(CANARIES.token)}`, url))).text()
  world.git.fault = { kind: 'status', status: 500, body: world.all.join(' ') }
  said['failed'] = await world.home.run('sync', '--json')
  world.git.fault = { kind: 'status', status: 401, headers: { 'www-authenticate': world.all[0]! } }
  said['rejected'] = await world.home.run('sync')
  said['rejectedStatus'] = await world.home.run('status', '--json')
  for (const page of ['/', '/sources', '/problems', '/changes', '/connect'])
    said[`the page ${page}`] = await (await fetch(new URL(page, url))).text()
  said['control'] = await world.control('{"method": "status"}\n')
  said['end'] = await daemon.stop()
  said['state'] = await allFiles(world.home.state)
  said['runtime'] = await allFiles(join(world.home.path, 'tmp'))

  expect(JSON.stringify(said['sync'])).not.toContain('failed')
  expect(JSON.stringify(said['state'])).toContain('credentials-rejected')
  expect(said['the page /sources']).toContain('credentials-rejected')
  for (const [place, found] of Object.entries(said)) world.expectNone(place, found)
  // Nor on the command line of what was started, which others can read.
  const calls = await readFile(join(world.home.path, 'helper-calls'), 'utf8')
  expect(calls.match(/^get$/gm)?.length).toBeGreaterThan(0)
  world.expectNone('the command lines of the helper', calls)
})

test('the last words of a process that a fault ends hold no secret that it knew', async () => {
  await using world = await World.create()
  // A fault nobody foresaw, once the pulls have read their secrets.
  const fault = `
    import { text } from 'node:stream/consumers'
    const write = process.stderr.write.bind(process.stderr)
    process.stderr.write = (line, ...rest) => {
      const done = write(line, ...rest)
      if (String(line).includes('source-updated') && String(line).includes('basic'))
        setImmediate(() => { throw Object.assign(new Error('fault with ' + process.env.CANARY_BASIC), { url: process.env.CANARY_BASIC }) })
      return done
    }`
  world.home.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(fault)}`
  const daemon = world.home.start('start', '--log-level', 'debug')

  const end = await daemon.ended()

  expect(end).toMatchObject({ status: 1, signal: null, stderr: expect.stringContaining('fault with ***') })
  world.expectNone('crash', end)
})

test('a token that is revoked between two polls is a problem, asked for no oftener, and the new one is taken up', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start')
  const url = await daemon.line()
  for (const id of world.ids) await daemon.said((line) => line.includes('"source-updated"') && line.includes(`"${id}"`))
  await using peer = await modernHttp(url)
  const before = await peer.call('skills/list')
  await writeFile(join(world.home.path, 'token'), 'revoked\n')
  const since = world.git.requests.length

  const rejected = await world.home.run('sync', 'by-file', '--json')
  const requests = world.git.requests.slice(since)
  const during = await peer.call('skills/list')
  await writeFile(join(world.home.path, 'token'), `${CANARIES.file}\n`)
  const renewed = await world.home.run('sync', 'by-file', '--json')

  expect(JSON.parse(rejected.stdout).sources).toMatchObject([
    { outcome: 'failed', problem: { code: 'credentials-rejected' } },
  ])
  expect(requests).toHaveLength(1)
  expect(during['result']).toEqual(before['result'])
  expect(JSON.parse(renewed.stdout).sources).toMatchObject([{ outcome: 'unchanged' }])
})

/** A home with a source for each way of proving who we are. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly api: GitHubApi
  readonly ids: readonly string[]
  readonly #rest: readonly AsyncDisposable[]

  private constructor(home: Home, git: GitServer, api: GitHubApi, ids: readonly string[], rest: AsyncDisposable[]) {
    this.home = home
    this.git = git
    this.api = api
    this.ids = ids
    this.#rest = rest
  }

  static async create(): Promise<World> {
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'behind doors') })
    const git = await GitServer.start()
    const proxy = await ProxyServer.start(git.origin)
    const api = await GitHubApi.start()
    const home = await Home.create()
    proxy.access = `Basic ${Buffer.from(`u:${CANARIES.proxy}`).toString('base64')}`
    api.tokens = { prefix: CANARIES.app, expiresAt: new Date(Date.now() + 3_600_000) }
    git.doors = doors(api)
    Object.assign(home.env, {
      CANARY_TOKEN: CANARIES.token,
      CANARY_BASIC: CANARIES.basic,
      CANARY_HEADER: CANARIES.header,
      CANARY_PROXY: CANARIES.proxy,
      CANARY_HELPER: CANARIES.helperInput,
      CANARY_KEY: api.privateKey,
      HTTPS_PROXY: `http://u:${CANARIES.variable}@127.0.0.1:1`,
    })
    await writeFile(join(home.path, 'token'), `${CANARIES.file}\n`)
    await writeFile(join(home.path, 'helper'), helperScript(home.path), { mode: 0o755 })
    const sources = sourcesOf(home.path, api)
    const entries = Object.entries(sources).map(([id, auth]) => [
      id,
      [`url: ${git.serve(id, repository)}`, 'every: 1h', ...auth],
    ])
    await home.configure(Object.fromEntries(entries), [
      'defaults:',
      `  - { match: '${git.origin}/by-proxy.git', proxy: { url: '${proxy.url}', auth: { basic: { username: u, password: { env: CANARY_PROXY } } } } }`,
    ])
    return new World(home, git, api, Object.keys(sources), [home, git, api, proxy, repository])
  }

  get all(): string[] {
    return [...Object.values(CANARIES), this.api.privateKey]
  }

  /** What the daemon's socket answers. */
  async control(request: string): Promise<string> {
    const folder = join(this.home.path, 'run', 'skillsyncd')
    const [name] = await readdir(folder)
    const socket = connect(join(folder, name!))
    socket.end(request)
    return text(socket)
  }

  /** Neither as they are, nor as they stand in an address, a header or JSON. */
  expectNone(place: string, found: unknown): void {
    const output = typeof found === 'string' ? found : JSON.stringify(found)
    const lines = this.api.privateKey.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----'))
    for (const secret of [...Object.values(CANARIES), ...lines]) {
      const json = JSON.stringify(secret).slice(1, -1)
      const pairs = ['', 'u:', 'x-access-token:'].map((user) => Buffer.from(user + secret).toString('base64'))
      const forms = [secret, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret), ...pairs]
      for (const form of forms) expect(output.includes(form), `${form} is in ${place}: ${output}`).toBe(false)
    }
    expect(output, place).not.toMatch(/eyJ[\w-]+\.eyJ/)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#rest) await part[Symbol.asyncDispose]()
  }
}

/** What each repository has to be sent. */
function doors(api: GitHubApi): GitServer['doors'] {
  const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  return (name, headers) => {
    switch (name) {
      case 'by-token':
        return headers.authorization === basic('x-access-token', CANARIES.token)
      case 'by-file':
        return headers.authorization === basic('x-access-token', CANARIES.file)
      case 'by-basic':
        return headers.authorization === basic('u', CANARIES.basic)
      case 'by-header':
        return headers['x-api-key'] === CANARIES.header
      case 'by-helper':
        return headers.authorization === basic('u', CANARIES.helper)
      case 'by-app':
        return headers.authorization === basic('x-access-token', api.lastToken)
      default:
        return true
    }
  }
}

function sourcesOf(home: string, api: GitHubApi): Readonly<Record<string, readonly string[]>> {
  const app = `app_id: 7, installation_id: 9, private_key: { env: CANARY_KEY }, api_url: '${api.url}'`
  return {
    'by-token': ['auth: { token: { env: CANARY_TOKEN } }'],
    'by-file': [`auth: { token: { file: ${home}/token } }`],
    'by-basic': ['auth: { basic: { username: u, password: { env: CANARY_BASIC } } }'],
    'by-header': ['auth: { header: { name: X-Api-Key, value: { env: CANARY_HEADER } } }'],
    'by-helper': [`auth: { helper: { command: ${home}/helper, env: { IN: { env: CANARY_HELPER } } } }`],
    'by-app': [`auth: { github_app: { ${app} } }`],
    'by-proxy': [],
  }
}

function helperScript(home: string): string {
  const lines = [
    '#!/bin/sh',
    `for word in "$@"; do echo "$word" >> ${home}/helper-calls; done`,
    `tr '\\0' '\\n' < /proc/$$/cmdline >> ${home}/helper-calls`,
    'cat > /dev/null',
    `echo "$IN" >&2`,
    `test "$1" = get && printf 'username=u\\npassword=%s\\n' '${CANARIES.helper}'`,
  ]
  return `${lines.join('\n')}\n`
}

async function allFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n')
}
