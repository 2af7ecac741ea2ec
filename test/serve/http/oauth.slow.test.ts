import { ClientCredentialsProvider, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import { modern } from '../../conformance/exchange.ts'
import { Repository } from '../../support/git/repository.ts'
import { CLIENT, TokenIssuer } from '../../support/http/issuer.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'
import { ask } from './ask.ts'
import type { Answer } from './ask.ts'

const FILES = { 'tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n' }
const CALL = {
  method: 'POST',
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
  }),
}

let repository: Repository
let issuer: TokenIssuer
let served: Served
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
  issuer = await TokenIssuer.start()
  served = await serve(repository, { config: ['serve:', `  oauth: { issuer: '${issuer.url}' }`] })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test('without a token the answer is 401, and says where a client learns how to come by one', async () => {
  const { status, headers, text } = await call(served)

  expect(status).toBe(401)
  const metadataUrl = /^Bearer .*resource_metadata="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1]
  expect(metadataUrl).toBe(`${served.http.url}/.well-known/oauth-protected-resource/mcp`)
  expect(headers['www-authenticate']).toContain('scope="skills"')
  expect(headers['www-authenticate']).not.toContain('error=')
  expect(text).not.toContain('tidy')
})

test.each(['', '/mcp'])('the metadata of RFC 9728 is answered to everybody, at %j behind its path', async (suffix) => {
  const { status, headers, text } = await ask(served.http.url, `/.well-known/oauth-protected-resource${suffix}`)

  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' })
  expect(JSON.parse(text)).toMatchObject({
    resource: `${served.http.url}/mcp`,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ['header'],
    scopes_supported: expect.arrayContaining(['skills']),
  })
})

test('a token that is wrong, expired or meant for another server is answered with 401 invalid_token', async () => {
  const here = served.url
  const bad = [
    await issuer.token({ aud: `${here}/` }),
    await issuer.token({ aud: 'https://other.example.com/mcp' }),
    await issuer.token({ aud: here, exp: Math.floor(Date.now() / 1000) - 60 }),
    await issuer.token({ aud: here, exp: null }),
    await issuer.token({}),
    'nonsense',
  ]

  for (const token of bad) {
    const { status, headers, text } = await call(served, token)
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toContain('error="invalid_token"')
    expect(text).not.toContain('tidy')
    expect(text).not.toContain(token)
  }
  expect(await call(served, await issuer.token({ aud: here }))).toMatchObject({ status: 200 })
})

test('while the issuer cannot be asked a token is answered with 503 and Retry-After, and one of ours goes on working', async () => {
  await using down = await TokenIssuer.start()
  down.failure = 500
  await using other = await serve(repository, { config: ['serve:', `  oauth: { issuer: '${down.url}' }`] })
  const { secret, sha256 } = newToken()
  await other.daemon.parts.tokens.add({ name: 'ours', sha256, scopes: ['skills'], created: new Date().toISOString() })

  const theirs = await call(other, await down.token({ aud: other.url }))
  const ours = await call(other, secret)
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: other.http.url }
  const body = `token=${await down.token({ aud: other.url, scope: 'page' })}`
  const page = await ask(other.http.url, '/login', { method: 'POST', headers: form, body })

  expect([theirs, page].map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
    [503, '10'],
    [503, '10'],
  ])
  expect(theirs.headers['www-authenticate']).toBeUndefined()
  expect(ours.status).toBe(200)
})

test('a token without the scope is answered with 403 insufficient_scope, and the scope that it lacks', async () => {
  const { status, headers } = await call(served, await issuer.token({ aud: served.url, scope: 'page' }))

  expect(status).toBe(403)
  expect(headers['www-authenticate']).toContain('error="insufficient_scope"')
  expect(headers['www-authenticate']).toContain('scope="skills"')
})

test('a token in the address is refused, however good it is', async () => {
  const token = await issuer.token({ aud: served.url })

  const { status } = await ask(served.http.url, `/mcp?access_token=${token}`, { ...CALL, headers: head() })

  expect(status).toBe(400)
})

test('scopes of the configuration are those that a client is told of', async () => {
  await using other = await serve(repository, {
    config: ['serve:', `  oauth: { issuer: '${issuer.url}', scopes: [hub.read], audience: 'api://hub' }`],
  })

  const none = await call(other)
  const lacking = await call(other, await issuer.token({ aud: 'api://hub', scope: 'skills' }))
  const good = await call(other, await issuer.token({ aud: 'api://hub', scope: 'hub.read' }))

  expect(none.headers['www-authenticate']).toContain('scope="hub.read"')
  expect(lacking.status).toBe(403)
  expect(good.status).toBe(200)
})

test('where there are packs a token opens those that its scopes name, and without such a scope nothing', async () => {
  await using more = await Repository.create()
  await more.commit({ 'mend/SKILL.md': '---\nname: mend\ndescription: Mends\n---\n' })
  const packs = 'packs: [{ id: one, include: [{ source: fx }] }, { id: two, include: [{ name: mend }] }]'
  const oauth = `  oauth: { issuer: '${issuer.url}', scopes: [hub.read] }`
  await using other = await serve(repository, { more: { more }, config: [packs, 'serve:', oauth] })
  const seen = async (scope: string, path = '/mcp'): Promise<unknown> => {
    const authorization = `Bearer ${await issuer.token({ aud: other.url, scope: `hub.read ${scope}` })}`
    const { headers, body } = modern('skills/list')
    const asked = { method: 'POST', headers: { ...headers, authorization }, body: JSON.stringify(body) }
    const { status, text } = await ask(other.http.url, path, asked)
    return status === 200 ? JSON.parse(text).result.skills.map(({ uri }: { readonly uri: string }) => uri) : status
  }

  expect(await seen('')).toEqual([])
  expect(await seen('pack:*')).toEqual(['skill://fx/tidy/SKILL.md', 'skill://more/mend/SKILL.md'])
  expect(await seen('pack:two')).toEqual(['skill://more/mend/SKILL.md'])
  expect(await seen('pack:two pack:one')).toEqual(['skill://fx/tidy/SKILL.md', 'skill://more/mend/SKILL.md'])
  expect(await seen('pack:two', '/mcp/one')).toBe(404)
  expect(await seen('pack:two pack:one', '/mcp/one')).toEqual(['skill://fx/tidy/SKILL.md'])
  for (const nobodys of ['pack:three', 'pack:', 'pack:TWO']) expect(await seen(nobodys)).toEqual([])
})

test('a client that is given the address of a pack finds the issuer too, and lists the pack', async () => {
  const packs = 'packs: [{ id: one, include: [{ name: tidy }] }]'
  await using other = await serve(repository, { config: [packs, 'serve:', `  oauth: { issuer: '${issuer.url}' }`] })
  const [clientId, clientSecret] = [CLIENT.id, CLIENT.secret]
  const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer.url })
  const client = new Client({ name: 'test', version: '0' })

  await client.connect(new StreamableHTTPClientTransport(new URL(`${other.url}/one`), { authProvider }))

  expect((await client.listResources()).resources).toHaveLength(1)
  await client.close()
})

test.each(['legacy', { pin: '2026-07-28' }] as const)(
  'a client of MCP finds the issuer by itself, comes by a token and lists the skills: %j',
  async (mode) => {
    const authProvider = new ClientCredentialsProvider({
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      expectedIssuer: issuer.url,
    })
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } })

    await client.connect(new StreamableHTTPClientTransport(new URL(served.url), { authProvider }))

    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['skill://fx/tidy/SKILL.md'])
    await client.close()
  },
)

function head(token?: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
}

async function call({ http }: Served, token?: string): Promise<Answer> {
  return ask(http.url, '/mcp', { ...CALL, headers: head(token) })
}
