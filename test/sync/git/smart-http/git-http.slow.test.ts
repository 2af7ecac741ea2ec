import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { FLUSH, packet } from '../../../../src/base/pkt-line.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { NOTHING_KNOWN } from '../../../../src/sync/upstream/upstream.ts'
import { freePort } from '../../../support/free-port.ts'
import { startFront } from '../../upstream/front.ts'
import { blobsOf, reach, STEADY, workers } from '../../upstream/reached.ts'
import { ABSENT } from '../../upstream/sample.ts'
import { contentOf, failureOf, serve } from '../../upstream/served.ts'

const SECRET = 'Bearer 5ecret-5ecret'

test('redirects without end are refused', async () => {
  await using served = await serve()
  served.server.fault = { kind: 'redirect', status: 302, to: served.server.origin, on: 'info-refs' }

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirects') })
})

test('a redirect on the same origin is followed, and the requests after it go where it led', async () => {
  await using served = await serve()
  await using front = await startFront(served.server.origin, (request, response) => {
    if (!(request.url ?? '').startsWith('/old.git/info/refs')) return false
    response.writeHead(301, { location: (request.url ?? '').replace('/old.git', '/team.git') }).end()
    return true
  })
  await using reached = await reach(`${front.origin}/old.git`, { authorization: SECRET })

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(served.content)
  expect(served.server.requests.map(({ url }) => url.split('?')[0])).toEqual([
    '/team.git/info/refs',
    '/team.git/git-upload-pack',
    '/team.git/git-upload-pack',
    '/team.git/git-upload-pack',
  ])
  expect(new Set(served.server.requests.map(({ authorization }) => authorization))).toEqual(new Set([SECRET]))
})

test.each([301, 302, 307, 308])(
  'a repository that moves while it is followed is asked for where a %i leads',
  async (status) => {
    await using served = await serve()
    let isMoved = false
    await using front = await startFront(served.server.origin, (request, response) => {
      const url = request.url ?? ''
      if (!url.startsWith('/old.git')) return false
      request.url = url.replace('/old.git', '/team.git')
      if (isMoved) response.writeHead(status, { location: request.url }).end()
      return isMoved
    })
    const addresses = new Set<string>()
    const onAddress = (url: string): void => void addresses.add(url)
    await using reached = await reach(`${front.origin}/old.git`, { authorization: SECRET, onAddress })
    await reached.upstream.resolve(STEADY)
    expect([...addresses]).toEqual([`${front.origin}/old.git`])

    isMoved = true
    await using tree = await reached.tree()

    expect(await contentOf(tree)).toEqual(served.content)
    expect([...addresses]).toEqual([`${front.origin}/old.git`, `${front.origin}/team.git`])
  },
)

test('a ref whose name is damaged in one listing is found in the next', async () => {
  await using served = await serve()
  let damaged = 0
  const damage = (answer: Buffer): Buffer => {
    const text = answer.toString('latin1')
    if (damaged > 0 || !text.includes('refs/heads/main')) return answer
    damaged += 1
    return Buffer.from(text.replaceAll('refs/heads/main', 'refs/heads/mbin'), 'latin1')
  }
  await using front = await startFront(served.server.origin, () => false, undefined, damage)
  await using reached = await reach(`${front.origin}/team.git`, { ref: 'main' })

  const revision = await reached.upstream.resolve(STEADY)

  expect(damaged).toBe(1)
  expect(revision.ref).toBe('refs/heads/main')
})

test('a POST that is redirected where its GET was not is refused', async () => {
  await using served = await serve()
  await using front = await startFront(served.server.origin, (request, response) => {
    if (request.method !== 'POST') return false
    response.writeHead(307, { location: `/other.git/git-upload-pack` }).end()
    return true
  })
  await using reached = await reach(`${front.origin}/team.git`)

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('it answers a POST') })
  expect(served.server.requests.filter(({ method }) => method === 'POST')).toEqual([])
})

test('a commit that a host names and does not have is no reason to ask a person', async () => {
  await using served = await serve()
  const head = await served.repository.git('rev-parse', 'main')
  await using front = await startFront(served.server.origin, (request, response) => {
    if (!(request.url ?? '').startsWith('/team.git/git-upload-pack')) return false
    if (served.server.requests.filter(({ method }) => method === 'POST').length === 0) return false
    const line = `ERR upload-pack: not our ref ${head}`
    const type = { 'content-type': 'application/x-git-upload-pack-result' }
    response.writeHead(200, type).end(`${(line.length + 4).toString(16).padStart(4, '0')}${line}`)
    return true
  })
  await using reached = await reach(`${front.origin}/team.git`)

  expect(await failureOf(reached.tree())).toMatchObject({ code: 'source-unreachable' })
})

test('the credential is sent with each request, and a rotated one is used from then on', async () => {
  await using served = await serve({ authorization: 'Bearer right' })
  served.server.access = { token: 'right' }
  await using tree = await served.reached.tree()
  await using rotated = await reach(served.url, { authorization: 'Bearer new' })
  served.server.access = { token: 'new' }

  const content = await rotated.upstream.resolve(STEADY)

  expect(content.commit).toBe(tree.revision.commit)
  await expect(tree.take(blobsOf(tree), STEADY)).rejects.toMatchObject({ code: 'credentials-rejected' })
})

test('a credential that no header can hold is refused, and not shown', async () => {
  await using served = await serve({ authorization: `${SECRET}\nx` })

  const failure = await failureOf(served.reached.tree())

  expect(failure.code).toBe('credentials-rejected')
  expect(failure.cause).toBeUndefined()
  expect(failure.message).not.toContain('5ecret')
})

test('a poll is two requests the first time and one from then on', async () => {
  await using served = await serve()
  await served.reached.upstream.resolve(STEADY)
  await served.reached.upstream.resolve(STEADY)
  await using another = await reach(served.url)

  await another.upstream.resolve(STEADY)

  expect(served.server.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST', 'POST'])
})

test('after a failed poll the server is asked anew what it can do', async () => {
  await using served = await serve()
  await served.reached.upstream.resolve(STEADY)
  served.server.fault = { kind: 'status', status: 500 }
  await failureOf(served.reached.upstream.resolve(STEADY))
  served.server.fault = { kind: 'none' }

  await served.reached.upstream.resolve(STEADY)

  expect(served.server.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST', 'GET', 'POST'])
})

test('a poll asks for the refs that can be meant and for HEAD, and for no other', async () => {
  await using served = await serve()
  await using reached = await reach(served.url, { ref: 'main' })

  await reached.upstream.resolve(STEADY)

  const asked = served.server.requests.at(-1)!.body.toString()
  expect(asked.match(/ref-prefix \S+/g)).toEqual([
    'ref-prefix HEAD',
    'ref-prefix refs/heads/main',
    'ref-prefix refs/tags/main',
  ])
})

test('more bytes than limits.repository.bytes are refused', async () => {
  await using served = await serve({ limits: { packBytes: 200 } })

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringContaining('limits.repository.bytes (200)'),
  })
})

test('limits.repository.bytes counts all requests of a fetch together', async () => {
  await using served = await serve({ limits: { packBytes: 900 } })
  await served.repository.commit({ random: createHash('sha512').update('x').digest() })
  await using tree = await served.reached.tree()
  const takeOnce = () => tree.take(blobsOf(tree), STEADY)

  const failure = await failureOf(takeOnce().then(takeOnce).then(takeOnce).then(takeOnce))

  expect(failure).toMatchObject({ code: 'limit-exceeded' })
})

test('what little bytes unfold to on the disk counts against limits.repository.bytes', async () => {
  await using served = await serve({ limits: { packBytes: 100_000 } })
  const zeros = ['a', 'b', 'c'].map((name) => [name, `${name}${'0'.repeat(60_000)}`] as const)
  await served.repository.commit(Object.fromEntries(zeros))
  await using tree = await served.reached.tree()

  const failure = await failureOf(tree.take(blobsOf(tree), STEADY))

  expect(failure).toMatchObject({ code: 'limit-exceeded', message: expect.stringContaining('Cannot keep the files') })
})

test('a fetch that is not done in time is given up', async () => {
  await using served = await serve({ limits: { totalMs: 500 } })
  served.server.fault = { kind: 'hang', at: 30, on: 'fetch' }

  const failure = await failureOf(served.reached.tree())

  expect(failure).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('limits.fetch.total_timeout (500)'),
  })
  expect(workers()).toBe(0)
})

test('a fetch that hangs is aborted at once', async () => {
  await using served = await serve()
  const revision = await served.reached.upstream.resolve(STEADY)
  served.server.fault = { kind: 'hang', at: 30, on: 'fetch' }
  const abort = new AbortController()
  const since = served.server.requests.length

  const fetching = served.reached.upstream.fetch(revision, NOTHING_KNOWN, abort.signal)
  const failure = failureOf(fetching)
  await served.server.requested(() => true, since)
  abort.abort(new SyncError('unsupported', 'enough'))

  expect(await failure).toMatchObject({ message: 'enough' })
  expect(workers()).toBe(0)
  expect(await served.reached.scratch()).toEqual([])
})

test('a poll that hangs is aborted at once', async () => {
  await using served = await serve()
  served.server.fault = { kind: 'hang-before' }
  const abort = new AbortController()

  const failure = failureOf(served.reached.upstream.resolve(abort.signal))
  await served.server.requested(() => true)
  abort.abort(new SyncError('unsupported', 'enough'))

  expect(await failure).toMatchObject({ message: 'enough' })
})

test('what the server says is passed on, without what would move a cursor', async () => {
  await using served = await serve()
  await using front = await startFront(served.server.origin, (request, response) => {
    if (request.method !== 'POST') return false
    const said = `ERR \u001b[2Jgo \r\naway${'!'.repeat(500)}`
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
    response.end(`${(said.length + 4).toString(16).padStart(4, '0')}${said}0000`)
    return true
  })
  await using reached = await reach(`${front.origin}/team.git`)

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('says "[2Jgo away!') })
  expect(failure.message.length).toBeLessThan(500)
})

test('a port where nobody listens is unreachable', async () => {
  await using reached = await reach(`http://127.0.0.1:${await freePort()}/team.git`)

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('ECONNREFUSED') })
})

test('a host name that does not resolve is told apart', async () => {
  await using reached = await reach('http://no-such-host.invalid/team.git')

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'dns-failed' })
})

test('a host that does not speak TLS is told apart', async () => {
  await using served = await serve()
  await using reached = await reach(served.url.replace('http:', 'https:'))

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'tls-failed' })
})

test.each([
  ['refs', 'sha1', `${ABSENT.sha256} refs/heads/main`],
  ['refs', 'sha256', `${ABSENT.sha1} refs/heads/main`],
  ['a tag', 'sha1', `${ABSENT.sha1} refs/tags/main peeled:${ABSENT.sha256}`],
  ['a tag', 'sha256', `${ABSENT.sha256} refs/tags/main peeled:${ABSENT.sha1}`],
])('a listing of %s whose ids are not %s, as the server says they are, is refused', async (_, format, line) => {
  await using served = await serve()
  const lines = (...texts: string[]) => Buffer.concat([...texts.map(packet), FLUSH])
  const first = lines('version 2\n', 'ls-refs\n', 'fetch=shallow filter\n', `object-format=${format}\n`)
  await using front = await startFront(
    served.server.origin,
    (request, response) => {
      if (request.method !== 'GET') return false
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end(first)
      return true
    },
    () => lines(`${line}\n`),
  )
  await using reached = await reach(`${front.origin}/team.git`, { ref: 'main' })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('not a list of refs') })
})

test('a repository whose ids are made by another hash is unsupported', async () => {
  await using served = await serve()
  const first = ['version 2\n', 'object-format=sha3\n'].map(packet)
  await using front = await startFront(served.server.origin, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
    response.end(Buffer.concat([...first, FLUSH]))
    return true
  })
  await using reached = await reach(`${front.origin}/team.git`)

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining('sha3') })
})
