import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newToken } from '../../../../src/daemon/access/tokens.ts'
import { AGENTS } from '../../../../src/features/agent-folders/agents.ts'
import type { Scope } from '../../../../src/serve/principal.ts'
import { Repository } from '../../../support/git/repository.ts'
import { TokenIssuer } from '../../../support/http/issuer.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'
import type { Answer } from '../../http/ask.ts'

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'> & \u202Etxt`
const FILES = {
  'tidy/SKILL.md': '---\nname: tidy # first\r\ndescription: Tidies up\n---\n\n[a](nowhere)\n',
  'bad/SKILL.md': `---\nname: bad\ndescription: ${JSON.stringify(HOSTILE)}\n---\n`,
  'secret/SKILL.md': '---\nname: secret\ndescription: Nobody is told\n---\n',
}
// Bidirectional controls keep a skill out by default; here the page has to show them.
const SOURCE = ["unlisted: ['secret']", 'hidden_unicode: note']
const FORM = 'application/x-www-form-urlencoded'

let repository: Repository
let commit: string
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
  commit = (await repository.git('rev-parse', 'main')).trim()
})
afterAll(async () => repository[Symbol.asyncDispose]())

describe('where no token is needed', () => {
  let served: Served
  beforeAll(async () => {
    served = await serve(repository, {
      source: SOURCE,
      config: ['serve:', '  page: { title: "Skills <of> the team" }', '  marketplace: { name: acme }'],
    })
  })
  afterAll(async () => served[Symbol.asyncDispose]())

  test('the page lists each served skill with its source, and says how to connect', async () => {
    const { status, headers, text } = await ask(served.http.url, '/')

    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
    expect(text).toContain('<a href="./skills/fx/tidy/"><bdi>tidy</bdi></a>')
    expect(text).toContain('<bdi>Tidies up</bdi>')
    expect(text).toContain('<span>fx</span>')
    expect(text).toMatch(/<p id="count" [^>]*>2 skills<\/p>/)
    expect(text).not.toContain(commit.slice(0, 12))
    const connect = (await ask(served.http.url, '/connect')).text
    expect(connect).toContain(served.url)
    const [, agents = ''] = /names of the agents are([^]*?)<\/p>/.exec(connect) ?? []
    expect(Array.from(agents.matchAll(/<code>(.*?)<\/code>/g), ([, id]) => id)).toEqual(AGENTS.map(({ id }) => id))
    expect(connect).toContain(`npx skills add ${served.http.url}`)
    expect(text).not.toContain('secret')
  })

  test.each([
    ['/mcp', './'],
    ['/mcp/none', '../'],
  ])('a browser that opens %s is sent to the page', async (path, location) => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

    const { status, headers } = await ask(served.http.url, path, { headers: { accept } })

    expect({ status, location: headers['location'], vary: headers['vary'] }).toEqual({
      status: 303,
      location,
      vary: 'accept',
    })
  })

  test.each([
    ['GET', '*/*'],
    ['GET', 'text/event-stream'],
    ['GET', 'text/html, text/event-stream'],
    ['POST', 'text/html'],
  ])('a client that sends %s with accept %s is not', async (method, accept) => {
    const { status } = await ask(served.http.url, '/mcp', { method, headers: { accept } })

    expect(status).not.toBe(303)
  })

  test('the page says how agents take the marketplace', async () => {
    const { text } = await ask(served.http.url, '/connect')

    expect(text).toContain(`claude plugin marketplace add ${served.http.url}/marketplace.git`)
    expect(text).toContain('codex plugin add skills@acme')
    expect(text).not.toContain('.netrc')
    expect(text.indexOf('skillsyncd link')).toBeLessThan(text.indexOf('claude plugin'))
    const clients = Array.from(text.matchAll(/<h3>([^<]*)<\/h3>/g), ([, client]) => client)
    expect(clients).toEqual([
      'Claude Code',
      'Codex',
      'Copilot CLI',
      'VS Code',
      'Claude Desktop',
      'Cursor',
      'Gemini CLI',
      'MCP Inspector',
    ])
  })

  test('what a repository says is text on the page, and no part of it', async () => {
    const { text } = await ask(served.http.url, '/')

    expect(text).toContain('&#34;&#62;&#60;script&#62;alert(1)')
    expect(text).toContain('<title>Skills &#60;of&#62; the team</title>')
    expect(text.match(/<script>/g)).toHaveLength(1)
    expect(text).not.toMatch(/<img|\son\w+=["']?alert/)
  })

  test('the page of a skill marks what is not rendered of its SKILL.md, with the lines of the file', async () => {
    const { text } = await ask(served.http.url, '/skills/fx/tidy/')

    const marks = [...text.matchAll(/<span class="unrendered"[^>]*>(?<mark>[^<]*)</g)].map(
      ({ groups }) => groups?.['mark'],
    )
    expect(marks).toEqual(['comment, line 2: first', 'address, line 6: nowhere'])
  })

  test('a browser runs and loads nothing but what is our own, and frames nothing of it', async () => {
    const { headers } = await ask(served.http.url, '/')

    const digest = String.raw`'sha256-[\w+/=]+'`
    expect(headers['content-security-policy']).toMatch(
      new RegExp(
        `^default-src 'none'; img-src data:; script-src ${digest}; style-src ${digest}; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$`,
      ),
    )
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
    })
  })

  test('HEAD has no body, and other methods are refused', async () => {
    expect(await ask(served.http.url, '/', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    expect((await ask(served.http.url, '/', { method: 'POST' })).status).toBe(405)
    expect((await ask(served.http.url, '/login')).status).toBe(405)
  })

  test('it is the page of its path alone', async () => {
    for (const path of ['/index.html', '//', '/x', '/login/', '/skills', '/sources/', '/skills/', '/skills/fx/none/']) {
      expect((await ask(served.http.url, path)).status, path).toBe(404)
    }
  })
})

describe('where a token is needed', () => {
  let served: Served
  beforeAll(async () => {
    served = await serve(repository, {
      source: SOURCE,
      config: ['serve:', '  http: { allowed_hosts: [skills.example.com] }'],
    })
  })
  afterAll(async () => served[Symbol.asyncDispose]())

  test('without one there is a form, and no skill is named', async () => {
    const { status, text, headers } = await ask(served.http.url, '/')

    expect(status).toBe(401)
    expect(headers['www-authenticate']).toMatch(/^Bearer/)
    expect(text).toContain('<form method="post" action="./login">')
    expect(text).not.toMatch(/tidy|<bdi>bad|fx/)
  })

  test('a token in the form lets in, by a cookie that says nothing of it, until one signs out', async () => {
    const token = await tokenFor(served, 'ada', ['page'])

    const entered = await signIn(served, token)
    const cookie = cookieIn(entered)
    const shown = await ask(served.http.url, '/', { headers: { cookie: `a=b; ${cookie}` } })

    expect(entered).toMatchObject({ status: 303, headers: { location: './', 'cache-control': 'no-store' } })
    expect(entered.headers['set-cookie']?.[0]).toMatch(
      /^skillsyncd=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    expect(cookie).not.toContain(token.slice(4))
    expect(shown.status).toBe(200)
    expect(shown.text).toContain('token:ada')
    expect(shown.text).toContain('>tidy<')

    const left = await post(served, '/logout', '', { cookie })
    expect(left.headers['set-cookie']?.[0]).toMatch(/^skillsyncd=; Max-Age=0;/)
    expect((await ask(served.http.url, '/', { headers: { cookie } })).status).toBe(401)
  })

  test.each([
    '//evil.example/',
    'https://evil.example/',
    '/\\evil.example',
    '\\\\evil.example',
    '\tskills/',
    'skills/\r\nSet-Cookie: a=b',
    'skills/\0',
    'javascript:alert(1)',
    'skills/../..//evil.example',
    '?x\u2028',
    'changes#@evil.example',
    `skills/${'a'.repeat(5_000)}`,
  ])('signing in leads to a page of this server alone: %j', async (to) => {
    const token = await tokenFor(served, 'ida', ['page'])

    const { headers } = await post(served, '/login', String(new URLSearchParams({ token, to })))
    await served.daemon.parts.tokens.revoke('ida')

    const base = new URL('/', served.http.url)
    expect(new URL(headers['location']!, base).origin).toBe(base.origin)
    expect(headers['set-cookie']).toHaveLength(1)
    expect(headers['set-cookie']?.[0]).toMatch(/^skillsyncd=/)
  })

  test('cookies of our name that others have set are passed over, and go when one signs out', async () => {
    const cookie = cookieIn(await signIn(served, await tokenFor(served, 'kim', ['page'])))
    const planted = `skillsyncd=planted; skillsyncd=${'a'.repeat(43)}; ${cookie}`

    const shown = await ask(served.http.url, '/', { headers: { cookie: planted } })
    await post(served, '/logout', '', { cookie: planted })
    const after = await ask(served.http.url, '/', { headers: { cookie } })

    expect([shown.status, after.status]).toEqual([200, 401])
    expect(shown.text).toContain('token:kim')
  })

  test('the cookie of a token that is revoked stops working at once', async () => {
    const cookie = cookieIn(await signIn(served, await tokenFor(served, 'brian', ['page'])))
    expect((await ask(served.http.url, '/', { headers: { cookie } })).status).toBe(200)

    await served.daemon.parts.tokens.revoke('brian')

    expect((await ask(served.http.url, '/', { headers: { cookie } })).status).toBe(401)
  })

  test('a token that is wrong, or opens something else, is refused in the same words, and sets no cookie', async () => {
    const refused = [
      await signIn(served, newToken().secret),
      await signIn(served, await tokenFor(served, 'carol', ['skills', 'well-known'])),
      await signIn(served, ''),
      await signIn(served, '<script>'),
    ]

    for (const { status, headers, text } of refused) {
      expect(status).toBe(401)
      expect(headers['set-cookie']).toBeUndefined()
      expect(text).toBe(refused[0]!.text)
    }
  })

  test('a form of another site is refused, whoever is signed in', async () => {
    const token = await tokenFor(served, 'dora', ['page'])
    const cookie = cookieIn(await signIn(served, token))
    const foreign = ['https://evil.example', 'null', `http://127.0.0.1:1`, 'http://localhost', undefined]

    for (const origin of foreign) {
      for (const path of ['/login', '/logout']) {
        const { status } = await post(served, path, `token=${token}`, { cookie, origin })
        expect(status, `${origin} ${path}`).toBe(403)
      }
    }
    expect((await ask(served.http.url, '/', { headers: { cookie } })).status).toBe(200)
  })

  test('a token in the address is refused, and taken from no form but one of a bounded length', async () => {
    const token = await tokenFor(served, 'erin', ['page'])

    expect((await ask(served.http.url, `/?token=${token}`)).status).toBe(400)
    for (const form of ['', `token=${token}`]) {
      expect((await post(served, `/login?token=${token}`, form)).status).toBe(400)
    }
    expect((await post(served, '/login', `token=${token}&more=${'x'.repeat(30_000)}`)).status).toBe(413)
    expect((await post(served, '/login', `token=${token}`, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('a cookie that nobody was given opens nothing', async () => {
    for (const cookie of ['skillsyncd=', `skillsyncd=${'a'.repeat(43)}`, 'skillsyncd=__proto__', 'x']) {
      expect((await ask(served.http.url, '/', { headers: { cookie } })).status, cookie).toBe(401)
    }
  })

  test('a cookie opens the page alone', async () => {
    const cookie = cookieIn(await signIn(served, await tokenFor(served, 'frank', ['page', 'skills', 'well-known'])))

    expect((await ask(served.http.url, '/.well-known/agent-skills/index.json', { headers: { cookie } })).status).toBe(
      401,
    )
    expect((await ask(served.http.url, '/mcp', { headers: { cookie } })).status).toBe(401)
  })

  test('installers need a token with their scope', async () => {
    const index = '/.well-known/agent-skills/index.json'
    const bearer = async (name: string, scopes: readonly Scope[]) => ({
      headers: { authorization: `Bearer ${await tokenFor(served, name, scopes)}` },
    })

    expect((await ask(served.http.url, index)).status).toBe(401)
    expect((await ask(served.http.url, index, await bearer('grace', ['skills']))).status).toBe(403)
    expect((await ask(served.http.url, index, await bearer('heidi', ['well-known']))).status).toBe(200)
  })

  test('the eleventh session of a token ends its first, and nobody else is signed out', async () => {
    const other = cookieIn(await signIn(served, await tokenFor(served, 'ivan', ['page'])))
    const token = await tokenFor(served, 'judy', ['page'])

    const cookies: string[] = []
    for (let at = 0; at < 11; at += 1) cookies.push(cookieIn(await signIn(served, token)))

    const statuses = await Promise.all(
      [other, ...cookies].map((cookie) => ask(served.http.url, '/', { headers: { cookie } })),
    )
    expect(statuses.map(({ status }) => status)).toEqual([200, 401, ...Array.from({ length: 10 }, () => 200)])
  })
})

test('a session ends after twelve hours', async () => {
  let now = 0
  await using served = await serve(repository, {
    config: ['serve:', '  http: { allowed_hosts: [skills.example.com] }'],
    now: () => now,
  })
  const cookie = cookieIn(await signIn(served, await tokenFor(served, 'ada', ['page'])))

  now = 12 * 3_600_000 - 1
  const before = await ask(served.http.url, '/', { headers: { cookie } })
  now += 1
  const after = await ask(served.http.url, '/', { headers: { cookie } })

  expect([before.status, after.status]).toEqual([200, 401])
})

test('who is signed in stays so over a reload, and who asked too often is not let in by one', async () => {
  await using served = await serve(repository, {
    config: [
      'serve:',
      '  http: { allowed_hosts: [skills.example.com] }',
      'limits: { http: { rate: { requests: 4, per: 1h } } }',
    ],
    now: () => 0,
  })
  const cookie = cookieIn(await signIn(served, await tokenFor(served, 'ada', ['page'])))
  const look = async () => (await ask(served.http.url, '/', { headers: { cookie } })).status

  const before = await look()
  served.renew()
  const after = [await look(), await look(), await look()]

  expect([before, ...after]).toEqual([200, 200, 200, 429])
})

test('behind https the cookie is sent over https alone, and our own address is that of the public', async () => {
  await using served = await serve(repository, {
    config: ['serve:', '  http: { public_url: https://skills.example.com }'],
  })
  const origin = 'https://skills.example.com'

  const entered = await post(served, '/login', `token=${await tokenFor(served, 'ada', ['page'])}`, {
    origin,
    host: 'skills.example.com',
  })
  const shown = await ask(served.http.url, '/connect', {
    headers: { cookie: cookieIn(entered), host: 'skills.example.com' },
  })

  expect(entered.headers['set-cookie']?.[0]).toMatch(
    /^__Host-skillsyncd=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  )
  expect(shown.text).toContain(`${origin}/mcp`)
})

test('serve.public opens the page and the files for installers, and nothing else', async () => {
  await using served = await serve(repository, {
    config: ['serve:', '  http: { allowed_hosts: [skills.example.com] }', '  public: [page, well-known]'],
  })

  const page = await ask(served.http.url, '/')
  const index = await ask(served.http.url, '/.well-known/agent-skills/index.json')
  const mcp = await ask(served.http.url, '/mcp', { method: 'POST', body: '{}' })

  expect(page.text).toContain('>tidy<')
  expect([page.status, index.status, mcp.status]).toEqual([200, 200, 401])
})

test('what is open to everybody is limited like the rest, and so is signing in', async () => {
  await using served = await serve(repository, {
    config: [
      'serve:',
      '  http: { allowed_hosts: [skills.example.com] }',
      '  public: [well-known]',
      'limits: { http: { rate: { requests: 3, per: 1h } } }',
    ],
    now: () => 0,
  })
  const index = async () => (await ask(served.http.url, '/.well-known/agent-skills/index.json')).status

  expect([await index(), await index(), await index(), await index()]).toEqual([200, 200, 200, 429])
  expect((await signIn(served, newToken().secret)).status).toBe(429)
  expect((await ask(served.http.url, '/')).status).toBe(429)
})

test('-page in serve.forms takes the page and its forms away', async () => {
  await using served = await serve(repository, { config: ['serve:', '  forms: [default, -page]'] })

  for (const path of ['/', '/login', '/logout']) expect((await ask(served.http.url, path)).status).toBe(404)
})

test('a token of an authorization server opens the page', async () => {
  await using issuer = await TokenIssuer.start()
  await using served = await serve(repository, { config: ['serve:', `  oauth: { issuer: '${issuer.url}' }`] })

  const refused = await signIn(served, await issuer.token({ aud: 'https://other.example.com', scope: 'page' }))
  const entered = await signIn(served, await issuer.token({ aud: served.url, scope: 'page' }))

  expect(refused.status).toBe(401)
  const shown = await ask(served.http.url, '/', { headers: { cookie: cookieIn(entered) } })
  expect(shown.text).toContain('oauth:ada')
})

async function tokenFor({ daemon }: Served, name: string, scopes: readonly Scope[]): Promise<string> {
  const { secret, sha256 } = newToken()
  await daemon.parts.tokens.add({ name, sha256, scopes, created: new Date().toISOString() })
  return secret
}

async function signIn(served: Served, token: string): Promise<Answer> {
  return post(served, '/login', `token=${encodeURIComponent(token)}`)
}

async function post(
  { http }: Served,
  path: string,
  body: string,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const sent = Object.entries({ 'content-type': FORM, origin: http.url, ...headers })
  const given = Object.fromEntries(sent.filter((entry): entry is [string, string] => entry[1] !== undefined))
  return ask(http.url, path, { method: 'POST', body, headers: given })
}

function cookieIn({ headers }: Answer): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}
