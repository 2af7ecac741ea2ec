import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { META, REVISION, legacyHttp, modernHeaders, stdio } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { INITIALIZE, exchange, legacy, modern } from './exchange.ts'
import { KINDS, contentOf, digestOf, openScene, resultOf } from './peers.ts'
import type { Scene } from './peers.ts'

const EXTENSION = 'io.modelcontextprotocol/skills'
const INSTRUCTIONS = 'Begin with skill://fx/git-workflow/SKILL.md; refunds: skill://fx/acme/billing/refunds/SKILL.md'

let fx: Scene
beforeAll(async () => {
  fx = await openScene({ config: ['serve:', `  instructions: "${INSTRUCTIONS}"`] })
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

test.each(['M', 'MS'] as const)(
  'discover declares the extension with its options, and answers as the revision asks (%s)',
  (kind) => {
    const { opening } = fx.of(kind)

    const { capabilities, supportedVersions, resultType, ttlMs, cacheScope } = resultOf(opening)
    expect(capabilities.extensions[EXTENSION]).toEqual({ directoryRead: true })
    expect(capabilities.resources).toEqual({ subscribe: true, listChanged: true })
    expect(supportedVersions).toContain(REVISION)
    expect({ resultType, ttlMs, cacheScope }).toEqual(HINTS)
  },
)

test.each(['LH', 'LS'] as const)(
  'initialize declares the same extension, and nothing of the later revision (%s)',
  (kind) => {
    const result = resultOf(fx.of(kind).opening)

    expect(result.protocolVersion).toBe('2025-11-25')
    expect(result.capabilities.extensions[EXTENSION]).toEqual({ directoryRead: true })
    expect(result.capabilities.resources).toEqual({ subscribe: true, listChanged: true })
    expect(Object.keys(result)).not.toEqual(expect.arrayContaining([expect.stringMatching(LATER_KEYS)]))
  },
)

test.each(['LH', 'LS'] as const)('a 2025-era listing has no key of the later revision (%s)', async (kind) => {
  const result = resultOf(await fx.of(kind).call('skills/list'))

  expect(Object.keys(result)).toEqual(['skills'])
})

test.each(['M', 'MS'] as const)('a modern listing says its type, its lifetime and its scope (%s)', async (kind) => {
  const { resultType, ttlMs, cacheScope } = resultOf(await fx.of(kind).call('skills/list'))

  expect({ resultType, ttlMs, cacheScope }).toEqual(HINTS)
})

test.each(['server/discover', 'skills/list', 'skills/get', 'resources/list', 'resources/read'])(
  'a modern request whose body names no revision is refused: %s',
  async (method) => {
    const { headers } = modern(method)
    const bodies = [{}, { _meta: {} }, { _meta: { ...META, [`io.modelcontextprotocol/protocolVersion`]: undefined } }]

    const replies = await Promise.all(
      bodies.map((params) => exchange(fx.served.url, { headers, body: { jsonrpc: '2.0', id: 1, method, params } })),
    )

    for (const reply of replies) {
      expect(reply.status).toBe(400)
      expect([-32602, -32020]).toContain(reply.error?.code)
    }
  },
)

test('an unknown revision is refused with those that are known', async () => {
  const { headers } = modern('skills/list')
  const meta = { ...META, 'io.modelcontextprotocol/protocolVersion': '1900-01-01' }

  const reply = await exchange(fx.served.url, {
    headers: { ...headers, 'mcp-protocol-version': '1900-01-01' },
    body: { jsonrpc: '2.0', id: 7, method: 'skills/list', params: { _meta: meta } },
  })

  expect(reply).toMatchObject({
    status: 400,
    id: 7,
    error: { code: -32022, data: { supported: [REVISION], requested: '1900-01-01' } },
  })
})

const LATER = '2027-01-01'
const VERSION = 'io.modelcontextprotocol/protocolVersion'

test.each([
  ['in the header alone', 'skills/list', LATER, {}],
  ['in the header, beside a _meta without one', 'skills/list', LATER, { _meta: { progressToken: 1 } }],
  ['in the header of a handshake', 'initialize', LATER, INITIALIZE],
  ['that is no date', 'skills/list', 'latest', {}],
  ['with an envelope of later forms', 'skills/list', LATER, { _meta: { [VERSION]: LATER, 'later/key': 1 } }],
  ['with an envelope of later forms, without the header', 'skills/list', undefined, { _meta: { [VERSION]: LATER } }],
])(
  'a revision %s is refused with those that are known, in a session and without one',
  async (_, method, version, params) => {
    const { 'mcp-protocol-version': _own, ...headers } = modernHeaders(method, {})
    const session = fx.of('LH').opening.headers.get('mcp-session-id')!
    const named = { ...headers, ...(version !== undefined && { 'mcp-protocol-version': version }) }
    const body = { jsonrpc: '2.0', id: 7, method, params }

    const replies = [
      await exchange(fx.served.url, { headers: named, body }),
      await exchange(fx.served.url, { headers: { ...named, 'mcp-session-id': session }, body }),
    ]

    const error = { code: -32022, data: { supported: [REVISION], requested: version ?? LATER } }
    for (const reply of replies) expect(reply).toMatchObject({ status: 400, id: 7, error })
  },
)

test('a served revision in the header is not blamed for a revision in the body that is no text', async () => {
  const body = { jsonrpc: '2.0', id: 7, method: 'skills/list', params: { _meta: { ...META, [VERSION]: 5 } } }
  const headers = { ...modernHeaders('skills/list', {}), 'mcp-protocol-version': '2025-06-18' }

  const reply = await exchange(fx.served.url, { headers, body })

  expect(reply).toMatchObject({ status: 400, id: 7, error: { code: -32602 } })
})

test.each(['GET', 'DELETE', 'POST'])('a %s of a session with a revision that is none ends nothing', async (method) => {
  await using peer = await legacyHttp(fx.served.url)
  const { headers, body } = legacy('skills/list', {}, peer.session)
  const sent = { method, ...(method === 'POST' && { body }) }

  for (const version of ['1900-01-01', LATER, REVISION]) {
    const reply = await exchange(fx.served.url, { ...sent, headers: { ...headers, 'mcp-protocol-version': version } })

    expect([reply.status, reply.result]).toEqual([400, undefined])
  }

  expect((await peer.call('skills/list')).status).toBe(200)
})

test.each(KINDS)('an unknown method is told to be one (%s)', async (kind) => {
  const reply = await fx.of(kind).call('skills/nope')

  expect(reply.error?.code).toBe(-32601)
  expect(reply.status).toBe(kind === 'M' ? 404 : 200)
})

test.each([
  ['modern', modern('skills/list')],
  ['legacy', legacy('initialize', INITIALIZE)],
])('a request from the page of another site is refused (%s)', async (_, { headers, body }) => {
  const reply = await exchange(fx.served.url, { headers: { ...headers, origin: 'http://evil.example' }, body })

  expect(reply.status).toBe(403)
  expect(reply.result).toBeUndefined()
})

test.runIf(process.platform === 'linux')('by default every listening socket is on loopback', async () => {
  await using folder = await temporaryFolder()
  await using repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': '---\nname: a\ndescription: A\n---\n' })
  const config = join(folder.path, 'skillsyncd.yaml')
  await writeFile(config, `sources: [{ id: a, url: "file://${repository.folder}" }]\nstate: ${folder.path}/state\n`)
  const main = fileURLToPath(new URL('../../dist/program/main.js', import.meta.url))
  const child = spawn(process.execPath, [main, 'start', '--config', config, '--port', '0'])
  const [line] = await once(createInterface({ input: child.stdout }), 'line')

  const sockets = await listeningSocketsOf(child.pid!)

  expect(sockets).toEqual([{ address: '0100007F', port: Number(new URL(line).port) }])
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('with debug logging on, stdout holds messages of the protocol alone', async () => {
  await using folder = await temporaryFolder()
  // With a state folder of its own the process pulls by itself, and has something to log.
  const state = join(folder.path, 'state')
  await using peer = await stdio(['--config', fx.served.configFile, '--state', state, '--log-level', 'debug'])
  const uri = fx.uri('git-workflow')
  const round = [
    ['skills/list'],
    ['skills/get', { uri }],
    ['resources/read', { uri }],
    ['resources/read', { uri: 'skill://fx/nowhere' }],
    ['skills/nope'],
  ] as const

  const calls = Array.from({ length: 20 }, (_, index) => round[index % round.length]!)
  await Promise.all(calls.map(([method, params]) => peer.call(method, params)))
  const closed = once(peer.process, 'close')
  peer.process.stdin.end()
  await closed

  expect(peer.lines).toHaveLength(1 + 20)
  for (const line of peer.lines) {
    expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0', id: expect.any(Number) })
  }
  expect(peer.stderr()).not.toBe('')
  for (const line of peer.stderr().trim().split('\n')) {
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), event: expect.any(String) })
  }
})

test('a method whose target no header repeats is answered without one', async () => {
  const get = modern('skills/get', { uri: fx.uri('git-workflow') })
  const read = modern('resources/directory/read', { uri: fx.root('pdf-processing') })
  expect(get.headers).not.toHaveProperty('mcp-name')
  expect(read.headers).not.toHaveProperty('mcp-name')

  const got = await exchange(fx.served.url, get)
  const children = await exchange(fx.served.url, read)

  expect(resultOf(got).skill).toEqual(fx.entry('git-workflow'))
  expect(resultOf(children).resources.length).toBeGreaterThan(0)
})

test.each(KINDS)('every skill that the instructions name is answered for (%s)', async (kind) => {
  const peer = fx.of(kind)

  const named: string[] = resultOf(peer.opening).instructions.match(/skill:\/\/\S+\/SKILL\.md/g)
  const replies = await Promise.all(named.map((uri) => peer.call('skills/get', { uri })))

  expect(named).toHaveLength(2)
  expect(replies.map((reply) => resultOf(reply).skill.uri)).toEqual(named)
})

test('an endpoint that lets clients subscribe gives them a session to do it in', async () => {
  const opening = await exchange(fx.served.url, legacy('initialize', INITIALIZE))
  const session = opening.headers.get('mcp-session-id')!
  const subscribe = legacy('resources/subscribe', { uri: fx.uri('git-workflow') })
  const without = await exchange(fx.served.url, subscribe)
  const within = await exchange(fx.served.url, {
    ...subscribe,
    headers: { ...subscribe.headers, 'mcp-session-id': session },
  })

  expect(resultOf(opening).capabilities.resources.subscribe).toBe(true)
  expect(session).toMatch(/^[\x21-\x7e]{16,}$/)
  expect(without).toMatchObject({ status: 400, error: { code: expect.any(Number) } })
  expect(resultOf(within)).toEqual({})
})

test('both eras on one endpoint answer a hundred interleaved requests each, equal ids and all', async () => {
  const opening = await exchange(fx.served.url, legacy('initialize', INITIALIZE))
  const session = opening.headers.get('mcp-session-id')!
  const files = [...fx.fixture.filesOf('edge-count')].slice(0, 200)
  const requests = files.map(([path], index) => {
    const ofEra = index % 2 === 0 ? modern : (method: string, params: object) => legacy(method, params, session)
    const { headers, body } = ofEra('resources/read', { uri: fx.uri('edge-count', path) })
    return { headers, body: { ...body, id: Math.floor(index / 2) } }
  })

  const replies = await Promise.all(requests.map((request) => exchange(fx.served.url, request)))

  expect(replies.map((reply) => digestOf(contentOf(reply).bytes))).toEqual(files.map(([, bytes]) => digestOf(bytes)))
  expect(replies).toMatchObject(requests.map(({ body }) => ({ id: body.id })))
  expect(replies.map(({ result }) => 'resultType' in result)).toEqual(files.map((_, index) => index % 2 === 0))
})

const LATER_KEYS = /^(?:resultType|ttlMs|cacheScope|supportedVersions)$/

/** What 2026-07-28 asks of each answer that may be kept. */
const HINTS = {
  resultType: 'complete',
  ttlMs: expect.toSatisfy((value) => Number.isInteger(value) && value >= 0),
  cacheScope: expect.stringMatching(/^(?:public|private)$/),
}

/** Every TCP socket that a process listens on, addresses in the kernel's own hexadecimal. */
async function listeningSocketsOf(pid: number): Promise<{ readonly address: string; readonly port: number }[]> {
  const handles = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(handles.map((handle) => readlink(`/proc/${pid}/fd/${handle}`).catch(() => '')))
  const inodes = new Set(targets.map((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1]))
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')))
  const rows = tables.flatMap((table) => table.trim().split('\n').slice(1)).map((row) => row.trim().split(/\s+/))
  return rows
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && inodes.has(inode))
    .map(([, local = '']) => {
      const [address = '', port = ''] = local.split(':')
      return { address, port: Number.parseInt(port, 16) }
    })
}

/** The state of a listening socket in /proc/net/tcp. */
const LISTEN = '0A'
