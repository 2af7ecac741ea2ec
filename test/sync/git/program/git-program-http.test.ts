import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { filesBelow } from '../../../support/content/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { ProxyServer } from '../../../support/http/proxy-server.ts'
import { processes } from '../../../support/process/processes.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { startFront } from '../../upstream/front.ts'
import { blobsOf, reach, STEADY, workers } from '../../upstream/reached.ts'
import { contentOf, failureOf, serve } from '../../upstream/served.ts'

// What is the git program's own over http(s), beside the contract, the faults and the ways that it shares with our reader.

const TOKEN = 'canary-token-7f3a9c1e'
const KEY = 'canary-key-c0ffee'
const PASSWORD = 'canary-proxy-4d4d'
const BASIC = Buffer.from(`x-access-token:${TOKEN}`).toString('base64')
const PROXY_BASIC = Buffer.from(`ada:${PASSWORD}`).toString('base64')
const SECRETS = [TOKEN, KEY, PASSWORD, BASIC, PROXY_BASIC]

test('while a fetch hangs no secret is in a command line or a file, and none is left when it is given up', async () => {
  await using served = await serve()
  await using proxy = await ProxyServer.start(served.server.origin)
  proxy.access = `Basic ${PROXY_BASIC}`
  const route = { proxy: { url: proxy.url, headers: { 'proxy-authorization': proxy.access } } }
  const headers = { authorization: `Basic ${BASIC}`, 'x-api-key': KEY }
  await using reached = await reach('http://program.example.test/team.git', { backend: 'system', headers, route })
  served.server.fault = { kind: 'hang-before', on: 'fetch' }
  const abort = new AbortController()
  const revision = await reached.upstream.resolve(STEADY)

  const fetching = reached.upstream.fetch(revision, { byPath: new Map() }, abort.signal)
  await served.server.requested(({ body }) => body.includes('command=fetch'))
  const running = await processes()
  const files = await filesBelow(reached.reach.scratch)
  abort.abort(new Error('enough'))
  await expect(fetching).rejects.toThrow('enough')

  const own = running.filter(({ line }) => line.includes('http://program.example.test/team.git'))
  expect(new Set(own.map(({ program }) => basename(program)))).toEqual(new Set(['git', 'git-remote-http']))
  // They have it all the same, where nobody but the same user can read it.
  for (const { environ } of own) expect(environ).toContain(BASIC)
  expect(files.map(({ name }) => name)).toContain('.gitconfig')
  for (const secret of SECRETS) {
    expect(running.map(({ line }) => line).join('\n')).not.toContain(secret)
    expect(files.map(({ text }) => text).join('\n')).not.toContain(secret)
  }
  expect((await processes()).filter(({ line }) => line.includes('program.example.test'))).toEqual([])
  expect(await reached.scratch()).toEqual([])
  expect(workers()).toBe(0)
})

test('what reads the objects is not told who we are', async () => {
  await using served = await serve({ backend: 'system', headers: { 'x-api-key': KEY } })

  await using tree = await served.reached.tree()
  const readers = (await processes()).filter(({ line }) => line.includes('cat-file --batch'))

  expect(await contentOf(tree)).toEqual(served.content)
  expect(served.server.requests.map(({ headers }) => headers['x-api-key'])).toContain(KEY)
  expect(readers.length).toBeGreaterThan(0)
  for (const { environ } of readers) expect(environ).not.toContain(KEY)
})

test('a redirect on the same origin is followed, and the credential goes along', async () => {
  await using served = await serve()
  await using front = await startFront(served.server.origin, (request, response) => {
    if (!(request.url ?? '').startsWith('/old.git/info/refs')) return false
    response.writeHead(301, { location: (request.url ?? '').replace('/old.git', '/team.git') }).end()
    return true
  })
  await using reached = await reach(`${front.origin}/old.git`, { backend: 'system', authorization: `Basic ${BASIC}` })

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(served.content)
  expect(new Set(served.server.requests.map(({ authorization }) => authorization))).toEqual(new Set([`Basic ${BASIC}`]))
})

test('redirects without end are refused', async () => {
  await using served = await serve({ backend: 'system' })
  served.server.fault = { kind: 'redirect', status: 302, to: served.server.origin, on: 'info-refs' }

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirects') })
})

test('the credential is read anew for each request, and what the host refuses is told apart', async () => {
  await using served = await serve({ backend: 'system', authorization: 'Bearer right' })
  served.server.access = { token: 'right' }
  await using tree = await served.reached.tree()
  served.server.access = { token: 'new' }

  const failure = await failureOf(tree.take(blobsOf(tree), STEADY))

  expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining('answers 401') })
  expect(failure.constructor.name).toBe('CredentialRefused')
})

test('more bytes than limits.repository.bytes are refused', async () => {
  await using served = await serve({ backend: 'system', limits: { packBytes: 200 } })

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringContaining('limits.repository.bytes (200)'),
  })
})

test('a host that nothing listens at is unreachable', async () => {
  await using reached = await reach(`http://127.0.0.1:${await freePort()}/team.git`, { backend: 'system' })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('connection failed') })
})

test('a host name that does not resolve is named', async () => {
  // No name has so long a part, so nobody is asked for it.
  const name = `${'a'.repeat(64)}.test`
  await using reached = await reach(`http://${name}/team.git`, { backend: 'system' })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'dns-failed', message: expect.stringContaining(name) })
})

test.each([
  ['X-Proxy-Key', 'k', 'no other header'],
  ['proxy-authorization', `Basic ${Buffer.from('ada:a%2fb').toString('base64')}`, 'percent sign'],
])(
  'a credential of a proxy that git cannot send as it is (%s) is refused before anybody is asked',
  async (name, value, why) => {
    await using served = await serve()
    await using proxy = await ProxyServer.start(served.server.origin)
    const route = { proxy: { url: proxy.url, headers: { [name]: value } } }
    await using reached = await reach(served.url, { backend: 'system', route })

    const failure = await failureOf(reached.tree())

    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining(why) })
    expect(proxy.requests).toEqual([])
  },
)

test.each([
  ['older than 2.31', 'unset GIT_CONFIG_COUNT; exec git "$@"', 'unsupported', 'git 2.31 or newer is required'],
  ['without its part for http', 'GIT_EXEC_PATH=/nonexistent exec git "$@"', 'git-missing', 'speaks http'],
  ['that is not there', 'exec /nonexistent/git', 'git-missing', 'not there'],
])('a git program %s is named, and nobody is asked', async (_, script, code, why) => {
  await using folder = await temporaryFolder()
  const git = join(folder.path, 'git')
  await writeFile(git, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  await using served = await serve({ backend: 'system', git })

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({ code, message: expect.stringContaining(why) })
  expect(served.server.requests).toEqual([])
})

test('a word before the answer is not taken for it', async () => {
  await using served = await serve()
  await using front = await startFront(served.server.origin, (_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    return false
  })
  await using reached = await reach(served.url.replace(served.server.origin, front.origin), { backend: 'system' })

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(served.content)
})
