import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { changesPath, objectPath } from '../../../src/features/channel/content/channel-entry.ts'
import { signerText, verifierText } from '../../../src/sync/transparency-log/signed-note.ts'
import { Follower } from '../../features/channel/follow/follower.ts'
import { KEY, ORIGIN, sha256, SIGNER, signerNumber } from '../../features/channel/follow/site.ts'
import { Scene, skill } from '../../support/http/marketplace.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { portOf } from '../../sync/upstream/front.ts'

const FILES = {
  'write-letter/SKILL.md': skill('write-letter', 'letters'),
  'write-letter/notes.md': 'notes of letters\n',
  'tidy/SKILL.md': skill('tidy', 'tidy up the hangar'),
  'tidy/hangar.md': 'the hangar is secret\n',
}

const PACK_KEY = verifierText(signerNumber(1, `${ORIGIN}/writing`))

/** A hub with a channel, which needs tokens, and writes that of a pack to a folder. It publishes once it polls. */
async function hub({ isPolling = true } = {}) {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const key = join(folder.path, 'channel.key')
  await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
  const scene = opened.use(
    await Scene.serving(FILES, {
      config: [
        'packs:',
        '  - { id: writing, include: [{ path: write-* }] }',
        '  - { id: other, include: [{ name: tidy }] }',
        `channel: { name: ${ORIGIN}, key: { file: ${key} } }`,
        `publish: [{ to: ${folder.path}/out, pack: writing }]`,
      ],
      marketplace: ['  http: { public_url: https://skills.example.com }'],
    }),
  )
  if (isPolling) scene.served.daemon.poll()
  const stack = opened.move()
  return {
    scene,
    out: join(folder.path, 'out'),
    /** Resolves when each channel has what is served. */
    isCurrent: async () => {
      await expect
        .poll(() => scene.served.daemon.parts.status.status().channels?.every(({ isCurrent }) => isCurrent), {
          interval: 10,
        })
        .toBe(true)
    },
    get: async (path: string, token: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${scene.origin}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  }
}

test('a daemon is followed over HTTP, and a changed skill takes three requests over one connection', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])
  await using front = await startRelay(Number(new URL(world.scene.origin).port))
  const headers = { authorization: `Bearer ${token}` }
  await using follower = await Follower.open({ place: `${front.origin}/channel/`, headers })
  await follower.updated()
  expect(Object.keys(await follower.skills())).toEqual(['fx/tidy', 'fx/write-letter'])

  const { connections } = front
  front.requests.length = 0
  for (let round = 0; round < 5; round += 1) expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(front.requests).toEqual(Array.from({ length: 5 }, () => 'GET /channel/checkpoint 304'))

  await world.scene.commit({ 'tidy/hangar.md': 'the hangar is empty\n' })
  await world.isCurrent()
  front.requests.length = 0
  await follower.updated()

  expect(front.requests).toEqual([
    'GET /channel/checkpoint 200',
    'GET /channel/tile/entries/000.p/2 200',
    `GET /channel/${changesPath(1)} 200`,
  ])
  expect(front.connections - connections).toBe(0)
  expect((await follower.skills())['fx/tidy']?.files['hangar.md']).toBe('the hangar is empty\n')
})

test('the channel of a pack has nothing of any other skill, in a folder and over HTTP', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'], ['writing'])

  const before = await filesIn(world.out)
  const served = await follow(world.scene.origin, token)
  expect([...before.keys()].filter((path) => path.startsWith('object/')).length).toBeGreaterThan(3)
  expect(served.size).toBeGreaterThan(3)
  for (const text of [...before.values(), ...served.values()]) expect(text).not.toMatch(/tidy|hangar/)

  await world.scene.commit({
    'tidy/SKILL.md': skill('tidy', 'tidy up the harbour'),
    'harbour/SKILL.md': skill('harbour'),
  })
  await world.isCurrent()

  expect(await filesIn(world.out)).toEqual(before)
  expect(await follow(world.scene.origin, token)).toEqual(served)

  await world.scene.commit({ 'write-letter/notes.md': 'more notes\n' })
  await world.isCurrent()
  const after = await filesIn(world.out)
  expect(after.get('checkpoint')).not.toBe(before.get('checkpoint'))
  for (const text of after.values()) expect(text).not.toMatch(/tidy|hangar|harbour/)
})

test('a token of a pack sees the channel of that pack alone', async () => {
  await using world = await hub()
  await world.isCurrent()
  const all = await world.scene.token(['channel'])
  const one = await world.scene.token(['channel'], ['writing'])
  const none = await world.scene.token(['skills'])
  const statuses = async (token: string): Promise<readonly number[]> => {
    const paths = [
      '/channel/checkpoint',
      '/channels/writing/checkpoint',
      '/channels/other/checkpoint',
      '/channels/x/checkpoint',
    ]
    return Promise.all(paths.map(async (path) => (await world.get(path, token)).status))
  }

  expect(await statuses(all)).toEqual([200, 200, 200, 404])
  expect(await statuses(one)).toEqual([404, 200, 404, 404])
  expect(await statuses(none)).toEqual([403, 403, 403, 403])
  expect((await fetch(`${world.scene.origin}/channel/checkpoint`)).status).toBe(401)

  const hangar = objectPath(sha256(Buffer.from(FILES['tidy/hangar.md'])))
  const notes = objectPath(sha256(Buffer.from(FILES['write-letter/notes.md'])))
  expect((await world.get(`/channel/${hangar}`, all)).status).toBe(200)
  expect((await world.get(`/channels/writing/${notes}`, one)).status).toBe(200)
  expect((await world.get(`/channels/writing/${hangar}`, one)).status).toBe(404)
  expect((await world.get(`/channels/other/${hangar}`, one)).status).toBe(404)
  expect((await world.get(`/channel/${notes}`, one)).status).toBe(404)
  const [hidden, absent] = await Promise.all(
    ['other', 'x'].map(async (pack) => world.get(`/channels/${pack}/checkpoint`, one)),
  )
  expect(await hidden?.text()).toBe(await absent?.text())
})

const NOWHERE = [
  '',
  'object/',
  'object/aa/%2e%2e/checkpoint',
  `object/ab/${'a'.repeat(64)}`,
  `object/aa/${'A'.repeat(64)}`,
  'tile/0/000.p/0',
  'tile/0/000.p/2',
  'tile/0/x000/000',
  'tile/00/000',
  'tile/entries/000',
  'changes/0',
  'changes/00',
  'changes/-1',
  'changes/99999999999999999999',
  'checkpoint/',
  '..%2fcheckpoint',
] as const

test('nothing is at any other path of a channel', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])

  for (const path of NOWHERE) {
    const { status } = await world.get(`/channel/${path}`, token)
    expect([path, status >= 400 && status < 500]).toEqual([path, true])
  }
})

test('an answer says how long it holds, and for which caches', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])
  const checkpoint = await world.get('/channel/checkpoint', token)
  const entries = await world.get('/channel/tile/entries/000.p/1', token)

  expect(checkpoint.headers.get('cache-control')).toBe('private, no-cache')
  expect(entries.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
  const etag = checkpoint.headers.get('etag') ?? ''
  for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*'])
    expect([condition, (await world.get('/channel/checkpoint', token, { 'if-none-match': condition })).status]).toEqual(
      [condition, 304],
    )
  expect((await world.get('/channel/checkpoint', token, { 'if-none-match': '"x"' })).status).toBe(200)
})

test('a channel that is not published yet asks for a pause, and one that does not exist is not there', async () => {
  await using world = await hub({ isPolling: false })
  const token = await world.scene.token(['channel'])
  const paths = ['/channel/checkpoint', '/channel/events', '/channels/writing/checkpoint', '/channels/x/checkpoint']
  const answers = async () => Promise.all(paths.map(async (path) => world.get(path, token)))
  const headers = { authorization: `Bearer ${token}` }
  await using follower = await Follower.open({ place: `${world.scene.origin}/channel/`, headers })

  const early = await answers()
  expect(early.map(({ status }) => status)).toEqual([503, 503, 503, 404])
  expect(early.map((answer) => answer.headers.get('retry-after'))).toEqual(['5', '5', '5', null])
  expect(await early[0]?.text()).toContain('The channel is not published yet')
  expect(await follower.failure()).toMatchObject({ retryAfterMs: 5_000 })

  world.scene.served.daemon.poll()
  await world.isCurrent()
  const late = await answers()
  expect(late.map(({ status }) => status)).toEqual([200, 200, 200, 404])
  await Promise.all(late.map(async ({ body }) => body?.cancel()))
  await follower.updated()
})

test('the key of the whole channel does not open that of a pack', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])
  const headers = { authorization: `Bearer ${token}` }
  const place = `${world.scene.origin}/channels/writing/`
  await using wrong = await Follower.open({ place, headers, keys: [KEY] })
  await using right = await Follower.open({ place, headers, keys: [PACK_KEY] })

  expect(await wrong.failure()).toMatchObject({ code: 'log-unsigned' })
  await right.updated()
  expect(Object.keys(await right.skills())).toEqual(['fx/write-letter'])
})

test('a stream of events reports each checkpoint at once, and ends with the daemon that published them', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])
  const answer = await world.get('/channel/events', token)
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const events = eventsOf(answer)

  const first = (await events.next()).value
  expect(first).toEqual({ checkpoint: (await world.get('/channel/checkpoint', token)).headers.get('etag') })
  await world.scene.commit({ 'tidy/hangar.md': 'the hangar is empty\n' })
  const second = (await events.next()).value
  expect(second).toEqual({ checkpoint: (await world.get('/channel/checkpoint', token)).headers.get('etag') })
  expect(second).not.toEqual(first)

  await world.scene.served.daemon.stop()
  expect((await events.next()).done).toBe(true)
})

/** The events of a stream, without the comments between them. */
async function* eventsOf(answer: Response): AsyncGenerator {
  let text = ''
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString()
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const data = /^data: ?(.*)$/m.exec(text.slice(0, end))?.[1]
      text = text.slice(end + 2)
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}

/** Everything that a follower of the pack is given, by path. Packed changes are unpacked. */
async function follow(origin: string, token: string): Promise<Map<string, string>> {
  const given = new Map<string, string>()
  const relay = createServer((request, response) => void pass(request.url ?? '', response))
  const pass = async (path: string, response: ServerResponse): Promise<void> => {
    const answer = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (answer.ok) given.set(path, (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('latin1'))
    response.writeHead(answer.status).end(bytes)
  }
  await new Promise<void>((resolve) => void relay.listen(0, '127.0.0.1', resolve))
  try {
    const place = `http://127.0.0.1:${portOf(relay)}/channels/writing/`
    await using follower = await Follower.open({ place, keys: [PACK_KEY] })
    await follower.updated()
    return given
  } finally {
    relay.closeAllConnections()
    await new Promise<void>((resolve) => void relay.close(() => resolve()))
  }
}

/** Passes bytes on to a port, and counts connections and answers. */
async function startRelay(port: number) {
  const requests: string[] = []
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    const behind = connect(port, '127.0.0.1')
    const asked: string[] = []
    socket.on('data', (bytes) => {
      asked.push(...(bytes.toString('latin1').match(/^GET \S+/gm) ?? []))
      behind.write(bytes)
    })
    behind.on('data', (bytes) => {
      for (const [, status] of bytes.toString('latin1').matchAll(/^HTTP\/1\.1 (\d{3})/gm))
        requests.push(`${asked.shift()} ${status}`)
      socket.write(bytes)
    })
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const)
      one.on('close', () => other.destroy()).on('error', () => other.destroy())
    sockets.add(socket)
  })
  const sockets = new Set<{ destroy(): void }>()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${portOf(server)}`,
    requests,
    get connections() {
      return connections
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

/** The texts of all files below a folder, by path. Packed changes are unpacked. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    files.set(file.slice(folder.length + 1), (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('latin1'))
  }
  return files
}

test('a part of an object is answered by itself, and one that is not there with its size', async () => {
  await using world = await hub()
  await world.isCurrent()
  const token = await world.scene.token(['channel'])
  const bytes = Buffer.from('the hangar is secret\n')
  const path = `/channel/${objectPath(sha256(bytes))}`

  const part = await world.get(path, token, { range: 'bytes=4-9' })
  const beyond = await world.get(path, token, { range: 'bytes=21-' })
  const resumed = await world.get(path, token, { range: 'bytes=4-', 'if-range': part.headers.get('etag') ?? '' })

  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 4-9/21', 'hangar'])
  expect([beyond.status, beyond.headers.get('content-range'), await beyond.text()]).toEqual([416, 'bytes */21', ''])
  expect([resumed.status, await resumed.text()]).toEqual([206, 'hangar is secret\n'])
})
