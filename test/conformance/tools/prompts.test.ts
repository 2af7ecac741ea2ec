import { readdir } from 'node:fs/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { INSTRUCTIONS } from '../../../src/serve/mcp/tools/instructions.ts'
import type { Scope } from '../../../src/serve/principal.ts'
import type { Reply } from '../../support/clients/peer.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import { serve } from '../../support/served.ts'
import { exchange, legacy, modern } from '../exchange.ts'
import { KINDS, expectInvalidParams, resultOf } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'
import type { Small } from '../small.ts'

const SKILL = { 'a/SKILL.md': skillOf('a') }

describe('the prompt init-skills', () => {
  let small: Small

  beforeAll(async () => {
    small = await openSmall(SKILL)
  })

  afterAll(() => small[Symbol.asyncDispose]())

  test.each(KINDS)('is declared and listed, and takes no arguments (%s)', async (kind) => {
    const peer = small.of(kind)

    const { prompts } = resultOf(await peer.call('prompts/list'))

    expect(resultOf(peer.opening).capabilities.prompts).toEqual({})
    expect(prompts).toEqual([
      { name: 'init-skills', title: expect.any(String), description: expect.stringContaining('skills') },
      { name: 'skills-catalog', title: expect.any(String), description: expect.stringContaining('skill') },
    ])
    expectInvalidParams(await peer.call('prompts/list', { cursor: 'next' }))
  })

  test.each(KINDS)('what it says is what the command prints, byte for byte (%s)', async (kind) => {
    const home = await Home.create()

    const said = textOf(await small.of(kind).call('prompts/get', { name: 'init-skills' }))
    const withArguments = { name: 'init-skills', arguments: { audience: 'nobody' } }
    const again = textOf(await small.of(kind).call('prompts/get', withArguments))
    const printed = await home.command('instructions', '--no-xml')

    expect(printed).toMatchObject({ status: 0, stdout: said, stderr: '' })
    expect(again).toBe(said)
  })

  test.each(KINDS)('no other prompt is there (%s)', async (kind) => {
    const peer = small.of(kind)

    for (const params of [{ name: 'init' }, { name: 'Init-Skills' }, { name: '' }, { name: '__proto__' }]) {
      expectInvalidParams(await peer.call('prompts/get', params))
    }
    for (const params of [{}, { name: 7 }, { name: null }, { name: ['init-skills'] }]) {
      expect((await peer.call('prompts/get', params)).result).toBeUndefined()
    }
  })

  test.each(KINDS)('has no argument, and one that is to be completed is unknown as any other is (%s)', async (kind) => {
    const peer = small.of(kind)
    const argument = { name: 'path', value: '' }
    const complete = (ref: object): Promise<Reply> => peer.call('completion/complete', { ref, argument })

    for (const name of ['init-skills', 'skills-catalog'])
      expectInvalidParams(await complete({ type: 'ref/prompt', name }))
    expectInvalidParams(await complete({ type: 'ref/prompt', name: 'other' }))
    expectInvalidParams(await complete({ type: 'ref/prompt' }))
    expect(resultOf(await complete({ type: 'ref/resource', uri: 'skill://fx/{+path}' })).completion).toBeDefined()
  })

  test.each<[string, (url: URL) => Promise<Prompting>]>([
    ['sdk 1.32.2', openLegacy],
    ['client 2.4.0', (url) => openModern(url, 'legacy')],
    ['client 2.4.0, pinned', (url) => openModern(url, { pin: '2026-07-28' })],
  ])('is what a published client lists and gets: %s', async (_, open) => {
    const client = await open(new URL(small.served.url))

    const { prompts } = await client.listPrompts()
    const { messages } = await client.getPrompt({ name: 'init-skills' })
    const unknown = client.getPrompt({ name: 'other' })

    expect(prompts.map(({ name }) => name)).toEqual(['init-skills', 'skills-catalog'])
    expect(messages).toMatchObject([{ role: 'user', content: { type: 'text' } }])
    await expect(unknown).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })
})

test.each(KINDS)('turned off, the prompt is neither declared nor answered (%s)', async (kind) => {
  await using small = await openSmall(SKILL, { kinds: [kind], config: ['serve: { forms: [default, -prompts] }'] })
  const peer = small.of(kind)

  const replies = [await peer.call('prompts/list'), await peer.call('prompts/get', { name: 'init-skills' })]

  expect(resultOf(peer.opening).capabilities).not.toHaveProperty('prompts')
  expect(replies.map(({ error }) => error?.code)).toEqual([-32601, -32601])
  const completion = { ref: { type: 'ref/prompt', name: 'init-skills' }, argument: { name: 'x', value: '' } }
  expectInvalidParams(await peer.call('completion/complete', completion))
})

test.each(['modern', 'legacy'] as const)(
  'a token without the scope sees no prompt, one with it sees it (%s)',
  async (era) => {
    const scopesOf = new Map<string, Scope[]>([
      ['plain', ['skills', 'tools']],
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
    await repository.commit(SKILL)
    await using served = await serve(repository, { access })

    const seenBy = async (token: string): Promise<unknown> => {
      const authorization = { authorization: `Bearer ${token}` }
      const send = async (method: string, params: object, session?: string) => {
        const { headers, body } = era === 'modern' ? modern(method, params) : legacy(method, params, session)
        return exchange(served.url, { headers: { ...headers, ...authorization }, body })
      }
      const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const opening = era === 'modern' ? await send('server/discover', {}) : await send('initialize', initialize)
      const session = opening.headers.get('mcp-session-id') ?? undefined
      const listed = await send('prompts/list', {}, session)
      return [Object.hasOwn(opening.result.capabilities, 'prompts'), listed.error?.code ?? listed.result.prompts.length]
    }

    expect(await seenBy('plain')).toEqual([false, -32601])
    expect(await seenBy('prompted')).toEqual([true, 2])
  },
)

describe('the command instructions', () => {
  test('wraps the guide in a tag, unless told not to, says nothing else, and needs no configuration', async () => {
    const home = await Home.create()

    const wrapped = await home.run('instructions')
    const plain = await home.command('instructions', '--no-xml')

    expect(wrapped).toMatchObject({ status: 0, stderr: '' })
    expect(plain).toMatchObject({ status: 0, stderr: '' })
    expect(plain.stdout).toMatch(/^# Skills MCP - Usage Guide\n[^]*[^\n]\n$/)
    expect(JSON.parse((await home.command('instructions', '--json')).stdout)).toEqual({ instructions: wrapped.stdout })
    expect(wrapped.stdout).toBe(`<skills-mcp-instructions>\n${plain.stdout}</skills-mcp-instructions>\n`)
    expect(await readdir(home.path)).toEqual(['config', 'run', 'tmp'])
  })

  test('help is a result; a flag or a word that is not known is wrong usage', async () => {
    const home = await Home.create()

    const help = await home.command('instructions', '--help')
    const flags = await Promise.all(
      ['--xml', '--no-xm', '--no-xml=1', 'AGENTS.md'].map((w) => home.command('instructions', w)),
    )

    expect(help).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('--no-xml') })
    for (const ended of flags)
      expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/./) })
  })

  test('the guide has the parts that were agreed on, in their order, and five steps', () => {
    const headings = [...INSTRUCTIONS.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)
    const steps = INSTRUCTIONS.split('## Working with Skills')[1]
      ?.split('## Important Notes')[0]
      ?.match(/^\d\. /gm)

    expect(headings).toEqual([
      'Skills MCP - Usage Guide',
      'What Are Skills',
      'Core Design Philosophy',
      'When to Use Skills',
      'Working with Skills',
      'Important Notes',
    ])
    expect(steps).toEqual(['1. ', '2. ', '3. ', '4. ', '5. '])
    expect(INSTRUCTIONS).toContain('task or objective')
    for (const named of ['`search_skills`', '`list_skills`', '`get_skill`', '`<untrusted-skill-content-…>`'])
      expect(INSTRUCTIONS).toContain(named)
    expect(INSTRUCTIONS.trimEnd().split('\n\n').at(-1)).toMatch(/^Use skills when/)
  })
})

/** What of a published client this asks. */
interface Prompting {
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>
  getPrompt(params: { name: string }): Promise<{ readonly messages: readonly unknown[] }>
  close(): Promise<void>
}

async function openLegacy(url: URL): Promise<Prompting> {
  const client = new LegacyClient({ name: 'test', version: '1' })
  await client.connect(new LegacyHttp(url))
  return client
}

async function openModern(url: URL, mode: VersionNegotiationMode): Promise<Prompting> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(url))
  return client
}

function textOf(reply: Reply): string {
  const { messages } = resultOf(reply)
  expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: expect.any(String) } }])
  return messages[0].content.text
}
