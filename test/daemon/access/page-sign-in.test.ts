import { createHash, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SignJWT, UnsecuredJWT } from 'jose'
import type { JWTPayload } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { oauthVerifier } from '../../../src/daemon/access/oauth.ts'
import type { PageClient } from '../../../src/daemon/config/auth.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import type {
  SignIn,
  SignInAnswer,
  SignInBegun,
  SignInFailure,
  SignInFault,
  SignInGoal,
  SignedIn,
} from '../../../src/serve/sign-in.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { freePort } from '../../support/free-port.ts'
import { TokenIssuer } from '../../support/http/issuer.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const HUB = { redirectUri: 'https://skills.example.com/login/callback', resource: 'https://skills.example.com/mcp' }
const CLIENT = { id: 'the page', redirectUris: [HUB.redirectUri] } as const
const SECRET = 'secret of the page & more+'
const PUBLIC: PageClient = { clientId: CLIENT.id, clientSecret: undefined, scopes: ['page'], sessionMs: undefined }

/** The signal of a client that waits for its answer. */
const WAITING = new AbortController().signal

let issuer: TokenIssuer
let clock: FakeClock
let logged: string
beforeEach(async () => {
  issuer = await TokenIssuer.start()
  issuer.grants.know(CLIENT)
  clock = new FakeClock()
  clock.setWall(new Date())
  logged = ''
})
afterEach(async () => {
  await issuer[Symbol.asyncDispose]()
})

interface Signing extends Partial<PageClient> {
  readonly hasPacks?: () => boolean
  /** Null: the configuration names none. */
  readonly audience?: string | null
}

function signingIn({ hasPacks = () => false, audience = 'hub', ...client }: Signing = {}): SignIn {
  const redactor = new Redactor()
  const stream = { write: (line: string) => (logged += line) }
  const log = createLog({ stream, format: 'json', journal: false, level: 'debug', clock, redactor })
  const { signIn } = oauthVerifier(
    {
      issuer: issuer.url,
      audience: audience ?? undefined,
      scopes: [],
      tokenType: 'jwt',
      keysMaxAgeMs: 86_400_000,
      page: { ...PUBLIC, ...client },
    },
    { clock, log, redactor, environment: environmentOf({}, '/home/ada'), hasPacks },
  )
  if (signIn === undefined) throw new Error('There is no sign-in')
  return signIn
}

async function begin(signIn: SignIn, goal: Partial<SignInGoal> = {}): Promise<SignInBegun> {
  const begun = await signIn.begin(HUB, { to: '', replaces: [], ...goal }, WAITING)
  if (begun.kind === 'failed') throw new Error(`Cannot begin: ${begun.why}`)
  return begun
}

/** What the browser brings back after the person has agreed. */
async function approved({ url, pending }: SignInBegun): Promise<SignInAnswer> {
  const answer = await fetch(url, { method: 'POST', redirect: 'manual' })
  return { query: new URL(answer.headers.get('location') ?? '').searchParams, pending: [pending] }
}

async function signedIn(signIn: SignIn): Promise<SignedIn | SignInFailure> {
  return signIn.finish(HUB, await approved(await begin(signIn)), WAITING)
}

function nonceOf({ url }: SignInBegun): string {
  return new URL(url).searchParams.get('nonce') ?? ''
}

const nowS = (): number => Math.floor(Date.now() / 1000)

test('a person is who the access token names, as for a client of MCP, and goes on to the page that they asked for', async () => {
  const signIn = signingIn({ hasPacks: () => true })
  issuer.person = { access: { sub: 'pairwise', scope: 'page pack:web skills' } }

  const ended = await signIn.finish(HUB, await approved(await begin(signIn, { to: 'skills/fx/a.b/?x=1.2' })), WAITING)

  expect(ended).toMatchObject({ kind: 'signed-in', to: 'skills/fx/a.b/?x=1.2' })
  const { principal } = ended as SignedIn
  expect(principal.id).toMatch(/^oauth:pairwise#[0-9a-f]{32}$/)
  expect([[...principal.scopes].toSorted(), [...(principal.packs ?? [])]]).toEqual([['page', 'skills'], ['web']])
})

test.each([
  [{ name: 'Ada L.', preferred_username: 'ada' }, 'Ada L.'],
  [{ name: ' ', preferred_username: 'ada' }, 'ada'],
  [{ name: 7, email: `${'a'.repeat(200)}@example.com` }, 'a'.repeat(100)],
  [{}, undefined],
])('a person has the name that the issuer gives: %j', async (identity, name) => {
  issuer.person = { identity }

  expect(((await signedIn(signingIn())) as SignedIn).principal.name).toBe(name)
})

test('without an audience of its own the access token is for the address of MCP', async () => {
  const signIn = signingIn({ audience: null })

  issuer.person = { access: { aud: HUB.resource } }
  const here = await signedIn(signIn)
  issuer.person = { access: { aud: CLIENT.id } }
  const there = await signedIn(signIn)

  expect([here, there]).toMatchObject([{ kind: 'signed-in' }, { kind: 'failed', why: 'rejected', to: '' }])
  expect(logged).toContain('its access token is not a JWT that MCP clients could send here')
})

test.each<[string, Record<string, unknown>]>([
  ['of another sign-in', { nonce: 'a'.repeat(43) }],
  ['of no sign-in', { nonce: null }],
  ['for another client', { aud: 'another' }],
  ['for MCP and not for the page', { aud: 'hub' }],
  ['for two clients and does not say which of them it was issued to', { aud: [CLIENT.id, 'another'] }],
  ['issued to another client', { aud: [CLIENT.id, 'another'], azp: 'another' }],
  ['of another issuer', { iss: 'https://other.example.com' }],
  ['expired', { exp: nowS() - 60 }],
  ['without an end', { exp: null }],
  ['without a beginning', { iat: null }],
  ['about nobody', { sub: null }],
  ['a refresh token', { typ: 'Refresh' }],
  ['a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
  ['beside another access token', { at_hash: createHash('sha256').update('a').digest('base64url').slice(0, 22) }],
])('an ID token is refused that is %s, and the log says so once', async (_, identity) => {
  const signIn = signingIn()
  issuer.person = { identity }

  const ended = [await signedIn(signIn), await signedIn(signIn)]

  expect(ended).toEqual(Array.from({ length: 2 }, () => ({ kind: 'failed', why: 'rejected', to: '' })))
  const lines = logged.split('\n').filter((line) => line.includes('"event":"sign-in-failed"'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('its ID token is not one for this client and this sign-in')
  issuer.person = {}
  expect(await signedIn(signIn)).toMatchObject({ kind: 'signed-in' })
  expect(logged).toContain('"recovered"')
})

test.each<[string, Record<string, unknown>]>([
  ['Keycloak', { typ: 'ID', azp: CLIENT.id, aud: CLIENT.id }],
  ['an issuer that names two clients', { aud: [CLIENT.id, 'another'], azp: CLIENT.id }],
  ['an issuer that names its one client in a list', { aud: [CLIENT.id] }],
])('an ID token is accepted as it comes from %s', async (_, identity) => {
  issuer.person = { identity }

  expect(await signedIn(signingIn())).toMatchObject({ kind: 'signed-in' })
})

test('an ID token that names its access token is accepted beside that one', async () => {
  const signIn = signingIn()
  const begun = await begin(signIn)
  const accessToken = await issuer.token({ aud: 'hub', scope: 'page' })
  const hash = createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
  const idToken = await issuer.idTokenFor(CLIENT.id, { nonce: nonceOf(begun), at_hash: hash })
  issuer.tokenAnswer = {
    status: 200,
    body: JSON.stringify({ access_token: accessToken, id_token: idToken, token_type: 'bearer' }),
  }

  expect(await signIn.finish(HUB, await approved(begun), WAITING)).toMatchObject({ kind: 'signed-in' })
})

test('an ID token is refused whose signature is not one of a key of the issuer', async () => {
  const signIn = signingIn()
  const { kid } = issuer.publicKey
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const shared = createSecretKey(Buffer.from(JSON.stringify(issuer.publicKey)))
  const forging: ((claims: JWTPayload) => Promise<string> | string)[] = [
    (claims) => new UnsecuredJWT(claims).encode(),
    async (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: kid! }).sign(stranger),
    async (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: kid! }).sign(shared),
    async (claims) => issuer.token(claims, { head: { typ: 'at+jwt' } }),
    async (claims) => issuer.token({ ...claims, scope: null }, { head: { typ: 'JWT' } }),
  ]

  const ended: string[] = []
  for (const forge of forging) {
    const begun = await begin(signIn)
    issuer.idToken = await forge({
      iss: issuer.url,
      sub: 'ada',
      aud: CLIENT.id,
      iat: nowS(),
      exp: nowS() + 300,
      nonce: nonceOf(begun),
    })
    ended.push((await signIn.finish(HUB, await approved(begun), WAITING)).kind)
  }

  expect(ended).toEqual(['failed', 'failed', 'failed', 'failed', 'signed-in'])
})

test.each([
  ['too large', { status: 200, body: `"${'a'.repeat(300_000)}"` }, 'its answer is over 262144 bytes'],
  ['an error that is too large', { status: 400, body: `"${'a'.repeat(300_000)}"` }, 'its answer is over 262144 bytes'],
  ['no JSON', { status: 200, body: '<html>' }, 'its answer has no ID token and bearer token'],
  ['without an ID token', { status: 200, body: '{"access_token":"a","token_type":"Bearer"}' }, 'has no ID token'],
  ['of a foreign kind', { status: 200, body: '{"access_token":"a","id_token":"a","token_type":"mac"}' }, 'has no ID'],
  ['a redirect', { status: 302, body: '' }, 'it answers 302"'],
  ['an error in foreign words', { status: 400, body: '{"error":"sks_secret"}' }, 'it answers 400"'],
  [
    'the error of a client that is not allowed',
    { status: 400, body: '{"error":"unauthorized_client"}' },
    'unauthorized_client',
  ],
])('an answer is refused in place of tokens that is %s', async (_, answer, why) => {
  issuer.tokenAnswer = answer

  expect(await signedIn(signingIn())).toEqual({ kind: 'failed', why: 'rejected', to: '' })

  expect(logged).toContain(why)
  expect(logged).not.toContain('sks_secret')
})

test('an issuer that is overloaded or gone can be tried again later', async () => {
  const signIn = signingIn()
  issuer.tokenAnswer = { status: 503, body: '' }
  const overloaded = await signedIn(signIn)
  issuer.tokenAnswer = undefined
  issuer.metadata = { token_endpoint: `http://127.0.0.1:${await freePort()}/token` }

  const unreached = await signedIn(signingIn())

  expect([overloaded, unreached]).toEqual(
    Array.from({ length: 2 }, () => ({ kind: 'failed', why: 'unavailable', to: '' })),
  )
  expect(logged).toContain('it answers 503')
  expect(logged).toContain('the connection failed (ECONNREFUSED)')
})

test('a code counts once, and that it comes again is no failure to warn of', async () => {
  const signIn = signingIn()
  const answer = await approved(await begin(signIn))

  const [once, again] = [await signIn.finish(HUB, answer, WAITING), await signIn.finish(HUB, answer, WAITING)]

  expect([once, again]).toMatchObject([{ kind: 'signed-in' }, { kind: 'failed', why: 'not-expected' }])
  expect(logged).not.toContain('sign-in-failed')
  const lines = logged.split('\n').filter((line) => line.includes('"event":"code-refused"'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/"level":"info".*it answers 400, invalid_grant/)
})

test('a code of another sign-in is refused by the issuer, as the verifier of this one does not fit', async () => {
  const signIn = signingIn()
  const [mine, theirs] = [await approved(await begin(signIn)), await approved(await begin(signIn))]
  const query = new URLSearchParams(mine.query)
  query.set('code', theirs.query.get('code') ?? '')

  expect(await signIn.finish(HUB, { ...mine, query }, WAITING)).toEqual({ kind: 'failed', why: 'not-expected', to: '' })
  expect(issuer.asked).toContain('/token')
})

test('a sign-in that takes longer than ten minutes has to begin again', async () => {
  const signIn = signingIn()
  const [soon, late] = [await approved(await begin(signIn)), await approved(await begin(signIn))]
  issuer.person = { identity: { exp: nowS() + 3_600 }, access: { exp: nowS() + 3_600 } }

  await clock.advance(600_000)
  const inTime = await signIn.finish(HUB, soon, WAITING)
  await clock.advance(1_000)
  const tooLate = await signIn.finish(HUB, late, WAITING)

  expect([inTime, tooLate]).toMatchObject([{ kind: 'signed-in' }, { kind: 'failed', why: 'not-expected' }])
})

test('a sign-in ends with its ID token, or after the time of the configuration, and where packs come or go', async () => {
  let hasPacks = false
  const [usual, long, packed] = [
    signingIn(),
    signingIn({ sessionMs: 28_800_000 }),
    signingIn({ hasPacks: () => hasPacks }),
  ]
  issuer.person = { identity: { exp: nowS() + 3_600 }, access: { exp: nowS() + 60 } }
  const ended = [await signedIn(usual), await signedIn(long), await signedIn(packed)]
  const over = (): (boolean | undefined)[] => ended.map((one) => (one as SignedIn).principal.isOver?.())

  const atFirst = over()
  hasPacks = true
  const withPacks = over()
  await clock.advance(3_590_000)
  const before = over()
  await clock.advance(20_000)
  const after = over()
  await clock.advance(28_800_000)

  expect([atFirst, withPacks, before, after, over()]).toEqual([
    [false, false, false],
    [false, false, true],
    [false, false, true],
    [true, false, true],
    [true, true, true],
  ])
})

test('an issuer that names itself in its answers has to do so, and with its own name', async () => {
  issuer.metadata = { authorization_response_iss_parameter_supported: true }
  const signIn = signingIn()
  const named = await approved(await begin(signIn))
  const [without, other] = [new URLSearchParams(named.query), new URLSearchParams(named.query)]
  without.delete('iss')
  other.set('iss', 'https://other.example.com')

  const ended = []
  for (const query of [without, other, named.query]) ended.push(await signIn.finish(HUB, { ...named, query }, WAITING))

  expect(ended).toMatchObject([{ why: 'not-expected' }, { why: 'not-expected' }, { kind: 'signed-in' }])
})

test('another name than its own is refused also of an issuer that need not name itself', async () => {
  const signIn = signingIn()
  const answer = await approved(await begin(signIn))
  answer.query.set('iss', 'https://other.example.com')

  expect(await signIn.finish(HUB, answer, WAITING)).toEqual({ kind: 'failed', why: 'not-expected', to: '' })
})

test.each([
  ['none', { authorization_endpoint: undefined }],
  ['one in clear', { token_endpoint: 'http://login.example.com/token' }],
  ['one that is no address of the web', { authorization_endpoint: 'javascript:alert(1)' }],
  ['one that is no text', { token_endpoint: 7 }],
])('nobody is sent to an issuer whose addresses are not safe: %s', async (_, metadata) => {
  issuer.metadata = metadata

  expect(await signingIn().begin(HUB, { to: '', replaces: [] }, WAITING)).toEqual({ kind: 'failed', why: 'rejected' })
  expect(logged).toContain('its metadata does not name https addresses for the authorization code flow')
})

test.each([
  ['in the header, where both are taken', ['client_secret_post', 'client_secret_basic']],
  ['in the form, where that alone is taken', ['client_secret_post']],
  ['in the header, where nothing is said', undefined],
])('a client with a secret sends it %s', async (_, methods) => {
  issuer.metadata = { token_endpoint_auth_methods_supported: methods }
  issuer.grants.know({ ...CLIENT, secret: SECRET })
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'secret')
  await writeFile(path, `${SECRET}\n`)
  const signIn = signingIn({ clientSecret: { kind: 'file', path } })

  const right = await signedIn(signIn)
  await writeFile(path, 'another secret')
  const wrong = await signedIn(signIn)
  await writeFile(path, '')
  const none = await signedIn(signIn)
  const without = await signedIn(signingIn())

  expect([right, wrong, none, without]).toMatchObject([
    { kind: 'signed-in' },
    { why: 'rejected' },
    { why: 'rejected' },
    { why: 'rejected' },
  ])
  expect(logged).toContain('it answers 401, invalid_client')
  expect(logged).toMatch(/Cannot use the credential file .*: it is not set, or empty/)
  for (const secret of [SECRET, encodeURIComponent(SECRET), 'another secret']) expect(logged).not.toContain(secret)
})

test('of many sign-ins that end at once as many wait for the issuer as may, and the rest can bring theirs again', async () => {
  const signIn = signingIn()
  const answers = await approvedOften(signIn, 33)
  const { promise, resolve } = Promise.withResolvers<void>()
  issuer.held = promise

  const ending = answers.map((answer) => signIn.finish(HUB, answer, WAITING))
  const [refused, late] = await Promise.race(
    ending.map(async (one, index) => [await one, answers[index] as SignInAnswer] as const),
  )
  resolve()
  const ended = await Promise.all(ending)

  expect(refused).toEqual({ kind: 'failed', why: 'busy', isRepeatable: true, to: '' })
  expect(ended.filter(({ kind }) => kind === 'signed-in')).toHaveLength(32)
  expect(await signIn.finish(HUB, late, WAITING)).toMatchObject({ kind: 'signed-in' })
  expect(logged).not.toContain('sign-in-failed')
})

test('a browser that leaves makes room for another one', async () => {
  const signIn = signingIn()
  const answers = await approvedOften(signIn, 33)
  const [{ promise, resolve }, leaving] = [Promise.withResolvers<void>(), new AbortController()]
  issuer.held = promise
  const [first, ...others] = answers.slice(0, 32)

  const left = signIn.finish(HUB, first!, leaving.signal)
  const ending = others.map((answer) => signIn.finish(HUB, answer, WAITING))
  leaving.abort(new Error('The browser has left'))
  await expect(left).rejects.toThrow('The browser has left')
  const last = signIn.finish(HUB, answers[32]!, WAITING)
  resolve()
  const ended = await Promise.all([...ending, last])

  expect(ended.filter(({ kind }) => kind === 'signed-in')).toHaveLength(32)
  expect(logged).not.toContain('sign-in-failed')
})

async function approvedOften(signIn: SignIn, times: number): Promise<readonly SignInAnswer[]> {
  const answers: SignInAnswer[] = []
  for (let made = 0; made < times; made += 1) answers.push(await approved(await begin(signIn)))
  return answers
}

test('a browser that leaves does not wait for the keys, which others still get', async () => {
  const signIn = signingIn()
  const leaving = new AbortController()

  const left = signIn.begin(HUB, { to: '', replaces: [] }, leaving.signal)
  const stays = begin(signIn)
  leaving.abort(new Error('The browser has left'))

  await expect(left).rejects.toThrow('The browser has left')
  expect((await stays).kind).toBe('begun')
})

test('while the keys of the issuer are unknown the code is not sent, and the answer can be brought again', async () => {
  const answer = await approved(await begin(signingIn()))
  const other = signingIn()
  issuer.failure = 503

  const ended = await other.finish(HUB, answer, WAITING)
  issuer.failure = undefined
  await clock.advance(10_000)
  const again = await other.finish(HUB, answer, WAITING)

  expect(ended).toEqual({ kind: 'failed', why: 'unavailable', isRepeatable: true, to: '' })
  expect(again).toMatchObject({ kind: 'signed-in' })
})

test('a code is sent once, also where the connection is cut before there is an answer', async () => {
  const signIn = signingIn()
  const answer = await approved(await begin(signIn))
  issuer.isCut = true

  expect(await signIn.finish(HUB, answer, WAITING)).toEqual({ kind: 'failed', why: 'unavailable', to: '' })
  expect(issuer.asked.filter((url) => url === '/token')).toHaveLength(1)
  expect(logged).toMatch(/"event":"sign-in-failed".*the connection failed \(ECONNRESET\)/)
})

test.each<[string, SignInFault]>([
  ['invalid_request', 'refused'],
  ['invalid_scope', 'refused'],
  ['invalid_target', 'refused'],
  ['unauthorized_client', 'refused'],
  ['unsupported_response_type', 'refused'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
])('a fault that the issuer tells the browser is in the log by its code alone: %s', async (error, why) => {
  const signIn = signingIn()
  issuer.refusal = { error, error_description: 'sks_secret' }

  const ended = [await signedIn(signIn), await signedIn(signIn)]

  const failure = { kind: 'failed', why, said: `${error}: sks_secret`, to: '' }
  expect(ended).toEqual([failure, failure])
  const lines = logged.split('\n').filter((line) => line.includes('"event":"sign-in-failed"'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(new RegExp(`"level":"warn".*: it answers the browser with ${error}"`))
  expect(logged).not.toContain('sks_secret')
  issuer.refusal = undefined
  expect(await signedIn(signIn)).toMatchObject({ kind: 'signed-in' })
  expect(logged).toContain('"recovered"')
})

test.each([
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
  'an_error_of_its_own',
])('what concerns the person is shown to them, and is not in the log: %s', async (error) => {
  issuer.refusal = { error }

  expect(await signedIn(signingIn())).toEqual({ kind: 'failed', why: 'declined', said: error, to: '' })
  expect(logged).not.toContain('sign-in-failed')
})

test('the end of a sign-in returns the sessions that it replaces, and a cookie without them is another sign-in', async () => {
  const signIn = signingIn()
  const replaces = ['a'.repeat(43), `-_${'b'.repeat(41)}`]
  const begun = await begin(signIn, { to: 'sources', replaces })
  const answer = await approved(begun)

  const changed = { ...answer, pending: [begun.pending.replace(replaces.join('~'), '')] }
  const refused = await signIn.finish(HUB, changed, WAITING)
  const ended = await signIn.finish(HUB, answer, WAITING)

  expect(refused).toEqual({ kind: 'failed', why: 'not-expected' })
  expect(ended).toMatchObject({ kind: 'signed-in', to: 'sources', replaces })
})
