import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import { serveStream } from '../../src/serve/mcp/transports/stdio/stdio.ts'
import { META, hear, legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import type { Heard, Peer, Reply } from '../support/clients/peer.ts'
import {
  CONTRACT_SOURCE,
  buildContractFixture,
  contractFrontmatter,
  documentOf,
} from '../support/content/contract-fixture.ts'
import type { ContractFixture } from '../support/content/contract-fixture.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { SCHEMAS, schemaOf } from './published-schemas.ts'

const CONFIG = [
  'serve:',
  '  forms: [default, files, synthetic, skill-prompts]',
  '  templates: ["skill://fx/{skill}/SKILL.md"]',
]

let fixture: ContractFixture
let served: Served

beforeAll(async () => {
  fixture = await buildContractFixture()
  served = await serve(fixture.repository, { source: CONTRACT_SOURCE, config: CONFIG })
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const REVISIONS = ['2024-10-07', ...SCHEMAS]
const PLACES = REVISIONS.flatMap((revision) => (['http', 'stdio'] as const).map((place) => [revision, place] as const))

test.each([...PLACES, ...REVISIONS.map((revision) => [revision, 'skillsyncd mcp'] as const)])(
  'every answer of every method in a session of %s over %s is one of that revision',
  async (revision, place) => {
    await using client = await open(place, revision)
    const faults = schemaOf(revision)

    const answers = await everyAnswer(client)

    const found = answers.flatMap(({ asked, definition, reply }) =>
      faultsOf(faults, revision, definition, reply).map((fault) => `${asked}: ${fault}`),
    )
    expect(found).toEqual([])
    expect(answers.filter(({ reply }) => reply.error !== undefined).length).toBe(REFUSED.length)
  },
)

test.each(PLACES)('every notification in a session of %s over %s is one of that revision', async (revision, place) => {
  await using client = await open(place, revision)
  const faults = schemaOf(revision)
  const uri = 'skill://fx/code-review/SKILL.md'
  await using heard = await client.subscribe([uri], { list: true, prompts: true })

  const added = `added-${revision}-${place}`
  await fixture.repository.commit({
    'docs/skills/code-review/SKILL.md': documentOf(contractFrontmatter('code-review'), `${added}\n`),
    [`docs/skills/${added}/SKILL.md`]: documentOf(contractFrontmatter(added)),
  })
  await served.sync()
  for (const method of Object.keys(NOTIFICATIONS).slice(0, 3)) await heard.next((message) => message.method === method)

  const told = heard.messages.filter(({ method }) => method !== undefined)
  const found = told.flatMap(({ jsonrpc, ...message }) => {
    const whole = revision >= '2025-11-25' ? { jsonrpc, ...message } : message
    return faults(NOTIFICATIONS[message.method] ?? message.method, whole)
  })
  expect(found).toEqual([])
})

test.each(PLACES)('a session of %s over %s has the forms that its revision knows', async (revision, place) => {
  await using client = await open(place, revision)

  const [tools, prompts, skill] = [
    await client.call('tools/list'),
    await client.call('prompts/list'),
    await client.call('tools/call', GET_SKILL),
  ]

  const isNew = revision >= '2025-06-18'
  const [tool] = tools.result.tools
  expect(tools.result.tools.map(({ title }: any) => title !== undefined)).toEqual(Array(4).fill(isNew))
  expect(tools.result.tools.some(({ outputSchema }: any) => outputSchema !== undefined)).toBe(isNew)
  expect(tool.annotations !== undefined).toBe(revision >= '2025-03-26')
  expect(prompts.result.prompts.map(({ title }: any) => title !== undefined)).toEqual(
    prompts.result.prompts.map(() => isNew),
  )
  expect(skill.result.content.some(({ type }: any) => type === 'resource_link')).toBe(isNew)
  expect(client.opening.result.capabilities.completions !== undefined).toBe(revision >= '2025-03-26')
  // Without the links, and without the object, the text has the same.
  const told = JSON.parse(skill.result.content[0].text)
  expect(told.files.map(({ path }: any) => path)).toContain('references/checklist.md')
  expect(skill.result.structuredContent).toEqual(isNew ? told : undefined)
})

const NOTIFICATIONS: Readonly<Record<string, string>> = {
  'notifications/resources/updated': 'ResourceUpdatedNotification',
  'notifications/resources/list_changed': 'ResourceListChangedNotification',
  'notifications/prompts/list_changed': 'PromptListChangedNotification',
  'notifications/subscriptions/acknowledged': 'SubscriptionsAcknowledgedNotification',
}

const GET_SKILL = { name: 'get_skill', arguments: { id: 'code-review' } }

interface Asked {
  readonly asked: string
  readonly definition: string
  readonly reply: Reply
}

const ROOT = 'skill://fx/code-review'
const CHECKLIST = { id: 'code-review', path: 'references/checklist.md' }

/** What each method is asked, and the definition of its result. */
const ASKS: readonly (readonly [method: string, params: object, definition: string])[] = [
  ['tools/list', {}, 'ListToolsResult'],
  ['tools/call', { name: 'list_skills' }, 'CallToolResult'],
  ['tools/call', { name: 'list_skills', arguments: { limit: 1 } }, 'CallToolResult'],
  ['tools/call', { name: 'list_skills', arguments: { cursor: 'none' } }, 'CallToolResult'],
  ['tools/call', { name: 'search_skills', arguments: { query: 'review code' } }, 'CallToolResult'],
  ['tools/call', { name: 'search_skills', arguments: { query: '' } }, 'CallToolResult'],
  ['tools/call', GET_SKILL, 'CallToolResult'],
  ['tools/call', { name: 'get_skill', arguments: { id: 'nowhere' } }, 'CallToolResult'],
  ['tools/call', { name: 'read_skill_file', arguments: CHECKLIST }, 'CallToolResult'],
  ['tools/call', { name: 'read_skill_file', arguments: { ...CHECKLIST, path: 'nowhere' } }, 'CallToolResult'],
  ['prompts/list', {}, 'ListPromptsResult'],
  ['prompts/get', { name: 'init-skills' }, 'GetPromptResult'],
  ['prompts/get', { name: 'skills-catalog' }, 'GetPromptResult'],
  ['prompts/get', { name: 'code-review' }, 'GetPromptResult'],
  ['resources/list', {}, 'ListResourcesResult'],
  ['resources/templates/list', {}, 'ListResourceTemplatesResult'],
  ['skills/list', {}, 'Result'],
  ['skills/get', { uri: `${ROOT}/SKILL.md` }, 'Result'],
  ['resources/directory/read', { uri: ROOT }, 'Result'],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'skill://fx/{skill}/SKILL.md' }, argument: { name: 'skill', value: 'c' } },
    'CompleteResult',
  ],
]

const LEGACY_ASKS: typeof ASKS = [
  ['ping', {}, 'EmptyResult'],
  ['resources/subscribe', { uri: `${ROOT}/SKILL.md` }, 'EmptyResult'],
  ['resources/unsubscribe', { uri: `${ROOT}/SKILL.md` }, 'EmptyResult'],
]

/** What is refused, with an error of the protocol. */
const REFUSED: typeof ASKS = [
  ['tools/call', { name: 'nothing' }, ''],
  ['prompts/get', { name: 'nothing' }, ''],
  ['resources/read', { uri: 'skill://fx/nothing/SKILL.md' }, ''],
  ['resources/read', {}, ''],
  ['skills/get', { uri: ROOT }, ''],
  ['resources/list', { cursor: 'none' }, ''],
  ['nothing/at/all', {}, ''],
]

async function everyAnswer(client: Client): Promise<readonly Asked[]> {
  const opening = client.era === 'modern' ? 'DiscoverResult' : 'InitializeResult'
  const answers: Asked[] = [{ asked: 'opening', definition: opening, reply: client.opening }]
  // A client that shares the disk reads the files there.
  const { tools } = (await client.call('tools/list')).result
  const hasReader = tools.some(({ name }: any) => name === 'read_skill_file')
  const asks = ASKS.filter(([, params]) => hasReader || !JSON.stringify(params).includes('read_skill_file'))
  for (const [method, params, definition] of [...asks, ...(client.era === 'legacy' ? LEGACY_ASKS : []), ...REFUSED])
    answers.push({ asked: `${method} ${JSON.stringify(params)}`, definition, reply: await client.call(method, params) })
  const listed: readonly { readonly uri: string }[] = answers.find(({ asked }) => asked.startsWith('resources/list'))!
    .reply.result.resources
  for (const { uri } of listed)
    answers.push({ asked: uri, definition: 'ReadResourceResult', reply: await client.call('resources/read', { uri }) })
  return answers
}

function faultsOf(
  faults: ReturnType<typeof schemaOf>,
  revision: string,
  definition: string,
  reply: Reply,
): readonly string[] {
  const { status: _, headers: __, ...message } = reply
  const isNew = revision >= '2025-11-25'
  if (definition === '') return faults(isNew ? 'JSONRPCErrorResponse' : 'JSONRPCError', message)
  if (reply.result === undefined) return [`it was refused: ${reply.error?.message}`]
  const result = withoutHints(revision >= '2026-07-28' ? reply.result : withoutExtensions(reply.result))
  return [...faults(isNew ? 'JSONRPCResultResponse' : 'JSONRPCResponse', message), ...faults(definition, result)]
}

/** The skills extension is declared where its specification says, in sessions of each revision: its hosts look there. */
function withoutExtensions({ capabilities, ...result }: any): object {
  if (capabilities === undefined) return result
  const { extensions, ...known } = capabilities
  expect(Object.keys(extensions)).toContain('io.modelcontextprotocol/skills')
  return { ...result, capabilities: known }
}

/** Published resources have these two hints of tools, as the contract that they follow has them; no revision names them. */
function withoutHints(result: any): object {
  const list = ['resources', 'resourceTemplates'].find((name) => Array.isArray(result[name]))
  if (list === undefined) return result
  const items = result[list].map(({ annotations, ...item }: any) => {
    if (annotations === undefined) return item
    const { readOnlyHint: _, idempotentHint: __, ...known } = annotations
    return { ...item, annotations: known }
  })
  return { ...result, [list]: items }
}

type Client = Pick<Peer, 'call' | 'opening' | 'era' | 'subscribe'> & AsyncDisposable

async function open(place: 'http' | 'stdio' | 'skillsyncd mcp', revision: string): Promise<Client> {
  if (place === 'stdio') return overStreams(revision)
  const era = revision >= '2026-07-28' ? 'modern' : 'legacy'
  if (place === 'skillsyncd mcp') return stdio(['--config', served.configFile], era, {}, [], revision)
  return era === 'modern' ? modernHttp(served.url) : legacyHttp(served.url, revision)
}

/** A client over a pair of streams in this process. */
async function overStreams(revision: string): Promise<Client> {
  const era = revision >= '2026-07-28' ? 'modern' : 'legacy'
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()]
  const ended = serveStream(servingOf(served.daemon.parts.serving), { input, output }, stop.signal)
  const heard = hear(messagesOf(output), async () => {})
  let lastId = 0
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const call = async (method: string, params: object = {}): Promise<Reply> => {
    const id = (lastId += 1)
    send({ id, method, params: era === 'modern' ? { ...params, _meta: META } : params })
    const message = await heard.next((one) => one.id === id && one.method === undefined)
    return { ...message, status: 200, headers: new Headers() }
  }
  const clientInfo = { name: 'test', version: '1' }
  const opening =
    era === 'modern'
      ? await call('server/discover')
      : await call('initialize', { protocolVersion: revision, capabilities: {}, clientInfo })
  if (era === 'legacy') send({ method: 'notifications/initialized' })
  return {
    era,
    call,
    opening,
    subscribe: async (uris) => subscribed(uris, { era, send, call, heard }),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

interface Wire {
  readonly era: 'legacy' | 'modern'
  readonly send: (message: object) => void
  readonly call: (method: string, params?: object) => Promise<Reply>
  readonly heard: Heard
}

async function subscribed(uris: readonly string[], { era, send, call, heard }: Wire): Promise<Heard> {
  if (era === 'legacy') {
    for (const uri of uris) await call('resources/subscribe', { uri })
    return { messages: heard.messages, next: async (accepts) => heard.next(accepts), async [Symbol.asyncDispose]() {} }
  }
  const notifications = { resourceSubscriptions: uris, resourcesListChanged: true, promptsListChanged: true }
  send({ id: 'listen', method: 'subscriptions/listen', params: { notifications, _meta: META } })
  await heard.next((message) => message.method === 'notifications/subscriptions/acknowledged')
  return heard
}

async function* messagesOf(output: PassThrough): AsyncGenerator<any> {
  for await (const line of createInterface({ input: output })) yield JSON.parse(line)
}
