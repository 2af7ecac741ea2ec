import { describe, expect, test } from 'vitest'
import { CLIENTS, CLIENT_NAMES, LIST_CHANGED } from '../../e2e/clients.ts'
import type { ClientName, Place, RealClient } from '../../e2e/clients.ts'
import { skillText } from '../git/scripted-upstream.ts'
import { HostileServer } from './hostile-server.ts'

const PDF = 'skill://acme/pdf/SKILL.md'
const GUIDE = 'skill://acme/pdf/docs/a%20guide.md'
const LOGO = 'skill://acme/pdf/logo.png'
const FILES = {
  'SKILL.md': skillText('pdf', 'metadata: { version: "1.10" }\n'),
  'docs/a guide.md': '\uFEFFa\r\nguide\r\n',
  'logo.png': Uint8Array.of(0x89, 0x50, 0, 0xe9),
}

const PLACES = {
  http: ({ url }: HostileServer): Place => ({ url }),
  stdio: (server: HostileServer): Place => ({ ...server.program(), stderr: 'ignore' }),
}

const WAYS = CLIENT_NAMES.flatMap((client) => (['http', 'stdio'] as const).map((transport) => ({ client, transport })))

async function served(): Promise<HostileServer> {
  const server = await HostileServer.start()
  server.skills.set(PDF, FILES)
  return server
}

interface Way {
  readonly client: ClientName
  readonly transport: 'http' | 'stdio'
}

async function open(server: HostileServer, { client, transport }: Way): Promise<RealClient> {
  return CLIENTS[client](PLACES[transport](server))
}

describe.each(WAYS)('$client over $transport', (way) => {
  const isLegacy = way.client === 'sdk 1.32.2' || way.client === 'client 2.4.0'

  test('lists, gets and reads every skill, and finds each promise kept', async () => {
    await using server = await served()
    await using client = await open(server, way)

    const [listed] = await client.list()
    const got = await client.get(PDF)
    const read = []
    for (const uri of [PDF, GUIDE, LOGO]) read.push(await client.read(got, uri))

    expect(client.revision).toBe(isLegacy ? '2025-11-25' : '2026-07-28')
    expect(listed).toEqual(server.skills.entryOf(PDF))
    expect(got).toEqual(listed)
    expect(got.frontmatter).toMatchObject({ name: 'pdf', metadata: { version: '1.10' } })
    expect(read.map((bytes) => Buffer.from(bytes))).toEqual(Object.values(FILES).map((bytes) => Buffer.from(bytes)))
  })

  test('is told of what it asked for, and of nothing else', async () => {
    await using server = await served()
    await using client = await open(server, way)
    await client.subscribe([GUIDE])
    await server.subscribed(GUIDE)

    server.notify('notifications/resources/updated', { uri: LOGO })
    server.notify('notifications/resources/updated', { uri: GUIDE })
    server.notify('notifications/resources/list_changed')
    server.notify('notifications/resources/updated', { uri: LOGO }, 'all')

    expect([await client.told(), await client.told(), await client.told()]).toEqual([GUIDE, LIST_CHANGED, LOGO])
    expect(server.streams).toBe(1)
  })

  test('is recorded with the era and the transport that it came in', async () => {
    await using server = await served()
    await using client = await open(server, way)
    const entry = await client.get(PDF)

    await client.read(entry, LOGO)
    await client.read(entry, LOGO)

    const { transport } = way
    const era = isLegacy ? 'legacy' : 'modern'
    expect(server.reads().filter((uri) => uri === LOGO)).toHaveLength(2)
    expect(server.of('skills/get').map(({ params }) => params.uri)).toEqual([PDF])
    expect(server.of('skills/get')).toMatchObject([{ transport, era }])
    expect(server.of(isLegacy ? 'initialize' : 'server/discover')).toHaveLength(1)
    expect(server.of('skills/get')[0]?.headers['mcp-method']).toBe(
      !isLegacy && transport === 'http' ? 'skills/get' : undefined,
    )
    expect(server.connections).toBeGreaterThan(0)
  })

  test('hears the code of a resource that is not there, and an override in place of an answer', async () => {
    await using server = await served()
    await using client = await open(server, way)
    server.on('skills/get', ({ uri }) => {
      const { resources, frontmatter } = server.skills.entryOf(uri)
      return { skill: { uri, resources, frontmatter: { ...frontmatter, description: 'Overridden' } } }
    })

    const [unknown] = await Promise.allSettled([client.readAny('skill://acme/pdf/none.md')])
    const entry = await client.get(PDF)

    expect(unknown).toMatchObject({ status: 'rejected', reason: { code: client.notFound } })
    expect(entry.frontmatter.description).toBe('Overridden')
  })
})

test.each(['http', 'stdio'] as const)(
  'a client falls back to the 2025 era over %s where there is only that',
  async (transport) => {
    await using server = await HostileServer.start({ era: 'legacy' })
    server.skills.set(PDF, FILES)

    await using client = await open(server, { client: 'client 2.4.0, auto', transport })

    expect(client.revision).toBe('2025-11-25')
    expect(await client.list()).toHaveLength(1)
    expect(server.requests.map(({ method }) => method).slice(0, 3)).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
    ])
  },
)

test.each(['http', 'stdio'] as const)(
  'a client of the 2025 era is refused over %s where there is only the modern one',
  async (transport) => {
    await using server = await HostileServer.start({ era: 'modern' })

    const opened = open(server, { client: 'sdk 1.32.2', transport })

    await expect(opened).rejects.toMatchObject({ message: expect.stringContaining('Unsupported protocol version') })
  },
)

test('a client takes answers that come as a stream of events', async () => {
  await using server = await served()
  server.answersAs = 'events'

  for (const client of CLIENT_NAMES) {
    await using opened = await open(server, { client, transport: 'http' })

    expect(await opened.list()).toHaveLength(1)
  }
})

test('a program that was started ends with the streams that are dropped', async () => {
  await using server = await served()
  await using client = await open(server, { client: 'sdk 1.32.2', transport: 'stdio' })

  server.dropStreams()

  await expect(client.list()).rejects.toMatchObject({ message: expect.stringMatching(/closed|Not connected/) })
  expect(server.streams).toBe(0)
})
