import { expect, test } from 'vitest'
import { eventsOf, hear, legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import type { Heard, Peer } from '../support/clients/peer.ts'
import { freePort } from '../support/free-port.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'
import { skill } from './world.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'
const BETA = 'skill://more/beta/SKILL.md'

test('a token of a pack opens that pack, and nothing of another one is at any address', async () => {
  await using hub = await Hub.start()
  const bearer = await hub.bearer('crew', ['skills', 'page', 'well-known'])

  for (const path of ['/mcp', '/mcp/crew']) {
    await using peer = await modernHttp(`${hub.origin}${path}`, bearer)
    expect(await listed(peer)).toEqual([ALPHA])
    const others = await peer.call('resources/read', { uri: BETA })
    const nobodys = await peer.call('resources/read', { uri: BETA.replace('beta', 'none') })
    expect(JSON.stringify(others.error).replaceAll('beta', 'none')).toBe(JSON.stringify(nobodys.error))
  }
  await using whole = await modernHttp(`${hub.origin}/mcp`, await hub.bearer(undefined, ['skills']))
  expect((await listed(whole)).toSorted()).toEqual([BETA, ALPHA])

  const [ofOthers, nowhere] = [await hub.answer('/mcp/ops', bearer), await hub.answer('/mcp/none', bearer)]
  expect(ofOthers).toEqual(nowhere)
  expect(ofOthers.status).toBe(404)
  expect((await hub.answer('/metrics', bearer)).status).toBe(403)
  expect((await hub.answer('/sources', bearer)).status).toBe(404)
  const page = await hub.answer('/', bearer)
  expect([page.text.includes('alpha of the tests'), page.text.includes('beta')]).toEqual([true, false])
  const index = await hub.answer('/.well-known/agent-skills/index.json', bearer)
  expect(JSON.parse(index.text).skills.map(({ name }: { readonly name: string }) => name)).toEqual(['alpha'])
})

test('packs that a reload brings are those of the clients that it finds connected, and only who sees another set is told', async () => {
  await using hub = await Hub.start()
  await using crew = await modernHttp(`${hub.origin}/mcp`, await hub.bearer('crew', ['skills']))
  await using ops = await modernHttp(`${hub.origin}/mcp/ops`)
  const [told, others] = [await crew.subscribe([], { list: true }), await ops.subscribe([BETA], { list: true })]
  for (const heard of [told, others]) await heard.next(({ method }) => method?.endsWith('/acknowledged'))

  await hub.configure(['{ id: crew, include: [{ name: alpha }, { name: gamma }] }', OPS])
  await hub.team.commit({ 'gamma/SKILL.md': skill('gamma', 'new') })
  expect(await hub.home.command('reload')).toMatchObject({ status: 0 })
  await hub.home.command('sync', 'team')
  await told.next(isListChanged)
  const after = await listed(crew)
  await hub.more.commit({ 'beta/SKILL.md': skill('beta', 'other') })
  await hub.home.command('sync', 'more')
  await others.next(({ method }) => method === 'notifications/resources/updated')

  expect(after).toEqual([ALPHA, 'skill://team/gamma/SKILL.md'])
  expect(others.messages.filter(isListChanged)).toEqual([])
  await hub.configure(['{ id: crew, include: [{ name: gamma }] }'])
  expect(await hub.home.command('reload')).toMatchObject({ status: 0 })
  await others.next(isListChanged)
  expect(await listed(crew)).toEqual(['skill://team/gamma/SKILL.md'])
  expect((await hub.answer('/mcp/ops', {})).status).toBe(404)
})

test('a session of a pack goes on after a restart: it hears what moved in its pack meanwhile, and is nobody else’s', async () => {
  await using hub = await Hub.start()
  const bearer = await hub.bearer('crew', ['skills'])
  const another = await hub.bearer('ops', ['skills'])
  await using peer = await legacyHttp(`${hub.origin}/mcp/crew`, undefined, bearer)
  await peer.subscribe([ALPHA])
  await using anybody = await legacyHttp(`${hub.origin}/mcp/ops`)

  await hub.stop()
  await hub.team.commit({ 'alpha/SKILL.md': skill('alpha', 'other') })
  await hub.more.commit({ 'delta/SKILL.md': skill('delta', 'new') })
  await hub.home.command('sync')
  await hub.restart()

  await using heard = await hub.stream('/mcp/crew', peer.session, bearer)
  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === ALPHA)
  expect(await listed(peer)).toEqual([ALPHA])
  expect(heard.messages.filter(isListChanged)).toEqual([])
  const refused = ['/mcp/crew', '/mcp'].map((path) => hub.statusOfStream(path, peer.session, another))
  expect(await Promise.all(refused)).toEqual([404, 404])
  const elsewhere = ['/mcp', '/mcp/crew', '/mcp/ops'].map((path) => hub.statusOfStream(path, anybody.session, {}))
  expect(await Promise.all(elsewhere)).toEqual([404, 404, 200])
})

test('mcp --pack serves the packs alone over stdio', async () => {
  await using hub = await Hub.create()
  await using one = await stdio(['--pack', 'crew'], 'legacy', hub.home.env)
  await using both = await stdio(['--pack=ops,crew'], 'modern', hub.home.env)

  expect(await listed(one)).toEqual([ALPHA])
  expect((await one.call('resources/read', { uri: BETA })).error).toBeDefined()
  expect((await listed(both)).toSorted()).toEqual([BETA, ALPHA])
})

test('a pack that is none is wrong usage for every command that takes one', async () => {
  await using hub = await Hub.create()
  const lines = [['mcp'], ['list'], ['hub', 'token', 'add', 'ci'], ['list', 'alpha']]

  const ends = await Promise.all(lines.map((line) => hub.home.command(...line, '--pack', 'crew,nobody')))
  const figures = await hub.home.command('hub', 'token', 'add', 'ci', '--scope', 'metrics', '--pack', 'crew')

  for (const end of ends) {
    expect(end).toMatchObject({ status: 2, stdout: '' })
    expect(end.stderr).toContain('"nobody" is none; there are crew, ops')
  }
  expect(figures).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('leave out --pack, or metrics'),
  })
})

const CREW = '{ id: crew, include: [{ source: team }] }'
const OPS = '{ id: ops, include: [{ name: beta }] }'

/** A home with two sources of a skill each, and a pack for either. */
class Hub implements AsyncDisposable {
  readonly home: Home
  readonly team: Repository
  readonly more: Repository
  readonly #git: GitServer
  readonly #port: number
  #daemon: Program | undefined
  origin = ''

  private constructor(home: Home, git: GitServer, port: number, team: Repository, more: Repository) {
    this.home = home
    this.#git = git
    this.#port = port
    this.team = team
    this.more = more
  }

  static async create(): Promise<Hub> {
    const [home, git] = [await Home.create(), await GitServer.start()]
    const [team, more] = [await Repository.create(), await Repository.create()]
    await team.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    await more.commit({ 'beta/SKILL.md': skill('beta', 'first') })
    const hub = new Hub(home, git, await freePort(), team, more)
    await hub.configure([CREW, OPS])
    expect(await home.command('sync')).toMatchObject({ status: 0 })
    return hub
  }

  static async start(): Promise<Hub> {
    const hub = await Hub.create()
    await hub.restart()
    return hub
  }

  async configure(packs: readonly string[]): Promise<void> {
    await this.home.configure(
      {
        team: [`url: ${this.#git.serve('team', this.team)}`, 'every: 1h'],
        more: [`url: ${this.#git.serve('more', this.more)}`, 'every: 1h'],
      },
      [`packs: [${packs.join(', ')}]`],
    )
  }

  /** At the same address each time. */
  async restart(): Promise<void> {
    this.#daemon = this.home.start('start', '--port', `${this.#port}`)
    this.origin = new URL(await this.#daemon.line()).origin
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop()
  }

  /** The headers of whoever has a new token of the pack, or of everything. */
  async bearer(pack: string | undefined, scopes: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const ofPack = pack === undefined ? [] : ['--pack', pack]
    const { stdout } = await this.home.command(
      'hub',
      'token',
      'add',
      pack ?? 'all',
      '--scope',
      scopes.join(),
      ...ofPack,
    )
    return { authorization: `Bearer ${stdout.trim()}` }
  }

  async answer(path: string, headers: Readonly<Record<string, string>>) {
    const isMcp = path.startsWith('/mcp')
    const response = await fetch(`${this.origin}${path}`, { headers, method: isMcp ? 'POST' : 'GET' })
    return { status: response.status, text: await response.text() }
  }

  async stream(path: string, session: string, bearer: Readonly<Record<string, string>>): Promise<Heard> {
    const stop = new AbortController()
    const response = await this.#openStream(path, session, bearer, stop.signal)
    return hear(eventsOf(response), async () => stop.abort())
  }

  async statusOfStream(path: string, session: string, bearer: Readonly<Record<string, string>>): Promise<number> {
    const stop = new AbortController()
    const { status } = await this.#openStream(path, session, bearer, stop.signal)
    stop.abort()
    return status
  }

  async #openStream(path: string, session: string, bearer: Readonly<Record<string, string>>, signal: AbortSignal) {
    const of = { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    return fetch(`${this.origin}${path}`, { headers: { ...bearer, ...of }, signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    for (const part of [this.#git, this.team, this.more]) await part[Symbol.asyncDispose]()
  }
}

async function listed(peer: Peer): Promise<readonly string[]> {
  const { result } = await peer.call('skills/list')
  return result.skills.map(({ uri }: { readonly uri: string }) => uri)
}

function isListChanged({ method }: { readonly method?: string }): boolean {
  return method === 'notifications/resources/list_changed'
}
