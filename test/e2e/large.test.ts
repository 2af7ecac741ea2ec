import { createHash } from 'node:crypto'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { META, modernHeaders } from '../support/clients/peer.ts'
import { memoryOf } from '../support/effort.ts'
import { CLIENTS, CLIENT_NAMES } from './clients.ts'
import type { Place } from './clients.ts'
import { mcpProgram, openSite, runSkillsyncd, startDaemon } from './programs.ts'
import type { DaemonProcess, Site } from './programs.ts'

const DOCUMENT = 'skill://fx/large/SKILL.md'
const FILE = 'skill://fx/large/big.bin'
const HEADER = '---\nname: large\ndescription: Has one file of the largest size\n---\n'
const SIZE = 16_777_216 - Buffer.byteLength(HEADER)
const CONTENT = Buffer.alloc(SIZE, 0xff)
const INFO = { name: 'test', version: '1' }

let site: Site
let daemon: DaemonProcess

beforeAll(async () => {
  site = await openSite({ 'skills/large/SKILL.md': HEADER, 'skills/large/big.bin': CONTENT }, '1h')
  await runSkillsyncd(site, 'sync')
  daemon = await startDaemon(site)
})

afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

test.each(CLIENT_NAMES)('a file of the largest size is read over HTTP, byte for byte, by %s', async (name) => {
  await using client = await CLIENTS[name]({ url: daemon.url })

  const entry = await client.get(DOCUMENT)

  expect(await client.read(entry, FILE)).toHaveLength(SIZE)
})

test.each([
  ['sdk 1.32.2', openLegacy],
  ['client 2.4.0', openModern],
] as const)(
  'it is read over stdio by %s where the limit of the client for a message is raised, which else hangs up',
  async (_, open) => {
    const raised = await open({ maxBufferSize: 32 * 2 ** 20 })
    const usual = await open({})

    const { contents } = await raised.readResource({ uri: FILE })
    const refused = usual.readResource({ uri: FILE })

    await expect(refused).rejects.toThrow(/closed/i)
    expect(contents.map((content) => ('blob' in content ? content.blob : ''))).toEqual([CONTENT.toString('base64')])
    await raised.close()
    await usual.close()
  },
)

test.runIf(process.platform === 'linux')(
  'twenty clients at once, twice, are each given it whole, and the process never takes more than 1.5 GiB for it',
  async () => {
    const whole = Buffer.from(await (await rawRead()).arrayBuffer())
    const { result } = JSON.parse(whole.toString())
    const answers = new Set<string>()
    for (let wave = 0; wave < 2; wave += 1)
      for (const answer of await Promise.all(Array.from({ length: 20 }, digestRead))) answers.add(answer)

    const { most } = await memoryOf(daemon.pid!)
    expect(Buffer.from(result.contents[0].blob, 'base64')).toHaveLength(SIZE)
    expect([...answers]).toEqual([createHash('sha256').update(whole).digest('hex')])
    expect(most).toBeLessThan(1536 * 2 ** 20)
  },
)

interface FrameLimit {
  readonly maxBufferSize?: number
}

async function openLegacy(limit: FrameLimit): Promise<LegacyClient> {
  const client = new LegacyClient(INFO)
  await client.connect(new LegacyStdio({ ...program(), ...limit }))
  return client
}

async function openModern(limit: FrameLimit): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new StdioClientTransport({ ...program(), ...limit }))
  return client
}

function program(): Extract<Place, { command: string }> {
  const place = mcpProgram(site)
  if ('url' in place) throw new Error('A stdio client runs a program')
  return place
}

async function rawRead(): Promise<Response> {
  const params = { uri: FILE, _meta: META }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params })
  return fetch(daemon.url, { method: 'POST', headers: modernHeaders('resources/read', params), body })
}

/** The digest of a whole answer, of which nothing is kept on this side. */
async function digestRead(): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of (await rawRead()).body!) hash.update(chunk)
  return hash.digest('hex')
}
