import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { PromptListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditEvent } from '../../../src/serve/audit.ts'
import type { Scope } from '../../../src/serve/principal.ts'
import { eventsOf, hear } from '../../support/clients/peer.ts'
import type { Heard } from '../../support/clients/peer.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import { legacy, modern } from '../exchange.ts'
import { KINDS, expectInvalidParams, openPeer, resultOf } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'
import type { Small } from '../small.ts'

const SWITCH = 'serve: { forms: [default, skill-prompts] }'

const FILES = {
  'fix/SKILL.md': front('fix', 'argument-hint: [issue]', 'Mend $ARGUMENTS.'),
  'fix/references/how.md': 'So.\n',
  'plain/SKILL.md': skillOf('plain'),
  'for-people/SKILL.md': front('for-people', 'disable-model-invocation: true', 'By hand.'),
  'for-models/SKILL.md': front('for-models', 'user-invocable: false', 'Not by hand.'),
  'unlisted/SKILL.md': skillOf('unlisted'),
  'withheld/SKILL.md': '---\nname: withheld\n---\nIt has no description.\n',
  'init-skills/SKILL.md': skillOf('init-skills'),
  'one/twin/SKILL.md': skillOf('twin', 'The one'),
  'two/twin/SKILL.md': skillOf('twin', 'The other'),
  'Ünïcode "x"/SKILL.md': skillOf('quoted'),
  'broken/SKILL.md': '---\nname: [\n---\nNobody knows.\n',
}

describe('with the switch', () => {
  let small: Small

  beforeAll(async () => {
    small = await openSmall(FILES, { config: [SWITCH], source: ['unlisted: [unlisted/**]'] })
  })

  afterAll(() => small[Symbol.asyncDispose]())

  test.each(KINDS)('each listed skill that people may start is a prompt, under its id (%s)', async (kind) => {
    const peer = small.of(kind)

    const { prompts } = resultOf(await peer.call('prompts/list'))
    const listed = JSON.parse(
      resultOf(await peer.call('tools/call', { name: 'list_skills', arguments: {} })).content[0].text,
    )

    expect(resultOf(peer.opening).capabilities.prompts).toEqual({ listChanged: true })
    expect(prompts.map(({ name }: Named) => name)).toEqual([
      'init-skills',
      'skills-catalog',
      'fix',
      'for-people',
      'fx/one/twin',
      'fx/two/twin',
      'fx/init-skills',
      'plain',
      'Ünïcode "x"',
    ])
    expect(prompts[2]).toEqual({
      name: 'fix',
      title: 'fix',
      description: 'What fix does',
      arguments: [{ name: 'arguments', description: '[issue]', required: false }],
    })
    expect(prompts[4]).toEqual({ name: 'fx/one/twin', title: 'twin', description: 'The one' })
    const ids: string[] = listed.map(({ id }: { id: string }) => id)
    // Models are not told of what people alone start.
    const forModels = prompts.slice(2).filter(({ name }: Named) => name !== 'for-people')
    for (const { name } of forModels) expect(ids).toContain(name.replace(/^fx\/init/, 'init'))
  })

  test.each(KINDS)('a prompt is the text of its SKILL.md, and where the rest is (%s)', async (kind) => {
    const peer = small.of(kind)

    const { description, messages } = resultOf(
      await peer.call('prompts/get', { name: 'fix', arguments: { arguments: 'issue 7' } }),
    )
    const skill = resultOf(await peer.call('tools/call', { name: 'get_skill', arguments: { id: 'fix' } }))

    const [text, note] = messages.map(({ role, content }: { role: string; content: { text: string } }) => {
      expect(role).toBe('user')
      return content.text
    })
    expect(description).toBe('What fix does')
    expect(text).toBe(skill.structuredContent.content.replace('$ARGUMENTS', 'issue 7'))
    const { path, uri } = skill.structuredContent
    expect(note).toBe(`Its SKILL.md is ${path ?? uri}. ${skill.content[1].text}`)
    expect(messages).toHaveLength(2)
  })

  test.each(KINDS)('every prompt that is listed is given, and no other skill is one (%s)', async (kind) => {
    const peer = small.of(kind)
    const { prompts } = resultOf(await peer.call('prompts/list'))

    for (const { name } of prompts) {
      expect(resultOf(await peer.call('prompts/get', { name })).messages[0].content.text).not.toBe('')
    }
    const others = [
      'for-models',
      'unlisted',
      'fx/unlisted',
      'withheld',
      'broken',
      'twin',
      'fx/fix',
      '',
      '__proto__',
      '../fix',
    ]
    for (const name of others) expectInvalidParams(await peer.call('prompts/get', { name }))
    for (const given of [7, [], { arguments: 7 }]) {
      const reply = await peer.call('prompts/get', { name: 'fix', arguments: given })
      expect(reply.result).toBeUndefined()
    }
  })

  test.each(KINDS)('what a person may write is completed by nothing (%s)', async (kind) => {
    const peer = small.of(kind)
    const completed = async (name: string, of = 'arguments') =>
      peer.call('completion/complete', { ref: { type: 'ref/prompt', name }, argument: { name: of, value: '' } })

    expect(resultOf(await completed('fix')).completion).toEqual({ values: [], total: 0, hasMore: false })
    expectInvalidParams(await completed('fix', 'other'))
    // The last two have no argument.
    for (const name of ['for-models', 'unlisted', 'twin', 'init-skills', 'fx/one/twin'])
      expectInvalidParams(await completed(name))
  })

  test.each(['legacy', 'auto'] as const)('a published client lists and gets them (%s)', async (mode) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(small.served.url)))

    const { prompts } = await client.listPrompts()
    const { messages } = await client.getPrompt({ name: 'Ünïcode "x"' })

    expect(prompts).toHaveLength(9)
    expect(messages[0]?.content).toMatchObject({ type: 'text', text: '# quoted\n' })
    await client.close()
  })
})

test.each(KINDS)('the list comes in pages, of one catalog (%s)', async (kind) => {
  const files = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`s${index}/SKILL.md`, skillOf(`s${index}`)]),
  )
  await using small = await openSmall(files, { kinds: [kind], config: [SWITCH, 'limits: { listing: { entries: 4 } }'] })
  const peer = small.of(kind)
  const names: string[] = []

  let cursor: string | undefined
  for (let page = 0; page === 0 || cursor !== undefined; page += 1) {
    const result = resultOf(await peer.call('prompts/list', cursor === undefined ? {} : { cursor }))
    expect(result.prompts.length).toBeLessThanOrEqual(4)
    names.push(...result.prompts.map(({ name }: Named) => name))
    cursor = result.nextCursor
  }
  const { nextCursor: old } = resultOf(await peer.call('prompts/list'))
  await small.commit({ 's0/SKILL.md': skillOf('s0', 'Something else') })
  await expect.poll(async () => resultOf(await peer.call('prompts/list')).prompts[2].description).toBe('Something else')

  expect(names).toEqual(['init-skills', 'skills-catalog', ...Array.from({ length: 9 }, (_, index) => `s${index}`)])
  expectInvalidParams(await peer.call('prompts/list', { cursor: old }))
  const { nextCursor: ofSkills } = resultOf(await peer.call('skills/list'))
  expectInvalidParams(await peer.call('prompts/list', { cursor: ofSkills }))
})

test.each(KINDS)('the list is said to be another exactly when it is (%s)', async (kind) => {
  await using small = await openSmall(FILES, { kinds: [], config: [SWITCH] })
  await using peer = await openPeer(kind, small.served)
  const uri = 'skill://fx/plain/mark.md'
  await small.commit({ 'plain/mark.md': '0' })
  await expect.poll(async () => (await peer.call('resources/read', { uri })).result).toBeDefined()
  await using heard = await peer.subscribe([uri], { prompts: true })
  let round = 0
  const toldOf = async (files: Parameters<Small['commit']>[0]): Promise<string[]> => {
    const known = heard.messages.length
    await small.commit(files)
    round += 1
    await small.commit({ 'plain/mark.md': `${round}` })
    await heard.next((message) => heard.messages.indexOf(message) >= known && message.method === UPDATED)
    return methodsOf(heard)
      .slice(known)
      .filter((method) => method === CHANGED)
  }

  expect(await toldOf({ 'fix/references/how.md': 'Otherwise.\n' })).toEqual([])
  expect(await toldOf({ 'for-models/SKILL.md': front('for-models', 'user-invocable: false', 'Other words') })).toEqual(
    [],
  )
  expect(await toldOf({ 'plain/SKILL.md': `${skillOf('plain')}More.\n` })).toEqual([])
  expect(await toldOf({ 'broken/SKILL.md': '---\nname: [\n---\nStill nobody knows.\n' })).toEqual([])
  expect(await toldOf({ 'fix/SKILL.md': front('fix', 'argument-hint: [pull]', 'Mend.') })).toEqual([CHANGED])
  expect(await toldOf({ 'for-models/SKILL.md': skillOf('for-models') })).toEqual([CHANGED])
  expect(await toldOf({ 'new/SKILL.md': skillOf('new') })).toEqual([CHANGED])
  expect(await toldOf({ 'new/SKILL.md': null })).toEqual([CHANGED])
  // It is in no list of resources, and takes the short id of one that is.
  expect(await toldOf({ 'three/fix/SKILL.md': '---\nname: [\n---\nNobody knows.\n' })).toEqual([CHANGED])
})

test.each(['legacy', 'auto'] as const)('a published client of today is told (%s)', async (mode) => {
  await using small = await openSmall(FILES, { kinds: [], config: [SWITCH] })
  const told = Promise.withResolvers<void>()
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  client.setNotificationHandler('notifications/prompts/list_changed', () => told.resolve())
  await client.connect(new StreamableHTTPClientTransport(new URL(small.served.url)))
  if (mode === 'auto') await client.listen({ promptsListChanged: true })

  await small.commit({ 'new/SKILL.md': skillOf('new') })
  await told.promise

  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('new')
  await client.close()
})

test('a published client of the 2025 era is told', async () => {
  await using small = await openSmall(FILES, { kinds: [], config: [SWITCH] })
  const told = Promise.withResolvers<void>()
  const client = new LegacyClient({ name: 'test', version: '1' })
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => told.resolve())
  await client.connect(new LegacyHttp(new URL(small.served.url)))

  await small.commit({ 'new/SKILL.md': skillOf('new') })
  await told.promise

  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('new')
  await client.close()
})

test.each(KINDS)('without the switch no skill is a prompt, and nobody hears of prompts (%s)', async (kind) => {
  await using small = await openSmall(FILES, { kinds: [] })
  await using peer = await openPeer(kind, small.served)
  await using heard = await peer.subscribe(['skill://fx/plain/SKILL.md'], { prompts: true })

  const { prompts } = resultOf(await peer.call('prompts/list'))
  await small.commit({ 'new/SKILL.md': skillOf('new'), 'plain/SKILL.md': skillOf('plain', 'Other') })
  await heard.next(({ method }) => method === UPDATED)

  expect(resultOf(peer.opening).capabilities.prompts).toEqual({})
  expect(prompts.map(({ name }: Named) => name)).toEqual(['init-skills', 'skills-catalog'])
  expectInvalidParams(await peer.call('prompts/get', { name: 'plain' }))
  expect(methodsOf(heard)).not.toContain(CHANGED)
})

test.each(['modern', 'legacy'] as const)('a token without the scope hears of no prompt (%s)', async (era) => {
  const scopesOf = new Map<string, Scope[]>([
    ['plain', ['skills']],
    ['prompted', ['skills', 'prompts']],
  ])
  const access = {
    isTokenRequired: true,
    authenticate: async (token: string) => {
      const scopes = scopesOf.get(token)
      return scopes && { id: token, scopes: new Set(scopes) }
    },
  }
  await using repository = await Repository.create()
  await repository.commit({ 'plain/SKILL.md': skillOf('plain') })
  await using served = await serve(repository, { access, config: [SWITCH] })
  const [plain, prompted] = await Promise.all(
    ['plain', 'prompted'].map((token) => openStream(served.url, era, `Bearer ${token}`)),
  )

  await repository.commit({ 'new/SKILL.md': skillOf('new') })
  await served.sync()
  const isNews = ({ method }: { method: string }): boolean => method.endsWith('resources/list_changed')
  await Promise.all([plain!.next(isNews), prompted!.next(isNews), prompted!.next(({ method }) => method === CHANGED)])
  await repository.commit({ 'newer/SKILL.md': skillOf('newer') })
  await served.sync()
  await plain!.next(() => plain!.messages.filter(isNews).length > 1)

  expect(methodsOf(plain!)).not.toContain(CHANGED)
  expect(JSON.stringify(plain!.messages[0])).not.toContain('promptsListChanged')
})

test('a prompt that is got and a list that is read stand in the audit log, with who asked for what', async () => {
  const events: AuditEvent[] = []
  await using small = await openSmall(FILES, {
    kinds: ['M'],
    config: [SWITCH],
    audit: (event) => void events.push(event),
  })
  const peer = small.of('M')

  await peer.call('prompts/list')
  await peer.call('prompts/get', { name: 'fix', arguments: { arguments: 'a secret' } })
  await peer.call('prompts/get', { name: 'for-models' })

  expect(events.filter(({ asked }) => asked.startsWith('prompts/'))).toMatchObject([
    { asked: 'prompts/list', allowed: true, generation: 1 },
    { asked: 'prompts/get', of: 'fix', allowed: true, generation: 1 },
    { asked: 'prompts/get', of: 'for-models', allowed: false },
  ])
  expect(JSON.stringify(events)).not.toContain('a secret')
})

const CHANGED = 'notifications/prompts/list_changed'
const UPDATED = 'notifications/resources/updated'

interface Named {
  readonly name: string
}

function methodsOf({ messages }: Heard): string[] {
  return messages.map(({ method }) => method)
}

function front(name: string, more: string, body: string): string {
  return `---\nname: ${name}\ndescription: What ${name} does\n${more}\n---\n${body}\n`
}

/** A stream that asked to hear of all lists, with a token. */
async function openStream(url: string, era: 'modern' | 'legacy', authorization: string): Promise<Heard> {
  const post = async ({ headers, body }: ReturnType<typeof legacy>): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { ...headers, authorization }, body: JSON.stringify(body) })
  if (era === 'modern') {
    const notifications = { resourcesListChanged: true, promptsListChanged: true }
    return hear(eventsOf(await post(modern('subscriptions/listen', { notifications }))), async () => {})
  }
  const clientInfo = { name: 'test', version: '1' }
  const opened = await post(legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }))
  const session = opened.headers.get('mcp-session-id') ?? ''
  await opened.text()
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session, authorization }
  return hear(eventsOf(await fetch(url, { headers })), async () => {})
}
