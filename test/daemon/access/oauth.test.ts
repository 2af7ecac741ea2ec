import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { oauthVerifier } from '../../../src/daemon/access/oauth.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import type { OAuthOptions } from '../../../src/serve/http/protected-resource.ts'
import type { Principal } from '../../../src/serve/principal.ts'
import { SCOPES } from '../../../src/serve/principal.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { TokenIssuer } from '../../support/http/issuer.ts'

const HERE = 'https://skills.example.com/mcp'
const DAY_MS = 86_400_000

let issuer: TokenIssuer
let clock: FakeClock
let logged: string
beforeEach(async () => {
  issuer = await TokenIssuer.start()
  clock = new FakeClock()
  clock.setWall(new Date())
  logged = ''
})
afterEach(async () => {
  await issuer[Symbol.asyncDispose]()
})

interface Accepting {
  readonly audience?: string
  readonly scopes?: readonly string[]
  readonly issuer?: string
  readonly hasPacks?: () => boolean
  readonly tokenType?: 'at+jwt' | 'jwt'
}

function accepting(config: Accepting = {}): OAuthOptions {
  const redactor = new Redactor()
  const log = createLog({
    stream: { write: (line: string) => (logged += line) },
    format: 'json',
    journal: false,
    level: 'debug',
    clock,
    redactor,
  })
  return oauthVerifier(
    {
      issuer: config.issuer ?? issuer.url,
      audience: config.audience,
      scopes: config.scopes ?? [],
      tokenType: config.tokenType ?? 'jwt',
      keysMaxAgeMs: DAY_MS,
      page: undefined,
    },
    { clock, log, redactor, environment: environmentOf({}, '/home/ada'), hasPacks: config.hasPacks ?? (() => false) },
  )
}

test('a token of the issuer that is meant for us stands for its subject, with the scopes that it names', async () => {
  const oauth = accepting()
  const token = await issuer.token({ aud: HERE, scope: 'skills openid page unknown' })

  const principal = await bearerOf(oauth, token)

  expect(principal?.id).toMatch(/^oauth:ada#[0-9a-f]{32}$/)
  expect([...(principal?.scopes ?? [])].toSorted()).toEqual(['page', 'skills'])
})

test('the id of a principal is a text that every store takes, also if its name is cut within a character', async () => {
  const token = await issuer.token({ aud: HERE, scope: 'skills', sub: `${'a'.repeat(99)}😀` })

  const principal = await bearerOf(accepting(), token)

  expect(principal?.id).toMatch(/^oauth:a{99}\uFFFD#/)
})

async function bearerOf(oauth: OAuthOptions, token: string): Promise<Principal | undefined> {
  const answer = await oauth.authenticate(token, HERE)
  return answer === 'unavailable' ? undefined : answer
}

test('nobody who asks is taken for another one, whatever they are called', async () => {
  const oauth = accepting()
  const long = 'x'.repeat(300)
  const claims: Record<string, unknown>[] = [
    { sub: 'ada' },
    { sub: null, client_id: 'ada' },
    { sub: null, azp: 'ada' },
    { sub: 'unnamed' },
    { sub: null },
    { sub: `${long}1` },
    { sub: `${long}2` },
    { sub: 'a\u0001' },
    { sub: 'a\u0002' },
    { sub: 'a?' },
  ]

  const tokens = await Promise.all(claims.map((said) => issuer.token({ aud: HERE, ...said })))
  const ids = await Promise.all(tokens.map(async (token) => (await bearerOf(oauth, token))?.id))
  const again = await bearerOf(oauth, await issuer.token({ aud: HERE, jti: 'another token' }))

  expect(new Set(ids).size).toBe(claims.length)
  expect(again?.id).toBe(ids[0])
  for (const id of ids) expect(id).toMatch(/^oauth:\P{C}{1,133}$/u)
})

test('a token that does not name its key is accepted, whichever of the keys of the issuer it was signed with', async () => {
  const oauth = accepting()
  await issuer.rotate({ forget: false })
  const latest = await issuer.token({ aud: HERE }, { kid: false })
  const older = await issuer.token({ aud: HERE }, { kid: false, age: 1 })
  await using other = await TokenIssuer.start()
  const foreign = await other.token({ iss: issuer.url, aud: HERE }, { kid: false })
  const expired = await issuer.token({ aud: HERE, exp: Math.floor(Date.now() / 1000) - 60 }, { kid: false, age: 1 })

  for (const token of [latest, older]) expect((await bearerOf(oauth, token))?.id).toContain('oauth:ada#')
  for (const token of [foreign, expired]) expect(await oauth.authenticate(token, HERE)).toBeUndefined()
})

test('of a token that does not name its key no more than four keys are tried', async () => {
  const oauth = accepting()
  for (let made = 0; made < 4; made += 1) await issuer.rotate({ forget: false })
  const ages = [0, 3, 4]

  const tokens = await Promise.all(ages.map((age) => issuer.token({ aud: HERE }, { kid: false, age })))

  const answers = await Promise.all(tokens.map((token) => oauth.authenticate(token, HERE)))
  expect(answers.map((answer) => answer !== undefined)).toEqual([true, true, false])
})

test.each<[string, Record<string, unknown>]>([
  ['meant for another server', { aud: 'https://other.example.com/mcp' }],
  ['meant for our name and not for our address', { aud: 'https://skills.example.com' }],
  ['meant for nobody', {}],
  ['expired', { aud: HERE, exp: Math.floor(Date.now() / 1000) - 60 }],
  ['without an end', { aud: HERE, exp: null }],
  ['not valid yet', { aud: HERE, nbf: Math.floor(Date.now() / 1000) + 60 }],
  ['of another issuer by its own words', { aud: HERE, iss: 'https://other.example.com' }],
  ['of nobody', { aud: HERE, iss: null }],
])('a token is refused that is %s', async (_, claims) => {
  const oauth = accepting()

  expect(await oauth.authenticate(await issuer.token(claims), HERE)).toBeUndefined()
  expect(await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)).toBeDefined()
})

test('a token is refused whose signature is not one of a key of the issuer', async () => {
  const oauth = accepting()
  const claims = { iss: issuer.url, sub: 'ada', aud: HERE, exp: Math.floor(Date.now() / 1000) + 300, scope: 'skills' }
  const { kid } = issuer.publicKey
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const shared = createSecretKey(Buffer.from(JSON.stringify(issuer.publicKey)))
  const good = await issuer.token({ aud: HERE })
  const [head = '', body = '', signature = ''] = good.split('.')
  const more = Buffer.from(JSON.stringify({ ...claims, scope: 'skills tools page' })).toString('base64url')

  const forged = [
    await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: kid! }).sign(stranger),
    await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: kid! }).sign(shared),
    new UnsecuredJWT(claims).encode(),
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`,
    `${head}.${more}.${signature}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    'a.b.c',
    '',
  ]

  for (const token of forged) expect(await oauth.authenticate(token, HERE), token).toBeUndefined()
  expect(await oauth.authenticate(good, HERE)).toBeDefined()
})

test('the audience that is configured counts, and no other', async () => {
  const oauth = accepting({ audience: 'api://skills' })

  expect(await oauth.authenticate(await issuer.token({ aud: ['x', 'api://skills'] }), HERE)).toBeDefined()
  expect(await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)).toBeUndefined()
})

test('with scopes in the configuration a token that has them all opens everything, and another one nothing', async () => {
  const oauth = accepting({ scopes: ['read', 'use'] })
  const scopesOf = async (claims: Record<string, unknown>) =>
    (await bearerOf(oauth, await issuer.token({ aud: HERE, ...claims })))?.scopes.size

  expect(await scopesOf({ scope: 'use other read' })).toBe(SCOPES.length)
  expect(await scopesOf({ scope: null, scp: ['read', 'use'] })).toBe(SCOPES.length)
  expect(await scopesOf({ scope: 'use skills' })).toBe(0)
})

test('a token ends when it says so, for what goes on in its name too', async () => {
  const oauth = accepting()
  const token = await issuer.token({ aud: HERE, exp: Math.floor(clock.now().getTime() / 1000) + 60 })
  const principal = await bearerOf(oauth, token)

  expect(principal?.isOver?.()).toBe(false)
  await clock.advance(70_000)

  expect(principal?.isOver?.()).toBe(true)
  expect(await oauth.authenticate(token, HERE)).toBeUndefined()
})

test('who was let in before the first pack, or by one before the last went, has to ask again', async () => {
  let hasPacks = false
  const oauth = accepting({ hasPacks: () => hasPacks })
  const token = await issuer.token({ aud: HERE, scope: 'skills pack:web' })
  const before = await bearerOf(oauth, token)
  hasPacks = true
  const since = await bearerOf(oauth, token)

  expect([before?.packs, before?.isOver?.()]).toEqual([undefined, true])
  expect([since?.packs, since?.isOver?.()]).toEqual([new Set(['web']), false])
  hasPacks = false
  expect(since?.isOver?.()).toBe(true)
})

test('the issuer is asked when the first token comes, and not again for the next ones', async () => {
  const oauth = accepting()
  expect(issuer.asked).toEqual([])

  for (let at = 0; at < 20; at += 1) await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)

  expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server', '/keys'])
})

test('a new key is found when a token comes that it signed, and unknown keys do not have the issuer asked each time', async () => {
  const oauth = accepting()
  await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)
  await issuer.rotate()
  await clock.advance(10_000)

  const principal = await bearerOf(oauth, await issuer.token({ aud: HERE }))

  expect(principal?.id).toContain('oauth:ada#')
  const asked = issuer.asked.length
  await using other = await TokenIssuer.start()
  for (let at = 0; at < 20; at += 1) {
    expect(await oauth.authenticate(await other.token({ iss: issuer.url, aud: HERE }), HERE)).toBeUndefined()
  }
  expect(issuer.asked.length).toBe(asked)
})

test('a key that the issuer took back lets nobody in once it was asked again, which is within five minutes', async () => {
  const oauth = accepting()
  const old = await issuer.token({ aud: HERE, exp: Math.floor(clock.now().getTime() / 1000) + 3_600 })
  await oauth.authenticate(old, HERE)
  await issuer.rotate()
  await clock.advance(300_001)
  await oauth.authenticate(old, HERE)

  await expect.poll(async () => oauth.authenticate(old, HERE)).toBeUndefined()
})

test('while the issuer is down its keys are kept, and one line says so', async () => {
  const oauth = accepting()
  const token = await issuer.token({ aud: HERE, exp: Math.floor(clock.now().getTime() / 1000) + 86_400 })
  await oauth.authenticate(token, HERE)
  issuer.failure = 503

  for (let hour = 0; hour < 5; hour += 1) {
    await clock.advance(3_600_000)
    const asked = issuer.asked.length
    expect((await bearerOf(oauth, token))?.id).toContain('oauth:ada#')
    await expect.poll(() => issuer.asked.length).toBe(asked + 1)
  }

  expect(logged.split('\n').filter((line) => line.includes('issuer-not-asked'))).toHaveLength(1)
  expect(logged).toContain('it answers 503')
  expect(logged).not.toContain(token)
})

test('whether a token is good cannot be told while no key is known, and an issuer that is down is not asked for each', async () => {
  const oauth = accepting()
  issuer.failure = 500
  const token = await issuer.token({ aud: HERE })

  const together = await Promise.all(Array.from({ length: 20 }, () => oauth.authenticate(token, HERE)))
  const later = await oauth.authenticate(token, HERE)

  expect(new Set([...together, later])).toEqual(new Set(['unavailable']))
  expect(issuer.asked).toHaveLength(1)
  expect(await oauth.authenticate('nonsense', HERE)).toBeUndefined()
  issuer.failure = undefined
  await clock.advance(10_000)

  expect((await bearerOf(oauth, token))?.id).toContain('oauth:ada#')
  expect(logged).toContain('recovered')
})

test('each cause for which the issuer could not be asked is told once', async () => {
  const oauth = accepting()
  const token = await issuer.token({ aud: HERE })

  for (const failure of [500, 500, 503, 503, undefined]) {
    issuer.failure = failure
    await oauth.authenticate(token, HERE)
    await clock.advance(10_000)
  }

  const lines = logged
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(lines.map(({ event, message }) => [event, /it answers \d+/.exec(String(message))?.[0]])).toEqual([
    ['issuer-not-asked', 'it answers 500'],
    ['issuer-not-asked', 'it answers 503'],
    ['recovered', undefined],
  ])
})

test.each<[string, Record<string, unknown>, string]>([
  ['of another issuer', { issuer: 'https://other.example.com' }, 'its metadata is of another issuer'],
  [
    'that has its keys elsewhere in clear',
    { jwks_uri: 'http://192.0.2.1/keys' },
    'its keys are not at an https address',
  ],
  ['that has its keys in a file', { jwks_uri: 'file:///etc/passwd' }, 'its keys are not at an https address'],
  [
    'that has its keys where another protocol is spoken',
    { jwks_uri: 'gopher://127.0.0.1/1' },
    'its keys are not at an https address',
  ],
  ['without keys', { jwks_uri: undefined }, 'its metadata cannot be read'],
  ['that never ends', { more: 'x'.repeat(300_000) }, 'its answer is over 262144 bytes'],
])('metadata is refused %s', async (_, metadata, why) => {
  const oauth = accepting()
  issuer.metadata = metadata

  expect(await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)).toBe('unavailable')
  expect(logged).toContain(why)
})

test('keys that are elsewhere by a redirect are not fetched there', async () => {
  await using elsewhere = await TokenIssuer.start()
  const oauth = accepting()
  issuer.redirect = `${elsewhere.url}/keys`

  expect(await oauth.authenticate(await issuer.token({ aud: HERE }), HERE)).toBe('unavailable')
  expect(elsewhere.asked).toEqual([])
})

test('a key of the issuer that nobody can use lets nobody in, and keeps nobody from the others', async () => {
  const oauth = accepting()
  issuer.also = [{ kty: 'RSA', kid: 'small', alg: 'RS256', n: 'AQAB', e: 'AQAB' }, { kty: 'unheard-of' }]
  const token = await issuer.token({ aud: HERE })
  const head = Buffer.from('{"alg":"RS256","kid":"small"}').toString('base64url')

  expect(await oauth.authenticate(token.replace(/^[^.]+/, head), HERE)).toBeUndefined()
  expect(await oauth.authenticate(token, HERE)).toBeDefined()
})

test.each([
  ['a logout token by its type', { typ: 'logout+jwt' }, {}],
  ['a security event by its type', { typ: 'secevent+jwt' }, {}],
  ['an ID token with the hash of an access token', { typ: 'JWT' }, { at_hash: 'MTIzNDU2Nzg5MDEyMzQ1Ng' }],
  ['an ID token with the hash of a code, of no type', { typ: undefined }, { c_hash: 'MTIzNDU2Nzg5MDEyMzQ1Ng' }],
  ['a logout token without a type', { typ: undefined }, { events: { logout: {} } }],
  ['an ID token of Keycloak', { typ: 'JWT' }, { typ: 'ID' }],
  ['a refresh token of Keycloak', { typ: 'JWT' }, { typ: 'Refresh' }],
])('%s opens nothing, whatever it is meant for and allows', async (_, head, claims) => {
  const oauth = accepting()

  const refused = await oauth.authenticate(await issuer.token({ aud: HERE, ...claims }, { head }), HERE)
  const plain = await oauth.authenticate(await issuer.token({ aud: HERE }, { head: { typ: 'JWT' } }), HERE)

  expect(refused).toBeUndefined()
  expect(plain).toBeDefined()
})

test.each(['at+jwt', 'application/at+jwt', 'AT+JWT'])('where tokens have to say their type, %s does', async (typ) => {
  const oauth = accepting({ tokenType: 'at+jwt' })

  expect(await oauth.authenticate(await issuer.token({ aud: HERE }, { head: { typ } }), HERE)).toBeDefined()
})

test.each(['JWT', undefined, 'at'])('where tokens have to say their type, %s is refused', async (typ) => {
  const oauth = accepting({ tokenType: 'at+jwt' })

  expect(await oauth.authenticate(await issuer.token({ aud: HERE }, { head: { typ } }), HERE)).toBeUndefined()
})

test('keys that could not be fetched again for a day open nothing more, until the issuer answers', async () => {
  const oauth = accepting()
  const token = await issuer.token({ aud: HERE, exp: Math.floor(Date.now() / 1000) + 400_000 })
  expect(await oauth.authenticate(token, HERE)).toBeDefined()
  issuer.failure = 500

  await clock.advance(DAY_MS - 1)
  const within = await oauth.authenticate(token, HERE)
  await clock.advance(20_000)
  const beyond = await oauth.authenticate(token, HERE)
  issuer.failure = undefined
  await clock.advance(20_000)
  const again = await oauth.authenticate(token, HERE)

  expect([typeof within, beyond, typeof again]).toEqual(['object', 'unavailable', 'object'])
})
