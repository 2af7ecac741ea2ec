import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newToken } from '../../../../src/daemon/access/tokens.ts'
import type { AuditEvent } from '../../../../src/serve/audit.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository } from '../../../support/git/repository.ts'
import { TokenIssuer } from '../../../support/http/issuer.ts'
import { Visitor } from '../../../support/http/visitor.ts'
import { serve } from '../../../support/served.ts'
import type { Served, ServedOptions } from '../../../support/served.ts'

const HUB = 'https://skills.example.com'
const HERE = 'http://127.0.0.1:8741'
const CLIENT = { id: 'the page', redirectUris: [`${HUB}/login/callback`, `${HERE}/login/callback`] } as const
const FILES = {
  'web/tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n',
  'ops/deploy/SKILL.md': '---\nname: deploy\ndescription: Deploys\n---\n',
}
/** The names that only this host can set. */
const PENDING = '__Host-skillsyncd-sign-in'
const SESSION = '__Host-skillsyncd'

let issuer: TokenIssuer
let repository: Repository
let served: Served
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
  issuer = await TokenIssuer.start()
  issuer.grants.know(CLIENT)
  served = await serving()
})
afterEach(() => issuer.reset())
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

interface Serving extends ServedOptions {
  readonly url?: string
}

async function serving({ url = HUB, config = [], ...options }: Serving = {}): Promise<Served> {
  return serve(repository, {
    ...options,
    config: [
      'serve:',
      `  http: { public_url: '${url}' }`,
      `  oauth: { issuer: '${issuer.url}', audience: hub, page: { client_id: ${CLIENT.id} } }`,
      ...config,
    ],
  })
}

function visitor(of: Served = served): Visitor {
  return new Visitor(of.http.url, HUB)
}

test('a person signs in with the issuer, sees the page, and signs out', async () => {
  const ada = visitor()
  const asked = await ada.open('/sources')

  const entered = await ada.signIn('/login/start?to=sources')
  const shown = await ada.open('/sources')
  const kept = new Map(ada.cookies)
  const left = await ada.send('/logout')
  const replayed = await ada.open('/sources', { headers: { cookie: `${SESSION}=${kept.get(SESSION)}` } })

  expect(asked.status).toBe(401)
  expect(asked.text).toContain('href="./login/start?to=sources"')
  expect(entered.status).toBe(200)
  expect(entered.text).toContain('<meta http-equiv="refresh" content="0; url=../sources" />')
  expect(entered.headers['referrer-policy']).toBe('no-referrer')
  expect(shown.status).toBe(200)
  expect(shown.text).toContain('oauth:ada#')
  expect([...kept.keys()]).toEqual([SESSION])
  expect([left.status, replayed.status]).toEqual([303, 401])
  expect([...ada.cookies]).toEqual([])
})

test('both cookies are for this host over https alone, out of reach of scripts, and that of the session for this site', async () => {
  const ada = visitor()

  const begun = await ada.open('/login/start')
  const entered = await ada.signIn()

  const [pending] = begun.headers['set-cookie'] ?? []
  expect(pending).toMatch(/^__Host-skillsyncd-sign-in=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  expect(entered.headers['set-cookie']).toEqual([
    '__Host-skillsyncd-sign-in=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure',
    expect.stringMatching(/^__Host-skillsyncd=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
  ])
})

test('what the issuer is asked holds a challenge, a state and a nonce of this sign-in alone, and none of its secrets', async () => {
  const [ada, ben] = [visitor(), visitor()]

  const urls = await Promise.all([ada, ada, ben].map(async (one) => (await one.open('/login/start')).headers.location))

  const asked = urls.map((url) => Object.fromEntries(new URL(url ?? '').searchParams))
  expect(asked[0]).toEqual({
    response_type: 'code',
    client_id: CLIENT.id,
    redirect_uri: CLIENT.redirectUris[0],
    scope: 'openid page',
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  for (const name of ['state', 'nonce', 'code_challenge'])
    expect(new Set(asked.map((one) => one[name])).size, name).toBe(3)
  const secret = ben.cookies.get(PENDING)?.split('.')[0] ?? ''
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(urls[2]).not.toContain(secret)
})

test('the address to come back to is that of the configuration, whatever host the browser names', async () => {
  const begun = await visitor().open('/login/start', { headers: { host: new URL(served.http.url).host } })

  expect(new URL(begun.headers.location ?? '').searchParams.get('redirect_uri')).toBe(CLIENT.redirectUris[0])
})

test('the address to come back to has the path under which a proxy serves the hub', async () => {
  await using below = await serving({ url: `${HUB}/skills/` })

  const begun = await visitor(below).open('/login/start')

  expect(new URL(begun.headers.location ?? '').searchParams.get('redirect_uri')).toBe(`${HUB}/skills/login/callback`)
})

test('a person is asked again when the ID token of their sign-in has expired', async () => {
  const clock = new FakeClock()
  clock.setWall(new Date())
  await using timed = await serving({ clock })
  const ada = visitor(timed)
  await ada.signIn('/login/start?to=sources')

  const before = await ada.open('/sources')
  await clock.advance(310_000)
  const after = await ada.open('/sources')

  expect([before.status, after.status]).toEqual([200, 401])
  expect(after.text).toContain('href="./login/start?to=sources"')
})

test('the session of the person before ends where somebody else signs in with the issuer', async () => {
  const shared = visitor()
  await shared.signIn()
  const before = shared.cookies.get(SESSION) ?? ''
  const withBefore = { headers: { cookie: `${SESSION}=${before}` } }
  issuer.person = { access: { sub: 'ben' } }

  const back = await shared.approve()
  const atStart = await visitor().open('/sources', withBefore)
  const entered = await shared.open(back)
  const after = await visitor().open('/sources', withBefore)

  expect(shared.cookies.get(SESSION)).not.toBe(before)
  expect((await shared.open('/sources')).text).toContain('oauth:ben#')
  expect([atStart.status, entered.status, after.status]).toEqual([200, 200, 401])
  expect(back).not.toContain(before)
})

test('the cookie of a sign-in names sessions of this hub alone, and not by their ids', async () => {
  const ada = visitor()
  await ada.signIn()
  const id = ada.cookies.get(SESSION) ?? ''
  const planted = Array.from({ length: 50 }, (_, number) => `${SESSION}=planted-${number}`)

  await ada.open('/login/start', { headers: { cookie: [...planted, `${SESSION}=${id}`].join('; ') } })

  const name = createHash('sha256').update(id).digest('base64url')
  expect(ada.cookies.get(PENDING)).toMatch(new RegExp(`^[\\w-]{43}\\.\\d+\\.${name}\\.$`))
})

test('an answer that comes while the issuer is down is kept, and succeeds from the page that says so', async () => {
  const clock = new FakeClock()
  clock.setWall(new Date())
  await using other = await serving({ clock })
  const ada = visitor(other)
  const begun = visitor()
  const back = await begun.approve('/login/start?to=sources')
  ada.cookies.set(PENDING, begun.cookies.get(PENDING) ?? '')
  issuer.failure = 503

  const ended = await ada.open(back)
  issuer.failure = undefined
  await clock.advance(10_000)
  const again = await ada.open(back)

  expect([ended.status, ended.headers['retry-after'], ended.headers['set-cookie']]).toEqual([503, '10', undefined])
  expect(ended.text).toContain('<a class="main" href="">Try again</a>')
  expect(again.status).toBe(200)
  expect(again.text).toContain('url=../sources')
})

test('while the hub is busy with other sign-ins the page says so, and the answer can be brought again', async () => {
  const [released, full] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const others = Array.from({ length: 32 }, () => visitor())
  const backs: string[] = []
  for (const one of others) backs.push(await one.approve())
  const ada = visitor()
  const back = await ada.approve()
  let waiting = 0
  issuer.held = released.promise
  issuer.onToken = () => {
    waiting += 1
    if (waiting === others.length) full.resolve()
  }

  const ending = others.map((one, index) => one.open(backs[index] ?? ''))
  await full.promise
  const busy = await ada.open(back)
  released.resolve()
  await Promise.all(ending)
  const again = await ada.open(back)

  expect([busy.status, busy.headers['retry-after'], busy.headers['set-cookie']]).toEqual([503, '5', undefined])
  expect(busy.text).toContain('The hub is busy')
  expect(busy.text).not.toContain('authorization server')
  expect(again.status).toBe(200)
})

test('a scope that the issuer does not know is shown, and is in the log', async () => {
  issuer.refusal = { error: 'invalid_scope', error_description: 'Invalid scopes: openid page' }

  const { status, text } = await visitor().signIn()

  expect(status).toBe(502)
  expect(text).toContain('The authorization server does not accept this hub')
  expect(text).toContain('invalid_scope: Invalid scopes: openid page')
  expect(served.logged()).toMatch(/"event":"sign-in-failed".*it answers the browser with invalid_scope"/)
})

test('the issuer is not waited for any longer when the browser has left', { timeout: 5_000 }, async () => {
  const ada = visitor()
  const back = await ada.approve()
  const { promise: reached, resolve } = Promise.withResolvers<ServerResponse>()
  const leaving = new AbortController()
  issuer.onToken = resolve
  issuer.held = new Promise(() => {})
  const cookie = `${PENDING}=${ada.cookies.get(PENDING)}`

  const leave = Promise.allSettled([fetch(served.http.url + back, { headers: { cookie }, signal: leaving.signal })])
  const unfinished = await reached
  leaving.abort()
  await once(unfinished, 'close')

  expect(await leave).toMatchObject([{ status: 'rejected' }])
  expect(unfinished.writableFinished).toBe(false)
  expect(served.logged()).not.toContain('"level":"error"')
})

test('a sign-in that is not expected names the likeliest cause, another address than the public one', async () => {
  const elsewhere = visitor()
  const back = await elsewhere.approve()

  const { status, text } = await visitor().open(back)

  expect(status).toBe(400)
  expect(text).toContain('begun at another address of this hub than its public one')
})

test('an answer with another state is refused, and the sign-in that was begun goes on', async () => {
  const ada = visitor()
  const back = await ada.approve()
  const [wrong, missing] = [back.replace(/state=[^&]*/, `state=${'a'.repeat(43)}`), back.replace(/&?state=[^&]*/, '')]

  const refused = [await ada.open(wrong), await ada.open(missing)]
  const entered = await ada.open(back)

  for (const { status, text, headers } of refused) {
    expect(status).toBe(400)
    expect(text).toContain('This sign-in has expired')
    expect(headers['set-cookie']).toBeUndefined()
  }
  expect(entered.status).toBe(200)
})

test('an answer is of no use in a browser that did not begin, so no one is signed in as somebody else', async () => {
  const [mallory, ada] = [visitor(), visitor()]
  const back = await mallory.approve()
  await ada.open('/login/start')

  const without = await visitor().open(back)
  const own = await ada.open(back)

  expect([without.status, own.status]).toEqual([400, 400])
  expect(ada.cookies.has(SESSION)).toBe(false)
})

test('an answer that comes again is refused, with the cookie and without', async () => {
  const ada = visitor()
  const back = await ada.approve()
  const pending = ada.cookies.get(PENDING) ?? ''
  const before = served.logged().length
  await ada.open(back)

  const again = await ada.open(back)
  const thief = visitor()
  thief.cookies.set(PENDING, pending)
  const stolen = await thief.open(back)

  expect([again.status, stolen.status]).toEqual([400, 400])
  expect(thief.cookies.has(SESSION)).toBe(false)
  expect(issuer.asked.filter((url) => url === '/token')).toHaveLength(2)
  expect(served.logged().slice(before)).not.toContain('sign-in-failed')
})

test('a parameter that is there twice is refused before anything is asked', async () => {
  const ada = visitor()
  const back = await ada.approve()

  const answers = await Promise.all(['code=1', 'state=1', 'error=1'].map((more) => ada.open(`${back}&${more}&${more}`)))

  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
  expect(issuer.asked).not.toContain('/token')
})

test('HEAD uses up no code', async () => {
  const ada = visitor()
  const back = await ada.approve()

  const head = await ada.open(back, { method: 'HEAD' })
  const entered = await ada.open(back)

  expect([head.status, entered.status]).toEqual([405, 200])
})

test('an ID token that is not for this sign-in, or has no signature, signs nobody in, and the log says so', async () => {
  issuer.person = { identity: { nonce: 'a'.repeat(43) } }
  const eve = visitor()
  const other = await eve.signIn()
  issuer.person = {}
  const ada = visitor()
  const back = await ada.approve()
  const nonce = derived(ada.cookies.get(PENDING) ?? '', 'nonce')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer.url, sub: 'ada', aud: CLIENT.id, iat: now, exp: now + 300, nonce }
  issuer.idToken = new UnsecuredJWT(claims).encode()

  const unsigned = await ada.open(back)
  issuer.idToken = undefined
  const again = await ada.approve()
  issuer.idToken = await issuer.idTokenFor(CLIENT.id, { nonce: derived(ada.cookies.get(PENDING) ?? '', 'nonce') })
  const signed = await ada.open(again)

  expect([other.status, unsigned.status, signed.status]).toEqual([502, 502, 200])
  expect(other.text).toContain('could not be verified')
  expect(eve.cookies.size).toBe(0)
  expect(served.logged()).toMatch(/"event":"sign-in-failed".*its ID token is not one for this client and this sign-in/)
})

/** The values of a sign-in follow from its cookie alone, so anybody can make a cookie that fits an answer. */
function derived(pending: string, use: string): string {
  return createHmac('sha256', pending).update(use).digest('base64url')
}

test('what the issuer says against a sign-in is shown as text', async () => {
  issuer.refusal = { error: 'access_denied', error_description: `<img src=x onerror="alert(1)">\u202Etxt` }
  const ada = visitor()

  const { status, text } = await ada.signIn('/login/start?to=sources')

  expect(status).toBe(403)
  expect(text).toContain('access_denied: &#60;img src=x onerror=&#34;alert(1)&#34;&#62;')
  expect(text).toContain('U+202E')
  expect(text).not.toContain('<img')
  expect(text).toContain('href="../login/start?to=sources"')
  expect(ada.cookies.size).toBe(0)
  expect(issuer.asked).not.toContain('/token')
})

test('the reason is shown to the browser alone that asked for it', async () => {
  const { status, text } = await visitor().open(
    '/login/callback?error=access_denied&error_description=Call+0800&state=a',
  )

  expect(status).toBe(400)
  expect(text).not.toContain('0800')
})

test('while the issuer is down the page says so, and tokens of ours go on working', async () => {
  const ada = visitor()
  const back = await ada.approve()
  issuer.failure = 503

  const ended = await ada.open(back)
  await using other = await serving()
  const begun = await visitor(other).open('/login/start')
  const { secret, sha256 } = newToken()
  await other.daemon.parts.tokens.add({ name: 'ours', sha256, scopes: ['page'], created: new Date().toISOString() })
  const ben = visitor(other)
  const form = await ben.open('/')
  const ours = await ben.send('/login', { token: secret })

  expect(form.text).toContain('<input')
  expect([ours.status, (await ben.open('/')).status]).toEqual([303, 200])
  for (const { status, headers, text } of [ended, begun]) {
    expect(status).toBe(503)
    expect(headers['retry-after']).toBe('10')
    expect(text).toContain('The authorization server is not available')
    expect(headers.location).toBeUndefined()
  }
  expect(served.logged()).toMatch(/"event":"sign-in-failed".*it answers 503/)
  issuer.failure = undefined
  expect((await ada.signIn()).status).toBe(200)
  expect(served.logged()).toMatch(/"event":"recovered".*"from":"sign-in-failed"/)
})

test('an answer of the issuer that is too large signs nobody in', async () => {
  issuer.tokenAnswer = { status: 200, body: JSON.stringify({ id_token: 'a'.repeat(300_000) }) }
  const ada = visitor()

  const { status } = await ada.signIn()

  expect(status).toBe(502)
  expect(ada.cookies.size).toBe(0)
  expect(served.logged()).toContain('its answer is over 262144 bytes')
})

test.each([
  '//evil.example',
  'https://evil.example',
  '/\\evil.example',
  'javascript:alert(1)',
  '../../x',
  'skills/../../other-app/delete?id=1',
  'skills/%2e%2e/login/start',
  'login',
  '\r\nx:y',
])('a sign-in leads to no other place than a page of ours: %j', async (to) => {
  const entered = await visitor().signIn(`/login/start?to=${encodeURIComponent(to)}`)

  expect(entered.status).toBe(200)
  expect(entered.text).toContain('content="0; url=../" />')
  expect(entered.text).not.toContain('evil')
})

test('a cookie that is changed, or was made by somebody else, leads to no other place either', async () => {
  const ada = visitor()
  const back = await ada.approve('/login/start?to=sources')
  const pending = ada.cookies.get(PENDING) ?? ''
  const planted = `${pending.slice(0, pending.lastIndexOf('.'))}.//evil.example`

  ada.cookies.set(PENDING, planted)
  const changed = await ada.open(back)
  const asked = new URL((await ada.open('/login/start')).headers.location ?? '')
  ada.cookies.set(PENDING, planted)
  asked.searchParams.set(
    'code_challenge',
    createHash('sha256').update(derived(planted, 'verifier')).digest('base64url'),
  )
  for (const use of ['state', 'nonce']) asked.searchParams.set(use, derived(planted, use))
  const approved = await fetch(asked, { method: 'POST', redirect: 'manual' })
  const location = new URL(approved.headers.get('location') ?? '')
  const entered = await ada.open(location.pathname + location.search)

  expect(changed.status).toBe(400)
  expect(entered.status).toBe(200)
  expect(entered.text).toContain('content="0; url=../" />')
})

test('cookies of our name that others have set are passed over', async () => {
  const ada = visitor()
  const back = await ada.approve()
  const cookie = [`${PENDING}=x`, `${PENDING}=a.1.`, `${PENDING}=${ada.cookies.get(PENDING)}`].join('; ')

  expect((await ada.open(back, { headers: { cookie } })).status).toBe(200)
})

test('a person is greeted by the name that the issuer gives, as text, and stays the one that the token names', async () => {
  const events: AuditEvent[] = []
  await using audited = await serving({ audit: (event) => events.push(event) })
  issuer.person = { identity: { name: '<i>Ada</i> \u202EL' } }
  const ada = visitor(audited)

  await ada.signIn()
  const { text } = await ada.open('/')

  expect(text).toContain('&#60;i&#62;Ada&#60;/i&#62;')
  expect(text).not.toContain('oauth:ada#')
  expect(events.at(-1)?.principal).toMatch(/^oauth:ada#/)
})

test('on this machine the public address may be in clear, and the cookies then have no promise of https', async () => {
  await using local = await serving({ url: HERE })
  const ada = new Visitor(local.http.url, HERE)

  const entered = await ada.signIn()

  expect(entered.headers['set-cookie']).toEqual([
    'skillsyncd-sign-in=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    expect.stringMatching(/^skillsyncd=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/),
  ])
  expect((await ada.open('/')).status).toBe(200)
})

test('a person sees the packs that their token names, as a client of MCP does', async () => {
  await using packed = await serving({
    config: ['packs:', "  - { id: web, description: Web, include: [{ path: 'web/**' }] }"],
  })
  const seen = async (scope: string): Promise<readonly string[]> => {
    issuer.person = { access: { scope } }
    const ada = visitor(packed)
    await ada.signIn()
    const { text } = await ada.open('/')
    const sources = await ada.open('/sources')
    return [...['tidy', 'deploy'].filter((name) => text.includes(`>${name}<`)), `sources ${sources.status}`]
  }

  expect(await seen('page pack:web')).toEqual(['tidy', 'sources 404'])
  expect(await seen('page pack:*')).toEqual(['tidy', 'deploy', 'sources 200'])
  expect(await seen('page')).toEqual(['sources 404'])
})

test('a person whose token does not open the page is told that, and is not signed in', async () => {
  const events: AuditEvent[] = []
  await using audited = await serving({ audit: (event) => events.push(event) })
  issuer.person = { access: { scope: 'openid skills' } }
  const ada = visitor(audited)

  const { status, text } = await ada.signIn()

  expect(status).toBe(403)
  expect(text).toContain('You have no access to this page')
  expect(ada.cookies.size).toBe(0)
  expect(events.at(-1)).toMatchObject({
    asked: 'GET /login/callback',
    principal: expect.stringMatching(/^oauth:ada#/),
    allowed: false,
  })
})

test('no code, token or cookie of a sign-in is in a log', async () => {
  const events: AuditEvent[] = []
  await using audited = await serving({ audit: (event) => events.push(event) })
  const ada = visitor(audited)
  const back = await ada.approve()
  const pending = ada.cookies.get(PENDING) ?? ''

  await ada.open(back)
  await ada.open('/')

  const code = new URL(back, HUB).searchParams.get('code') ?? ''
  const written = audited.logged() + JSON.stringify(events)
  for (const secret of [
    code,
    pending,
    derived(pending, 'verifier'),
    derived(pending, 'state'),
    ada.cookies.get(SESSION)!,
  ])
    expect(written).not.toContain(secret)
  expect(events.map(({ asked, allowed }) => [asked, allowed])).toEqual([
    ['GET /login/start', true],
    ['GET /login/callback', true],
    ['GET /', true],
  ])
  expect(events[1]?.principal).toBe(events[2]?.principal)
})

test('what one hub began another one behind the same address ends', async () => {
  await using other = await serving()
  const ada = visitor()
  const back = await ada.approve('/login/start?to=changes')
  const there = visitor(other)
  there.cookies.set(PENDING, ada.cookies.get(PENDING) ?? '')

  const entered = await there.open(back)

  expect(entered.status).toBe(200)
  expect(entered.text).toContain('url=../changes')
  expect((await there.open('/')).status).toBe(200)
})

test('signing in counts for the rate of requests, and signing out is for pages of ours alone', async () => {
  await using limited = await serving({
    config: ['limits: { http: { rate: { requests: 4, per: 1h } } }'],
    now: () => 0,
  })
  const ada = visitor(limited)
  const foreign = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example' }
  const eve = visitor()
  await eve.signIn()

  const back = await ada.approve()
  const [, , , refused, late] = [
    await ada.open('/login/start'),
    await ada.open('/login/start'),
    await ada.open('/login/start'),
    await ada.open('/login/start'),
    await ada.open(back),
  ]
  const out = await eve.open('/logout', { method: 'POST', headers: foreign })

  expect([refused.status, late.status, out.status]).toEqual([429, 429, 403])
  expect((await eve.open('/')).status).toBe(200)
})

test('without a client of the issuer the page offers tokens alone', async () => {
  await using plain = await serve(repository, {
    config: ['serve:', `  http: { public_url: '${HUB}' }`, `  oauth: { issuer: '${issuer.url}' }`],
  })
  const ada = visitor(plain)

  const form = await ada.open('/')
  const routes = [await ada.open('/login/start'), await ada.open('/login/callback?code=a&state=b')]

  expect(form.text).not.toContain('login/start')
  expect(routes.map(({ status }) => status)).toEqual([404, 404])
})
