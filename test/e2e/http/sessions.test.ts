import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { expect, test, vi } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'

// Each test starts several processes one after another.
vi.setConfig({ testTimeout: 120_000 })

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'after a %s a client of the 2025 era goes on in its session: it hears once of what changed meanwhile, and of nothing else',
  async (signal) => {
    await using site = await openSite()
    await using client = await connect(await site.start())
    for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)

    await site.stop(signal)
    await site.start()
    await client.reopened()
    await site.push({ 'marker/SKILL.md': skillText('marker') })
    expect(await client.toldBefore(MARKER)).toEqual([])

    await site.stop(signal)
    await site.push({ 'alpha/SKILL.md': skillText('alpha') })
    await site.start()
    await client.reopened()
    await site.push({ 'marker/SKILL.md': skillText('marker') })

    expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
    expect(await client.read(ALPHA)).toBe(await site.text('alpha/SKILL.md'))
  },
)

test('where what a session was told of last is not kept any more, it is told of each of its URIs once, and of the list once', async () => {
  await using site = await openSite(['retention: { generations: 1, younger_than: 1ms }'])
  await using client = await connect(await site.start())
  for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)
  await site.stop('SIGKILL')
  await site.push({ 'alpha/SKILL.md': skillText('alpha') })
  await site.push({ 'alpha/SKILL.md': skillText('alpha') })

  await site.start()
  await client.reopened()
  const told = [await client.told(), await client.told(), await client.told(), await client.told()]
  await site.push({ 'marker/SKILL.md': skillText('marker') })

  expect(told.toSorted()).toEqual([LIST_CHANGED, ALPHA, BETA, MARKER].toSorted())
  expect(await client.toldBefore(MARKER)).toEqual([])
})

test('a session that was ended, and a subscription that was taken back, stay so after a kill', async () => {
  await using site = await openSite()
  const url = await site.start()
  await using client = await connect(url)
  await using ended = await connect(url)
  for (const uri of [ALPHA, MARKER]) await client.subscribe(uri)
  await client.unsubscribe(ALPHA)
  await ended.end()

  await site.stop('SIGKILL')
  await site.push({ 'alpha/SKILL.md': skillText('alpha') })
  await site.start()
  await client.reopened()
  await site.push({ 'marker/SKILL.md': skillText('marker') })

  expect(await client.toldBefore(MARKER)).toEqual([])
  expect(await statusOfSession(url, ended.session)).toBe(404)
})

test('on the disk there is no id of a session, and nobody else may read what there is', async () => {
  await using site = await openSite()
  await using client = await connect(await site.start())
  await client.subscribe(ALPHA)

  const text = await readFile(site.journal, 'utf8')

  expect(text).toContain(ALPHA)
  expect(text).not.toContain(client.session)
  expect((await stat(site.journal)).mode & 0o777).toBe(0o600)
})

test('a damaged file of sessions costs sessions, and not the start', async () => {
  await using site = await openSite()
  const url = await site.start()
  await using client = await connect(url)
  await site.stop('SIGTERM')
  await site.damage()

  await site.start()

  await site.daemon.said((line) => line.includes('"sessions-not-read"'))
  expect(await statusOfSession(url, client.session)).toBe(404)
  await using other = await connect(url)
  expect(await other.read(ALPHA)).toBe(await site.text('alpha/SKILL.md'))
})

const ALPHA = 'skill://team/alpha/SKILL.md'
const BETA = 'skill://team/beta/SKILL.md'
const MARKER = 'skill://team/marker/SKILL.md'
const LIST_CHANGED = 'list_changed'

/** A daemon that can be stopped and started at one address, over a repository that can be pushed to. */
interface Site extends AsyncDisposable {
  readonly journal: string
  readonly daemon: Program
  /** Returns the address of MCP. */
  start(): Promise<string>
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Commits, and has it published by the daemon or without one. */
  push(files: Readonly<Record<string, string>>): Promise<void>
  text(path: string): Promise<string>
  damage(): Promise<void>
}

async function openSite(config: readonly string[] = []): Promise<Site> {
  const home = await Home.create()
  const repository = await Repository.create()
  const git = await GitServer.start()
  const files = new Map(['alpha', 'beta', 'marker'].map((name) => [`${name}/SKILL.md`, skillText(name)]))
  await repository.commit(Object.fromEntries(files))
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, config)
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  let daemon: Program | undefined
  const port = `${await freePort()}`
  const journal = join(home.state, 'sessions.journal')
  return {
    journal,
    get daemon() {
      return daemon!
    },
    async start() {
      daemon = home.start('start', '--port', port)
      return daemon.line()
    },
    async stop(signal) {
      await daemon!.stop(signal)
    },
    async push(changed) {
      for (const [path, text] of Object.entries(changed)) files.set(path, text)
      await repository.commit(changed)
      expect(await home.command('sync')).toMatchObject({ status: 0 })
    },
    text: async (path) => files.get(path)!,
    damage: () => writeFile(journal, 'not a journal\n'),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]()
      await git[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

let written = 0

/** Unlike any other, and of one length: what the lists say of the skill stays the same. */
function skillText(name: string): string {
  written += 1
  return `---\nname: ${name}\ndescription: One of three\n---\nVersion ${1000 + written}\n`
}

/** A client of the SDK of the 2025 era, that opens its stream again whenever that broke. */
interface Connected extends AsyncDisposable {
  readonly session: string
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  read(uri: string): Promise<unknown>
  /** What it is told next. */
  told(): Promise<string>
  /** What it is told next until it is told of the URI, which is not part of it. */
  toldBefore(uri: string): Promise<string[]>
  /** Resolves when it has a stream that it did not have at the last call. */
  reopened(): Promise<void>
  /** Tells the server that it is done. */
  end(): Promise<void>
}

async function connect(url: string): Promise<Connected> {
  const streams = queue<void>()
  const news = queue<string>()
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    reconnectionOptions: {
      maxRetries: 1_000,
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
    },
    async fetch(address, init) {
      const response = await fetch(address, init)
      if (init?.method === 'GET' && response.ok) streams.put()
      return response
    },
  })
  const client = new Client({ name: 'test', version: '1' })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => news.put(params.uri))
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => news.put(LIST_CHANGED))
  await client.connect(transport)
  await streams.take()
  return {
    session: transport.sessionId!,
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
    read: async (uri) =>
      (await client.readResource({ uri })).contents.map((content) => 'text' in content && content.text)[0],
    told: () => news.take(),
    async toldBefore(uri) {
      const told: string[] = []
      for (let next = await news.take(); next !== uri; next = await news.take()) told.push(next)
      return told
    },
    reopened: () => streams.take(),
    end: () => transport.terminateSession(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** What is put in is taken out in order, by whoever waits for it. */
function queue<Item>() {
  const items: Item[] = []
  const waiting: ((item: Item) => void)[] = []
  return {
    put(item: Item): void {
      const next = waiting.shift()
      if (next === undefined) items.push(item)
      else next(item)
    },
    async take(): Promise<Item> {
      if (items.length > 0) return items.shift()!
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
}

async function statusOfSession(url: string, session: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list' })
  return (await fetch(url, { method: 'POST', headers, body })).status
}
