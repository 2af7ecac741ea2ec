import { createHash, createHmac } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import type { Program } from '../../support/process/program.ts'
import { World, skill } from '../world.ts'

const SECRET = 'canary-hook/3d+81=f0&%'

const PROVIDERS = ['github', 'gitlab', 'gitea', 'forgejo', 'generic'] as const

describe('a source of each provider', () => {
  let site: Site
  beforeAll(async () => {
    site = await Site.createShared(PROVIDERS)
  })
  afterAll(async () => site?.[Symbol.asyncDispose]())

  test.each(PROVIDERS)('a push that %s tells of is served long before the next poll', async (provider) => {
    const pushed = skill('alpha', `pushed to ${provider}`)
    await site.world.repository.commit({ 'alpha/SKILL.md': pushed })
    const since = site.daemon.stderr.length

    const proof = proofOf(provider, '{"ref":"refs/heads/main"}')
    const answer = await site.post('{"ref":"refs/heads/main"}', proof, provider)
    await site.daemon.said((line) => line.includes('"source-updated"') && line.includes(`"${provider}"`), since)

    expect(answer).toEqual({ status: 202, body: '' })
    expect(site.nudgesOf(provider)).toBe(1)
    expect(await site.document(provider)).toBe(pushed)
  })

  test('without an address of their own, webhooks are taken beside MCP, behind the same guard', async () => {
    const proof = proofOf('generic', '{}')

    const byName = await site.post('{}', { ...proof, host: 'hooks.example.com' }, 'generic')
    const taken = await site.post('{}', proof, 'generic')

    expect([byName.status, taken.status]).toEqual([403, 202])
  })
})

test('whatever is sent, a source is pulled no oftener than each second, and others are answered meanwhile', async () => {
  await using site = await Site.start({ provider: 'github' })
  const body = (number: number): string => JSON.stringify({ number })
  const post = async (sent: string, signed = sent, headers = {}) =>
    (await site.post(sent, { ...proofOf('github', signed), ...headers })).status
  const peer = await modernHttp(site.mcp)

  const startMs = performance.now()
  const hostile = [
    ...Array.from({ length: 100 }, (_, number) => post(body(number), body(-1))),
    ...Array.from({ length: 100 }, () =>
      site.post('{}', proofOf('github', '{}'), 'nobody').then(({ status }) => status),
    ),
    ...Array.from({ length: 10 }, () => site.huge()),
  ]
  // More than the thousand that are remembered: the first of the replays is taken for a new one.
  const genuine = Array.from({ length: 1_200 }, (_, number) => post(body(number)))
  const replays = Array.from({ length: 400 }, () => post(body(0)))
  const read = await peer.call('resources/read', { uri: 'skill://team/alpha/SKILL.md' })
  const refused = await Promise.all(hostile)
  const taken = await Promise.all([...genuine, ...replays])
  await site.nudged(1)
  const sync = await site.world.home.command('sync', '--json')
  const { nudges } = site
  const seconds = (performance.now() - startMs) / 1000

  expect(new Set(refused.slice(0, 200))).toEqual(new Set([401]))
  expect(new Set(refused.slice(200))).toEqual(new Set([413]))
  expect(new Set(taken)).toEqual(new Set([202]))
  expect(read.result.contents).toMatchObject([{ text: skill('alpha', 'first') }])
  expect(JSON.parse(sync.stdout).sources).toMatchObject([{ outcome: 'unchanged' }])
  expect(nudges).toBeLessThanOrEqual(Math.floor(seconds) + 1)
})

test('a bad signature, none, a changed body and an unknown source set off no pull', async () => {
  await using site = await Site.start({ provider: 'github' })

  const answers = [
    await site.post('{}', proofOf('github', '[]')),
    await site.post('{}', {}),
    await site.post('{"changed":true}', proofOf('github', '{}')),
    await site.post('{}', proofOf('github', '{}'), 'nobody'),
  ]
  const { stderr } = await site.daemon.stop()

  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(site.nudges).toBe(0)
  expect(stderr.match(/"webhook-refused"/g)).toHaveLength(1)
})

test('the secret of a webhook is met nowhere, and a file with a new one is used at once', async () => {
  await using site = await Site.start({ provider: 'gitlab' })
  const { home } = site.world
  const refused = await site.post('{}', { 'x-gitlab-token': 'wrong' })
  const taken = await site.post('{}', proofOf('gitlab', '{}'))
  await site.nudged(1)
  await writeFile(site.secretFile, 'canary-second\n')

  const stale = await site.post('{"number":2}', proofOf('gitlab', '{}'))
  const fresh = await site.post('{"number":3}', { 'x-gitlab-token': 'canary-second' })
  await site.nudged(2)
  await writeFile(site.secretFile, '')
  const unreadable = await site.post('{"number":4}', { 'x-gitlab-token': 'canary-second' })
  const cmdline = await readFile(`/proc/${site.daemon.pid}/cmdline`, 'utf8')
  const [status, lines] = [await home.command('status', '--json'), await home.command('status')]
  const end = await site.daemon.stop()

  const answers = [refused, taken, stale, fresh, unreadable]
  expect(answers.map(({ status }) => status)).toEqual([401, 202, 401, 202, 401])
  expect(end.stderr).toContain(`credential file \\"${site.secretFile}\\": it is not set, or empty`)
  const texts = [cmdline, status, lines, end, answers, await allFiles(home.state)].map((value) => JSON.stringify(value))
  for (const said of texts) {
    for (const secret of [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64'), 'canary-second'])
      expect(said).not.toContain(secret)
  }
})

test('with an address of their own, webhooks are taken there by any name and nowhere else, and the status says where', async () => {
  await using site = await Site.start({ provider: 'generic', operations: true })
  const { home } = site.world
  const proof = proofOf('generic', '{}')

  const onMain = await site.post('{}', proof, 'team', site.origin)
  const mcp = await site.post('{}', { 'content-type': 'application/json' }, '../mcp', site.operations)
  const byPage = await site.post('{}', { ...proof, origin: 'https://elsewhere.example' }, 'team', site.operations)
  const taken = await site.post('{}', { ...proof, host: 'hooks.example.com' }, 'team', site.operations)
  await site.nudged(1)
  const status = JSON.parse((await home.command('status', '--json')).stdout)
  const lines = (await home.command('status')).stdout

  expect([onMain, mcp, byPage, taken].map((answer) => answer.status)).toEqual([404, 404, 403, 202])
  expect(status.http.operations).toEqual({ url: site.operations })
  expect(lines).toContain(`${site.operations}/hooks: webhooks\n`)
})

test('an address for webhooks that is taken ends the start, and the message names it', async () => {
  await using site = await Site.start({ provider: 'generic', operations: true })
  await using other = await World.create()
  const port = new URL(site.operations).port
  const config = await readFile(other.home.configFile, 'utf8')
  await writeFile(other.home.configFile, config.replace('port: 0 }', `port: 0 }, operations: { port: ${port} }`))

  const end = await other.home.run('start')

  expect(end.status).toBe(1)
  expect(end.stderr).toMatch(
    new RegExp(`Cannot listen on 127.0.0.1:${port}: .* listens there\\n {2}.*serve.operations`),
  )
})

/** A daemon that polls once an hour, whose source has a webhook, and has been pulled once. */
class Site implements AsyncDisposable {
  readonly world: World
  readonly daemon: Program
  readonly secretFile: string
  readonly mcp: string
  /** Where webhooks are taken, if not beside MCP. */
  readonly operations: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  private constructor(world: World, daemon: Program, secretFile: string, mcp: string, operations: string) {
    this.world = world
    this.daemon = daemon
    this.secretFile = secretFile
    this.mcp = mcp
    this.operations = operations
  }

  static async start({ provider, operations = false }: { provider: string; operations?: boolean }): Promise<Site> {
    return Site.#in(await World.create(), { team: provider }, operations ? ', operations: { port: 0 }' : '')
  }

  /** Makes one for several tests, with a source for each provider: `afterAll` disposes of it. */
  static async createShared(providers: readonly string[]): Promise<Site> {
    const site = await Site.#in(await World.createShared(), Object.fromEntries(providers.map((name) => [name, name])))
    // What the daemon pulls as it starts, it pulls before a test commits.
    for (const name of providers)
      await site.daemon.said((line) => line.includes('"source-unchanged"') && line.includes(`"${name}"`))
    return site
  }

  /** `providers`: by the ids of the sources. */
  static async #in(world: World, providers: Readonly<Record<string, string>>, serve = ''): Promise<Site> {
    const { home, git, repository } = world
    const secretFile = join(home.path, 'hook-secret')
    await writeFile(secretFile, `${SECRET}\n`)
    const sources = Object.entries(providers).map(([id, provider]) => {
      const webhook = `webhook: { provider: ${provider}, secret: { file: ${secretFile} } }`
      return [id, [`url: ${git.serve(id, repository)}`, 'every: 1h', webhook]] as const
    })
    await home.configure(Object.fromEntries(sources))
    const config = await readFile(home.configFile, 'utf8')
    await writeFile(home.configFile, config.replace('port: 0 }', `port: 0 }${serve}`))
    await world.synced()
    const daemon = home.start('start', '--log-level', 'debug')
    const url = await daemon.line()
    const started = JSON.parse(await daemon.said((line) => line.includes('"started"')))
    return new Site(world, daemon, secretFile, url, started.operations ?? '')
  }

  get origin(): string {
    return new URL(this.mcp).origin
  }

  /** How many pulls webhooks have set off. Those of the schedule and by hand are not counted. */
  get nudges(): number {
    return this.daemon.stderr.split('"source-nudged"').length - 1
  }

  /** How many of them are of one source. */
  nudgesOf(source: string): number {
    const lines = this.daemon.stderr.split('\n').filter((line) => line.includes('"source-nudged"'))
    return lines.filter((line) => line.includes(`"${source}"`)).length
  }

  async nudged(times: number): Promise<void> {
    await this.daemon.said(() => this.nudges >= times)
  }

  /** What is served now. */
  async document(source = 'team'): Promise<unknown> {
    await using peer = await modernHttp(this.mcp)
    const { result } = await peer.call('resources/read', { uri: `skill://${source}/alpha/SKILL.md` })
    return result.contents[0].text
  }

  async post(
    body: string,
    headers: Readonly<Record<string, string>>,
    source = 'team',
    origin = this.origin,
  ): Promise<{ readonly status: number | undefined; readonly body: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const path = source === '../mcp' ? '/mcp' : `/hooks/${source}`
    httpRequest(origin, { method: 'POST', path, headers, agent: this.#agent })
      .once('response', resolve)
      .once('error', reject)
      .end(body)
    const response = await promise
    return { status: response.statusCode, body: response.statusCode === 202 ? await text(response) : drained(response) }
  }

  /** Announces 100 MB. */
  async huge(): Promise<number | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = httpRequest(this.origin, {
      method: 'POST',
      path: '/hooks/team',
      headers: { 'content-length': 100_000_000 },
    })
    request.once('response', resolve).once('error', reject).flushHeaders()
    const { statusCode } = await promise
    request.destroy()
    return statusCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.world[Symbol.asyncDispose]()
  }
}

/** An answer whose body does not matter. */
function drained(response: IncomingMessage): string {
  response.resume()
  return ''
}

/** The headers with which each provider sends a body. */
function proofOf(provider: string, body: string): Record<string, string> {
  const digest = createHmac('sha256', SECRET).update(body).digest('hex')
  switch (provider) {
    case 'github':
      return { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${digest}` }
    case 'gitlab':
      return { 'x-gitlab-token': SECRET, 'idempotency-key': createHash('sha256').update(body).digest('hex') }
    case 'gitea':
      return { 'x-gitea-signature': digest }
    case 'forgejo':
      return { 'x-forgejo-signature': digest, 'x-gitea-signature': digest }
    default:
      return { 'x-skillsyncd-signature': `sha256=${digest}` }
  }
}

async function allFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n')
}
