import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { McpAddress, McpLimits } from '../../../../src/features/mcp-sources/client/address.ts'
import type { Waits } from '../../../../src/features/mcp-sources/client/change-listener.ts'
import type { FileCache } from '../../../../src/features/mcp-sources/upstream/file-cache.ts'
import { ServerConnection } from '../../../../src/features/mcp-sources/upstream/server-connection.ts'
import { READ_HERE } from '../../../../src/sync/survey/document-reading.ts'
import {
  connect,
  error,
  legacy,
  listening,
  modern,
  NEVER,
  program,
  result,
  type Heard,
  type Listening,
} from './servers.ts'

const FILE = 'skill://a/SKILL.md'

test('a program that is given up for another is ended', async () => {
  await using door = await openDoor()
  const code = `
    if (message.id === undefined) return
    if (message.method === 'server/discover') return error(message, -32601)
    if (message.method === 'initialize') return require('node:net').connect(${door.port}, '127.0.0.1').on('connect', () => greet(message))
    process.stdout.write('x'.repeat(200_000) + '\\n')`
  await using link = linkTo(program(code), { answerBytes: 100_000 })

  await expect(link.read(FILE, 100, NEVER)).rejects.toMatchObject({ code: 'limit-exceeded' })

  expect(door.visitors).toHaveLength(2)
  await door.visitors[0]?.gone
})

test('whoever asked over a connection that was lost is answered over the next, all of them', async () => {
  const waiting: Heard[] = []
  let sessions = 0
  await using server = await legacy(
    (heard) => {
      if (sessions > 1) return result(heard, { contents: [{ uri: FILE, text: 'here' }] })
      waiting.push(heard)
      if (waiting.length === 2) waiting.forEach(({ response }) => response.writeHead(404).end())
    },
    (heard) => {
      sessions += 1
      heard.response.writeHead(400).end()
    },
  )
  await using link = linkTo(server.address)

  const read = await Promise.all([link.read(FILE, 100, NEVER), link.read(FILE, 100, NEVER)])

  expect(read).toEqual([{ bytes: Buffer.from('here') }, { bytes: Buffer.from('here') }])
})

test('one look is over before the next begins: what the one asked for is not forgotten with the other', async () => {
  const asked: Heard[] = []
  await using server = await modern((heard) => {
    if (heard.body.method !== 'skills/list') result(heard, { contents: [{ uri: FILE, text: 'here' }] })
    else if (asked.push(heard) > 1) result(heard, { skills: [] })
  })
  await using link = linkTo(server.address)
  const looks = [link.list(NEVER), link.list(NEVER)]

  await link.read(FILE, 100, NEVER)
  await link.read(FILE, 100, NEVER)

  expect(asked).toHaveLength(1)
  asked.forEach((heard) => result(heard, { skills: [] }))
  await Promise.all(looks)
})

test('whoever waits for the look of another may leave', async () => {
  const asked = Promise.withResolvers<Heard>()
  await using server = await modern(asked.resolve)
  await using link = linkTo(server.address)
  const leaving = new AbortController()
  const first = link.list(NEVER)
  const second = link.list(leaving.signal)
  const heard = await asked.promise

  leaving.abort(new Error('left'))

  await expect(second).rejects.toThrow('left')
  result(heard, { skills: [] })
  await expect(first).resolves.toMatchObject({ entries: [] })
})

test('a server that says nothing to the end of its subscriptions does not keep the link from ending', async () => {
  let stream: ServerResponse | undefined
  const told: string[] = []
  await using server = await sessionWithStream(
    (opened) => (stream = opened),
    (heard) => {
      if (heard.body.method === 'resources/unsubscribe') return
      const news = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: FILE } }
      stream?.write(`data: ${JSON.stringify(news)}\n\n`)
      result(heard, { contents: [{ uri: FILE, text: 'here' }] })
    },
  )
  const link = linkTo(server.address, {}, (how) => void told.push(how))
  link.watch({ uris: [FILE], omitted: [] })
  while (told.length === 0) await link.read(FILE, 100, NEVER)

  await link[Symbol.asyncDispose]()

  expect(server.heard.at(-1)).toMatchObject({ http: 'DELETE' })
})

test('a server of which every session is over at once is asked for another after growing delays', async () => {
  const capabilities = { resources: { subscribe: true, listChanged: true } }
  await using server = await listening((heard) => {
    const { http, body, response } = heard
    if (http === 'GET') response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
    else if (body?.method === 'server/discover') error(heard, -32601)
    else if (body?.method === 'initialize')
      result(heard, { protocolVersion: '2025-11-25', capabilities }, { 'mcp-session-id': 'one' })
    else response.writeHead(404).end()
  })
  const clock = new ImpatientClock(8)
  await using link = linkTo(server.address, {}, () => {}, clock)

  link.watch({ uris: [FILE], omitted: [] })
  await clock.isOver

  expect(clock.waits.map((ms, at) => ms >= 500 * 2 ** at && ms <= 1000 * 2 ** at)).toEqual(Array(8).fill(true))
  expect(server.methods.filter((method) => method === 'initialize').length).toBeLessThanOrEqual(2 * 8)
})

/** Waits take no time, but for the last of so many, which ends with its signal alone. */
class ImpatientClock implements Waits {
  readonly waits: number[] = []
  readonly isOver: Promise<void>
  readonly #most: number
  readonly #over = Promise.withResolvers<void>()

  constructor(most: number) {
    this.#most = most
    this.isOver = this.#over.promise
  }

  monotonicMs(): number {
    return 0
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.waits.push(ms) < this.#most) return
    this.#over.resolve()
    await once(signal, 'abort')
    signal.throwIfAborted()
  }
}

const NO_CACHE: FileCache = {
  read: async () => ({ ok: false, rule: 'not-read', why: 'nobody looks here' }),
  isKnown: async () => false,
  settle: async () => {},
}

function linkTo(
  address: McpAddress,
  limits: Partial<McpLimits> = {},
  onNews: (how: string) => void = () => {},
  clock: Waits = { monotonicMs: () => 0, wait: () => Promise.reject(new Error('Nobody waits here')) },
): ServerConnection {
  return new ServerConnection({
    open: () => connect(address, limits),
    budget: { bytes: 2 ** 20, pages: 10, entries: 100, timeoutMs: 60_000 },
    rules: {
      skill: { files: 10, bytes: 2 ** 20 },
      frontmatter: { bytes: 2 ** 16, depth: 32 },
      reader: READ_HERE,
      fileBytes: 2 ** 20,
      connectMs: 10_000,
      named: () => [],
      isWanted: () => true,
      isMeasured: () => false,
      takesDynamic: false,
      onOddity: () => {},
    },
    fileCache: NO_CACHE,
    archives: undefined,
    clock,
    onNews,
  })
}

/** A server of the legacy era that tells things on a stream. */
function sessionWithStream(open: (stream: ServerResponse) => void, answer: (heard: Heard) => void): Promise<Listening> {
  const capabilities = { resources: { subscribe: true } }
  return listening((heard) => {
    const { http, body, response } = heard
    if (http === 'GET') open(response.writeHead(200, { 'content-type': 'text/event-stream' }).on('error', () => {}))
    else if (http === 'DELETE') response.writeHead(200).end()
    else if (body.method === 'server/discover') error(heard, -32601)
    else if (body.method === 'initialize')
      result(heard, { protocolVersion: '2025-11-25', capabilities }, { 'mcp-session-id': 'one' })
    else if (body.id === undefined) response.writeHead(202).end()
    else answer(heard)
    if (http === 'GET') response.flushHeaders()
  })
}

interface Visitor {
  readonly gone: Promise<unknown>
}

/** A port at which a program knocks for as long as it runs. */
async function openDoor(): Promise<AsyncDisposable & { readonly port: number; readonly visitors: readonly Visitor[] }> {
  const visitors: Visitor[] = []
  const server = createServer((socket: Socket) => {
    visitors.push({ gone: once(socket.on('error', () => {}).resume(), 'close') })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    visitors,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}
