import { describe, expect, test } from 'vitest'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { NOTHING_KNOWN } from '../../../../src/sync/upstream/upstream.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { Authority, EXPIRED, type Identity } from '../../../support/http/certificates.ts'
import { ProxyServer } from '../../../support/http/proxy-server.ts'
import { reach, STEADY } from '../reached.ts'
import { contentOf, failureOf, serve } from '../served.ts'

const CONTENT = { 'a/SKILL.md': 'one\n' }
const NAME = 'git.example.test'
const BASIC = `Basic ${Buffer.from('ada:p@ss w:rd/ü%').toString('base64')}`
const authority = new Authority()

// The git program tells little of certificates, what it was built with decides how much. It waits for the connection and
// the first answer as one.
describe.each([
  { backend: 'embedded', tells: true },
  { backend: 'isomorphic', tells: true },
  { backend: 'system', tells: false },
] as const)('with `backend: $backend`', ({ backend, tells }) => {
  const reachBy: typeof reach = (url, options) => reach(url, { backend, ...options })

  test('an authority that is not known, a certificate that is over, a name that does not fit, each has its name', async () => {
    const stranger = new Authority('Nobody')
    const cases: readonly [Identity, string][] = [
      [stranger.vouchFor(['127.0.0.1']), 'not from a trusted authority'],
      [authority.vouchFor(['127.0.0.1'], EXPIRED), 'the certificate has expired (CERT_HAS_EXPIRED)'],
      [authority.vouchFor(['elsewhere.example.test']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ]
    for (const [identity, why] of cases) {
      await using site = await secureSite(identity)
      await using reached = await reachBy(site.url, { route: { ca: authority.cert }, authorization: 'Bearer s' })

      const failure = await failureOf(reached.tree())

      expect(failure).toMatchObject({
        code: 'tls-failed',
        message: expect.stringContaining(tells ? why : 'no trusted'),
      })
      expect(site.server.requests).toEqual([])
    }
  })

  test('an authority of our own is trusted where it is named, in the listing and in the fetch, and nowhere else', async () => {
    await using site = await secureSite(authority.vouchFor(['127.0.0.1']))
    await using trusting = await reachBy(site.url, { route: { ca: authority.cert } })
    await using plain = await reachBy(site.url)

    await using tree = await trusting.tree()
    const content = await contentOf(tree)
    const failure = await failureOf(plain.tree())

    expect(content).toEqual(CONTENT)
    expect(failure).toMatchObject({ code: 'tls-failed' })
  })

  test('with a proxy, every connection over TLS goes through it, and it is told the host alone', async () => {
    await using site = await secureSite(authority.vouchFor([NAME]))
    await using proxy = await ProxyServer.start(site.server.origin)
    const route = { ca: authority.cert, proxy: { url: proxy.url, headers: { 'proxy-authorization': BASIC } } }
    proxy.access = BASIC
    site.server.access = { token: 'secret' }
    await using reached = await reachBy(`https://${NAME}/team.git`, { route, authorization: 'Bearer secret' })

    await using tree = await reached.tree()
    const content = await contentOf(tree)

    expect(content).toEqual(CONTENT)
    // git keeps a connection for as long as it runs: it runs for the listing, the commit and the files.
    expect(proxy.requests).toHaveLength(tells ? site.server.requests.length : 3)
    expect(new Set(proxy.requests.map(({ method, target }) => `${method} ${target}`))).toEqual(
      new Set([`CONNECT ${NAME}:443`]),
    )
    expect(JSON.stringify(proxy.requests)).not.toContain('secret')
    expect(JSON.stringify(site.server.requests.map(({ headers }) => headers))).not.toContain(BASIC)
  })

  test('a proxy relays what is not over TLS, and its own credential goes no further', async () => {
    await using served = await serve({ backend })
    await using proxy = await ProxyServer.start(served.server.origin)
    proxy.access = BASIC
    const route = { proxy: { url: proxy.url, headers: { 'proxy-authorization': BASIC } } }
    await using reached = await reachBy(`http://${NAME}/team.git`, { route })

    await using tree = await reached.tree()

    expect(await contentOf(tree)).toEqual(served.content)
    expect(proxy.requests[0]?.target).toBe(`http://${NAME}/team.git/info/refs?service=git-upload-pack`)
    expect(served.server.requests[0]?.headers['host']).toBe(NAME)
  })

  test('a proxy that is reached over TLS is trusted by the same authority', async () => {
    await using site = await secureSite(authority.vouchFor([NAME]))
    await using proxy = await ProxyServer.start(site.server.origin, authority.vouchFor(['127.0.0.1']))
    await using served = await serve({ backend })
    await using relay = await ProxyServer.start(served.server.origin, authority.vouchFor(['127.0.0.1']))
    const relayed = { ca: authority.cert, proxy: { url: relay.url, headers: {} } }
    await using plain = await reachBy(`http://${NAME}/team.git`, { route: relayed })
    const named = { url: proxy.url, headers: {} }
    await using reached = await reachBy(`https://${NAME}/team.git`, { route: { ca: authority.cert, proxy: named } })
    await using distrusting = await reachBy(`https://${NAME}/team.git`, { route: { proxy: named } })

    await using tree = await reached.tree()
    const failure = await failureOf(distrusting.upstream.resolve(STEADY))

    expect(await contentOf(tree)).toEqual(CONTENT)
    expect(await plain.upstream.resolve(STEADY)).toMatchObject({ ref: 'refs/heads/main' })
    expect(failure).toMatchObject({ code: 'tls-failed', message: expect.stringContaining(proxy.url) })
  })

  test.each(['https', 'http'])(
    'a proxy that is down or refuses is named, and %s never goes around it',
    async (scheme) => {
      await using site = scheme === 'https' ? await secureSite(authority.vouchFor(['127.0.0.1'])) : await plainSite()
      await using proxy = await ProxyServer.start(site.server.origin)
      const route = { ca: authority.cert, proxy: { url: proxy.url, headers: {} } }
      await using reached = await reachBy(site.url, { route })
      await using known = await reachBy(site.url, { route })
      const revision = await known.upstream.resolve(STEADY)
      const seen = site.server.requests.length

      proxy.access = BASIC
      const asked = await failureOf(reached.upstream.resolve(STEADY))
      const fetched = await failureOf(known.upstream.fetch(revision, NOTHING_KNOWN, STEADY))
      proxy.access = undefined
      await proxy[Symbol.asyncDispose]()
      const down = await failureOf(reached.upstream.resolve(STEADY))

      const named = `through the proxy "${proxy.url}"`
      const refusal = {
        code: 'credentials-rejected',
        message: expect.stringContaining(`${named}: the proxy answers 407`),
      }
      expect(asked).toMatchObject(refusal)
      expect(fetched).toMatchObject(refusal)
      expect(down).toMatchObject({
        code: 'source-unreachable',
        message: expect.stringContaining(`${named}: the connection`),
      })
      expect(site.server.requests).toHaveLength(seen)
    },
  )

  test('what a proxy answers a CONNECT with is never taken for the host', async () => {
    await using site = await secureSite(authority.vouchFor(['127.0.0.1']))
    await using proxy = await ProxyServer.start(site.server.origin)
    await using reached = await reachBy(site.url, { route: { proxy: { url: proxy.url, headers: {} } } })
    const failures: unknown[] = []

    for (const status of [204, 302, 401, 404, 429, 502]) {
      proxy.status = status
      failures.push(await failureOf(reached.upstream.resolve(STEADY)))
    }

    for (const failure of failures) {
      expect(failure).toMatchObject({
        code: 'source-unreachable',
        message: expect.stringContaining('the proxy answers'),
      })
    }
    expect(site.server.requests).toEqual([])
  })

  test('a proxy that says nothing is given up in time, and the caller can give it up before', async () => {
    await using site = await secureSite(authority.vouchFor(['127.0.0.1']))
    await using proxy = await ProxyServer.start(site.server.origin)
    proxy.isSilent = true
    const route = { proxy: { url: proxy.url, headers: {} } }
    await using hasty = await reachBy(site.url, { route, limits: { connectMs: 300, idleMs: 300 } })
    await using patient = await reachBy(site.url, { route })
    const abort = new AbortController()

    const overdue = await failureOf(hasty.upstream.resolve(STEADY))
    const given = failureOf(patient.upstream.resolve(abort.signal))
    abort.abort(new SyncError('unsupported', 'enough'))

    expect(overdue).toMatchObject({
      code: 'source-unreachable',
      message: expect.stringContaining(`within ${tells ? 300 : 600} ms`),
    })
    expect(await given).toMatchObject({ message: 'enough' })
    expect(site.server.requests).toEqual([])
  })

  test.each([
    ['another host', (elsewhere: string) => elsewhere],
    ['plain HTTP on the same host', (_: string, own: string) => own.replace('https:', 'http:')],
    ['a file', () => 'file:///etc/passwd#'],
    ['an ext address', () => 'ext::sh -c touch% /tmp/never #'],
  ])('a redirect to %s is refused, and no credential of any kind gets there', async (_, to) => {
    await using site = await secureSite(authority.vouchFor(['127.0.0.1']))
    await using elsewhere = await GitServer.start()
    elsewhere.serve('team', site.repository)
    site.server.fault = { kind: 'redirect', status: 302, to: to(elsewhere.origin, site.server.origin) }
    const headers = { authorization: 'Bearer s', 'x-api-key': 'k' }
    await using reached = await reachBy(site.url, { route: { ca: authority.cert }, headers })

    const failure = await failureOf(reached.tree())

    expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirect') })
    expect(elsewhere.requests).toEqual([])
    expect(site.server.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['k'])
  })
})

interface Site extends AsyncDisposable {
  readonly server: GitServer
  readonly repository: Repository
  readonly url: string
}

async function secureSite(identity: Identity): Promise<Site> {
  return siteOn(await GitServer.start(identity))
}

async function plainSite(): Promise<Site> {
  return siteOn(await GitServer.start())
}

async function siteOn(server: GitServer): Promise<Site> {
  const repository = await Repository.create()
  await repository.commit(CONTENT)
  const url = server.serve('team', repository)
  return {
    server,
    repository,
    url,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}
