import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, test } from 'vitest'
import { stdio } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import type { Place } from './clients.ts'
import { mcpProgram, openSite, startDaemon } from './programs.ts'
import { World, skill } from './world.ts'

describe('over stdio', () => {
  test('one that writes looks at a stale source itself, and has what it found in the same answer', async () => {
    await using world = await staleWorld()
    await using mcp = await stdio([], 'legacy', world.home.env)

    expect(await idsSeenBy(mcp)).toEqual(['alpha', 'beta'])
  })

  test('one that follows has the daemon look at it, and has what that found in the same answer', async () => {
    await using world = await staleWorld()
    const daemon = world.home.start('start')
    await daemon.line()
    await using mcp = await stdio([], 'modern', world.home.env)

    expect(await idsSeenBy(mcp)).toEqual(['alpha', 'beta'])
    await daemon.stop()
  })

  test('where the daemon says nothing, the answer comes all the same, from what there is', async () => {
    await using world = await staleWorld('100ms')
    const daemon = world.home.start('start')
    await daemon.line()
    await using mcp = await stdio([], 'modern', world.home.env)
    daemon.process.kill('SIGSTOP')

    expect(await idsSeenBy(mcp)).toEqual(['alpha'])
    daemon.process.kill('SIGCONT')
    await daemon.stop()
  })

  test('a host that hangs keeps nobody waiting for longer than was agreed', async () => {
    await using world = await staleWorld('100ms')
    world.git.fault = { kind: 'hang-before' }
    await using mcp = await stdio([], 'legacy', world.home.env)

    expect(await idsSeenBy(mcp)).toEqual(['alpha'])
  })
})

describe('a folder, with no configuration at all', () => {
  test('what is saved in it, and what is gone from it, is noticed on the next call', async () => {
    const home = await Home.create()
    const skills = join(home.path, 'skills')
    await put(skills, 'alpha', 'first')
    await using mcp = await stdio(['--skills-dir', skills, '--log-level', 'debug'], 'legacy', home.env)
    while (!mcp.stderr().includes('"folder-watched"')) await once(mcp.process.stderr, 'data')
    const seen = [await idsSeenBy(mcp)]
    const got: Awaited<ReturnType<Peer['call']>>[] = []

    for (const name of ['beta', 'gamma', 'delta']) {
      await put(skills, name, 'new')
      got.push(await inTime(() => mcp.call('tools/call', { name: 'get_skill', arguments: { id: name } })))
      await rm(join(skills, name), { recursive: true })
      seen.push(await inTime(() => idsSeenBy(mcp)))
      await put(skills, name, 'again')
      seen.push(await inTime(() => idsSeenBy(mcp)))
    }

    expect(got.map(({ result }) => result.isError)).toEqual([undefined, undefined, undefined])
    expect(seen).toEqual([
      ['alpha'],
      ['alpha'],
      ['alpha', 'beta'],
      ['alpha', 'beta'],
      ['alpha', 'beta', 'gamma'],
      ['alpha', 'beta', 'gamma'],
      ['alpha', 'beta', 'delta', 'gamma'],
    ])
  })

  test('who follows a writer that was killed takes over at the next call, and has what is new in its answer', async () => {
    const home = await Home.create()
    const skills = join(home.path, 'skills')
    await put(skills, 'alpha', 'first')
    await using writer = await stdio(['--skills-dir', skills], 'legacy', home.env)
    await using follower = await stdio(['--skills-dir', skills], 'modern', home.env)
    const before = await idsSeenBy(follower)

    writer.process.kill('SIGKILL')
    await once(writer.process, 'exit')
    await put(skills, 'beta', 'new')

    expect([before, await inTime(() => idsSeenBy(follower))]).toEqual([['alpha'], ['alpha', 'beta']])
  })
})

describe('published clients', () => {
  const CLIENTS = {
    'sdk 1.32.2': async (place: Place) => {
      const client = new LegacyClient({ name: 'test', version: '1' })
      await client.connect('url' in place ? new LegacyHttp(new URL(place.url)) : new LegacyStdio(place))
      return client
    },
    'client 2.4.0': (place: Place) => openModern(place, 'legacy'),
    'client 2.4.0, pinned': (place: Place) => openModern(place, { pin: '2026-07-28' }),
  } as const

  async function openModern(place: Place, mode: 'legacy' | { readonly pin: string }) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(
      'url' in place ? new StreamableHTTPClientTransport(new URL(place.url)) : new StdioClientTransport(place),
    )
    return client
  }

  test.each(['sdk 1.32.2', 'client 2.4.0', 'client 2.4.0, pinned'] as const)(
    'call the tools over HTTP and over stdio: %s',
    async (name) => {
      await using site = await openSite(
        { 'skills/alpha/SKILL.md': skill('alpha', 'body'), 'skills/alpha/references/more.md': 'more' },
        '1s',
      )
      await using daemon = await startDaemon(site)
      for (const place of [{ url: daemon.url }, mcpProgram(site)]) {
        const client = await CLIENTS[name](place)
        const { tools } = await client.listTools()
        const listed = await untilListed(() => client.callTool({ name: 'list_skills' }))
        const got: any = await client.callTool({ name: 'get_skill', arguments: { id: 'alpha' } })

        const forThoseAfar = 'url' in place ? ['read_skill_file'] : []
        expect(tools.map((tool) => tool.name)).toEqual(['list_skills', 'search_skills', 'get_skill', ...forThoseAfar])
        const entry = { id: 'alpha', name: 'alpha', source: 'fx', description: 'alpha of the tests' }
        expect(listed).toEqual([entry])
        const found: any = await client.callTool({ name: 'search_skills', arguments: { query: 'alhpa' } })
        expect(found.structuredContent).toEqual({ skills: [entry] })
        expect(JSON.parse(found.content[0].text)).toEqual(found.structuredContent)
        // The client has checked it against the schema that the tool declares.
        expect(got.structuredContent).toMatchObject({ name: 'alpha', content: 'body\n' })
        expect(JSON.parse(got.content[0].text)).toEqual(got.structuredContent)
        const read = (uri: string) => client.readResource({ uri })
        expect(await otherFile(got.structuredContent, read)).toBe('more')
        const named = { id: 'alpha', path: 'references/more.md' }
        for (const name of forThoseAfar) {
          const file: any = await client.callTool({ name, arguments: named })
          expect(file.structuredContent).toMatchObject({ encoding: 'utf-8', content: 'more' })
        }
        expect(await client.callTool({ name: 'get_skill', arguments: { id: 'none' } })).toMatchObject({ isError: true })
        await client.close()
      }
    },
  )
})

/** The text of `references/more.md`, from where a model would look for it. */
async function otherFile(place: { readonly path?: string; readonly uri: string }, read: (uri: string) => Promise<any>) {
  if (place.path !== undefined) return readFile(join(dirname(place.path), 'references/more.md'), 'utf8')
  return (await read(place.uri.replace('SKILL.md', 'references/more.md'))).contents[0].text
}

/** A daemon that has just been started may still be pulling for the first time. */
async function untilListed(list: () => Promise<any>): Promise<unknown> {
  for (;;) {
    const listed: unknown[] = JSON.parse((await list()).content[0].text)
    if (listed.length > 0) return listed
  }
}

/** A source that was last looked at two hours ago, and has a new skill since. */
async function staleWorld(wait = '1m'): Promise<World> {
  const world = await World.create(['every: 1h'])
  const { configFile } = world.home
  const yaml = await readFile(configFile, 'utf8')
  await writeFile(configFile, yaml.replace('serve: {', `serve: { tool_wait: ${wait},`))
  await world.synced()
  const file = join(world.home.state, 'sources/team.json')
  const record = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...record, lastAttempt: new Date(Date.now() - 7_200_000).toISOString() }))
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  return world
}

async function put(skills: string, name: string, body: string): Promise<void> {
  await mkdir(join(skills, name), { recursive: true })
  await writeFile(join(skills, name, 'SKILL.md'), skill(name, body))
}

/** Asks again where the call waited for as long as it may: what is new is in the answer to a later one then. */
async function inTime<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    const startMs = performance.now()
    const answer = await call()
    if (performance.now() - startMs < LONGEST_WAIT_MS) return answer
  }
}

async function idsSeenBy(peer: Peer): Promise<string[]> {
  const { result } = await peer.call('tools/call', { name: 'list_skills' })
  return JSON.parse(result.content[0].text).map(({ id }: { readonly id: string }) => id)
}

/** The default of `serve.tool_wait`. */
const LONGEST_WAIT_MS = 2_000
