import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exchange, modern } from '../conformance/exchange.ts'
import type { Answer } from '../conformance/exchange.ts'
import { World } from '../e2e/world.ts'
import type { Program } from '../support/process/program.ts'

const NAME = 'hub.example.com'

/** A daemon of its own process on all addresses of the machine, known to its clients by a name. */
class Hub implements AsyncDisposable {
  readonly world: World
  readonly token: string
  /** A token that has expired. */
  readonly expired: string
  readonly #daemon: Program
  readonly #port: string

  private constructor(world: World, [token, expired]: readonly [string, string], daemon: Program, port: string) {
    this.world = world
    this.token = token
    this.expired = expired
    this.#daemon = daemon
    this.#port = port
  }

  static async start(): Promise<Hub> {
    const world = await World.create()
    await listenEverywhere(world)
    await world.synced()
    const short = await world.home.command('hub', 'token', 'add', 'short', '--expires', '1m')
    const file = join(world.home.state, 'tokens.json')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(/"expires": "[^"]+"/, '"expires": "2026-01-01T00:00:00.000Z"'))
    const { stdout } = await world.home.command('hub', 'token', 'add', 'reader')
    const daemon = world.home.start('start', '--log-level', 'debug')
    const { port } = new URL(await daemon.line())
    return new Hub(world, [stdout.trim(), short.stdout.trim()], daemon, port)
  }

  async ask(path: string, headers: Record<string, string>, method = 'skills/list', params = {}): Promise<Answer> {
    const sent = modern(method, params)
    const all = { ...sent.headers, host: `${NAME}:${this.#port}`, ...headers }
    return exchange(`http://127.0.0.1:${this.#port}${path}`, { headers: all, body: sent.body })
  }

  /** All that others can see of the daemon, besides its answers. */
  async seen(): Promise<string> {
    const { home } = this.world
    const cmdline = await readFile(`/proc/${this.#daemon.pid}/cmdline`, 'utf8')
    const environ = await readFile(`/proc/${this.#daemon.pid}/environ`, 'utf8')
    const told = [
      await home.command('status'),
      await home.command('status', '--json'),
      await home.command('hub', 'token', 'list'),
    ]
    return JSON.stringify([cmdline, environ, told, await this.#daemon.stop(), await textsBelow(home.state)])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

test('off loopback, a request that a browser could be made to send is refused on every route', async () => {
  await using hub = await Hub.start()
  const token = { authorization: `Bearer ${hub.token}` }
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { host: 'evil.example' },
    // A name that its owner has point to us.
    { host: 'rebound.example:80', origin: 'http://rebound.example:80' },
    { host: 'localhost' },
  ]

  const own = await hub.ask('/mcp', token)
  const byAddress = await hub.ask('/mcp', { ...token, host: '127.0.0.1' })
  const replies = await Promise.all(
    foreign.flatMap((headers) =>
      ['/mcp', '/healthz', '/readyz', '/hooks/team', '/'].map((path) => hub.ask(path, { ...token, ...headers })),
    ),
  )

  expect([own.status, byAddress.status]).toEqual([200, 200])
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([403]))
  expect(JSON.stringify(replies.map(({ error, result }) => [error, result]))).not.toContain('alpha')
})

test('off loopback nothing is told without a right token, and the token is met nowhere but where it was sent', async () => {
  await using hub = await Hub.start()
  const { home } = hub.world
  const narrow = (await home.command('hub', 'token', 'add', 'narrow', '--scope', 'page')).stdout.trim()
  const gone = (await home.command('hub', 'token', 'add', 'gone')).stdout.trim()
  const short = hub.expired
  await home.command('hub', 'token', 'revoke', 'gone')
  const uri = 'skill://team/alpha/SKILL.md'
  const given = [
    '',
    `Bearer ${hub.token}x`,
    `Bearer ${gone}`,
    `Bearer ${short}`,
    `Basic ${hub.token}`,
    `Bearer ${narrow}`,
  ]

  const replies = []
  for (const authorization of given) {
    const headers = authorization === '' ? {} : { authorization }
    replies.push(await hub.ask('/mcp', headers, 'resources/read', { uri }))
  }
  const inQuery = await hub.ask(`/mcp?access_token=${hub.token}`, {}, 'resources/read', { uri })
  const right = await hub.ask('/mcp', { authorization: `bearer ${hub.token}` }, 'resources/read', { uri })
  const seen = await hub.seen()

  expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 403])
  expect(replies.map(({ headers }) => headers.get('www-authenticate'))).toEqual([
    'Bearer scope="skills"',
    ...Array.from({ length: 4 }, () => 'Bearer error="invalid_token", scope="skills"'),
    'Bearer error="insufficient_scope", scope="skills"',
  ])
  expect(JSON.stringify([replies, inQuery])).not.toContain('alpha')
  expect([inQuery.status, right.status]).toEqual([400, 200])
  for (const token of [hub.token, narrow, gone, short]) {
    for (const form of [token, token.slice(4), Buffer.from(token).toString('base64')]) expect(seen).not.toContain(form)
  }
})

test('off loopback nothing starts without a token, and the message says how to make one', async () => {
  await using world = await World.create()
  await listenEverywhere(world)

  const end = await world.home.run('start')
  const named = await world.home.run('start', '--host', '0.0.0.0')

  for (const { status, stdout, stderr } of [end, named]) {
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Cannot listen on "0.0.0.0"')
    expect(stderr).toContain('skillsyncd hub token add NAME')
  }
})

test('on loopback behind a name of elsewhere a token is needed as well', async () => {
  await using world = await World.create()
  await serveAs(world, 'port: 0, public_url: "https://hub.example.com"')

  const end = await world.home.run('start')

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('skillsyncd hub token add NAME')
})

test('off loopback webhooks want an address of their own', async () => {
  await using world = await World.create(['every: 1h', 'webhook: { provider: gitea, secret: { env: HOOK } }'])
  await listenEverywhere(world)
  await world.home.command('hub', 'token', 'add', 'reader')

  const end = await world.home.run('start')

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('set serve.operations')
})

test('/healthz is answered and /readyz is not ready while nothing was ever served', async () => {
  await using world = await World.create()
  world.git.fault = { kind: 'status', status: 500 }
  const url = await world.home.start('start').line()

  const replies = await Promise.all(['/healthz', '/readyz'].map((path) => fetch(new URL(path, url))))

  expect(replies.map(({ status }) => status)).toEqual([200, 503])
  expect(await Promise.all(replies.map((reply) => reply.text()))).toEqual([
    '{"status":"ok"}',
    '{"status":"not ready","reasons":[{"why":"nothing-served"}]}',
  ])
})

async function listenEverywhere(world: World): Promise<void> {
  await serveAs(world, `host: 0.0.0.0, port: 0, allowed_hosts: [${NAME}]`)
}

async function serveAs({ home }: World, http: string): Promise<void> {
  const config = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, config.replace('port: 0', http))
}

async function textsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'utf8')))
}
