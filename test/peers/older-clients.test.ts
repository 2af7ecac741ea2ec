import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Client as Client24, StreamableHTTPClientTransport as Http24 } from '@modelcontextprotocol/client'
import { Client as Client132 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Http132 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client111 } from 'sdk-1.11/client/index.js'
import { StreamableHTTPClientTransport as Http111 } from 'sdk-1.11/client/streamableHttp.js'
import { Client as Client112 } from 'sdk-1.12/client/index.js'
import { StreamableHTTPClientTransport as Http112 } from 'sdk-1.12/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONTRACT_SOURCE, buildContractFixture } from '../support/content/contract-fixture.ts'
import type { ContractFixture } from '../support/content/contract-fixture.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'

const CLIENTS: Readonly<Record<string, () => Promise<[client: any, transport: (url: URL) => any]>>> = {
  '1.11.4': async () => [new Client111(INFO), (url) => new Http111(url)],
  '1.12.3': async () => [new Client112(INFO), (url) => new Http112(url)],
  '1.32.2': async () => [new Client132(INFO), (url) => new Http132(url)],
  '2.4.0': async () => [new Client24(INFO), (url) => new Http24(url)],
}

const INFO = { name: 'peer', version: '1' }
const OLD = ['2024-10-07', '2024-11-05', '2025-03-26']
const ALL = [...OLD, '2025-06-18', '2025-11-25']

/** The revisions that a client accepts in the answer to `initialize`, and none if it is asked directly. */
const PAIRS = Object.keys(CLIENTS).flatMap((version) => {
  const revisions = version < '1.2' ? OLD : ALL
  return [undefined, ...revisions].map((revision) => [version, revision] as const)
})

let fixture: ContractFixture
let served: Served

beforeAll(async () => {
  fixture = await buildContractFixture()
  const config = ['serve: { forms: [default, files, synthetic, skill-prompts] }']
  served = await serve(fixture.repository, { source: CONTRACT_SOURCE, config })
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

test.each(PAIRS)(
  'the official client %s, with the revision %s, takes every answer of every tool and method',
  async (version, revision) => {
    await using front = await openFront(served.url, revision)
    const [client, transportTo] = await CLIENTS[version]!()
    await client.connect(transportTo(new URL(front.url)))

    const { tools } = await client.listTools()
    const skill = await client.callTool({ name: 'get_skill', arguments: { id: 'code-review' } })
    const others = await Promise.all([
      client.callTool({ name: 'list_skills', arguments: {} }),
      client.callTool({ name: 'search_skills', arguments: { query: 'review' } }),
      client.callTool({ name: 'read_skill_file', arguments: { id: 'code-review', path: 'references/checklist.md' } }),
      client.getPrompt({ name: 'init-skills' }),
      client.getPrompt({ name: 'code-review' }),
      client.listResourceTemplates(),
      client.ping(),
      client.subscribeResource({ uri: 'skill://fx/code-review/SKILL.md' }),
      client.unsubscribeResource({ uri: 'skill://fx/code-review/SKILL.md' }),
    ])
    const { prompts } = await client.listPrompts()
    const { resources } = await client.listResources()
    for (const { uri } of resources) expect((await client.readResource({ uri })).contents).toHaveLength(1)
    await client.close()

    expect(tools).toHaveLength(4)
    expect(JSON.parse(skill.content[0].text).files.length).toBeGreaterThan(0)
    expect(others.filter(({ isError }: { isError?: boolean }) => isError === true)).toEqual([])
    expect([prompts.length > 2, resources.length > 10]).toEqual([true, true])
  },
)

/** Passes requests on, and answers `initialize` with the revision, as a gateway of that revision does. */
async function openFront(
  behind: string,
  revision: string | undefined,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer(
    (request, response) => void pass(behind, revision, request, response).catch(() => response.destroy()),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The front has no port')
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function pass(
  behind: string,
  revision: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET' } = request
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
  const body = method === 'POST' ? new Uint8Array(await buffer(request)) : null
  const left = new AbortController()
  response.once('close', () => left.abort())
  const answer = await fetch(behind, { method, headers: headers as Record<string, string>, body, signal: left.signal })
  const kept = Object.fromEntries(
    ['content-type', 'mcp-session-id'].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  response.writeHead(answer.status, kept)
  if (answer.headers.get('content-type')?.includes('event-stream') === true) {
    for await (const chunk of Readable.fromWeb(answer.body as any)) response.write(chunk)
    return void response.end()
  }
  const text = await answer.text()
  response.end(revision === undefined ? text : text.replace(/("protocolVersion":")[\d-]+/, `$1${revision}`))
}
