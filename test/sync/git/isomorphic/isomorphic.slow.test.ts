import { hash } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { isomorphicFailure } from '../../../../src/sync/git/isomorphic/isomorphic-failure.ts'
import { secondOpinion } from '../../../../src/sync/git/second-opinion/second-opinion.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { PackChanger, packWithFlipped } from '../../../support/git/pack-changer.ts'
import { Repository } from '../../../support/git/repository.ts'
import { startFront, startOldHost } from '../../upstream/front.ts'
import { blobsOf, objectId, reach, STEADY, workers } from '../../upstream/reached.ts'
import { contentOf, failureOf } from '../../upstream/served.ts'

/** Not to be made shorter. */
const NOISE = Buffer.concat(Array.from({ length: 2000 }, (_, at) => hash('sha256', `${at}`, 'buffer')))

const BY = { backend: 'isomorphic' } as const

test('a repository of SHA-256 is refused, with the reason and the backend that reads it', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })
  const commit = await repository.commit({ 'a.md': 'a' })
  await using server = await GitServer.start()
  const url = server.serve('team', repository)
  for (const [address, ref] of [
    [url, undefined],
    [url, commit],
    [pathToFileURL(repository.folder).href, undefined],
  ] as const) {
    await using reached = await reach(address, { ...BY, ...(ref !== undefined && { ref }) })

    const failure = await failureOf(reached.tree())

    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining('its ids are sha256') })
    expect(failure.message).toMatch(/`backend: (?:embedded` or `)?system` reads it$/)
  }
})

test.each([
  ['more bytes', { a: NOISE }, { packBytes: 20_000 }, 'limits.repository.bytes (20000)'],
  [
    'more objects',
    Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, `${at}`])),
    { files: 3 },
    'limits.repository.files',
  ],
  ['a bomb', { bomb: Buffer.alloc(70 * 2 ** 20) }, {}, '67108864 bytes; `backend: embedded` or `system` reads it'],
])('a pack with %s than allowed is refused before it is unpacked', async (_, files, limits, said) => {
  await using repository = await Repository.create()
  await repository.commit(files)
  await using server = await GitServer.start()
  await using reached = await reach(server.serve('team', repository), { ...BY, limits })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'limit-exceeded', message: expect.stringContaining(said) })
  expect(await reached.scratch()).toEqual([])
  expect(workers()).toBe(0)
})

test('a pack whose file is another than the folder names leaves the file out, and a damaged pack is refused', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'some text\n', 'b.md': 'more text\n' })
  await using server = await GitServer.start()
  server.serve('team', repository)
  await using changer = await PackChanger.before(server)
  await using reached = await reach(changer.url('team'), BY)
  changer.pack = await packWithFlipped(repository, 'a.md')

  await using tree = await reached.tree()
  const content = await contentOf(tree)
  const damaged = Buffer.from(changer.pack)
  damaged.writeUInt8(damaged.readUInt8(40) ^ 1, 40)
  changer.pack = damaged
  const failure = await failureOf(reached.tree())

  expect(content).toEqual({ 'b.md': 'more text\n' })
  expect(failure).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('the pack that was sent'),
  })
})

test('an old host that demands a capability has it named, and serves a commit by its branch', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  await using server = await GitServer.start()
  const url = server.serve('team', repository)
  await using front = await startOldHost(server.origin)
  await using reached = await reach(url.replace(server.origin, front.origin), BY)

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual({ 'a.md': 'a' })
})

test('the built-in reader has the second opinion, fetches all in one pack, and finds what is served differently', async () => {
  await using repository = await Repository.create()
  const commit = await repository.commit({
    'alpha/a.md': 'a',
    'alpha/run': { executable: 'r' },
    'alpha/l': { link: 'a.md' },
  })
  await using server = await GitServer.start()
  const url = server.serve('team', repository)
  await using reached = await reach(url, BY)
  await using tree = await reached.tree()
  await tree.take(blobsOf(tree), STEADY)
  const before = server.requests.length
  const revision = { asked: undefined, ref: 'refs/heads/main', commit: objectId(commit) }
  const file = { path: 'a.md', executable: true, blob: objectId('1'.repeat(40)), size: 1, sha256: '0'.repeat(64) }
  const asked = {
    by: 'the built-in reader',
    revision,
    claims: [{ skill: 'alpha', folder: 'alpha', files: [file] }],
  } as const

  const opinion = await secondOpinion(url, asked, reached.reach, STEADY)
  const onDisk = await secondOpinion(pathToFileURL(repository.folder).href, asked, reached.reach, STEADY)

  expect(opinion).toMatchObject({
    by: 'the built-in reader',
    files: 1,
    differences: [{ path: 'a.md', message: expect.stringContaining('the commit has 1 bytes') }, { path: 'run' }],
  })
  expect(onDisk).toEqual(opinion)
  expect(server.requests.slice(before).map(({ headers }) => headers['git-protocol'])).toEqual([
    'version=2',
    'version=2',
  ])
})

test.each<readonly [string, number, Readonly<Record<string, string>>, object]>([
  [
    'a spent rate limit',
    403,
    { 'x-ratelimit-remaining': '0', 'retry-after': '7' },
    { code: 'rate-limited', retryAfterMs: 7000 },
  ],
  ['a pause', 429, { 'retry-after': '7' }, { code: 'rate-limited', retryAfterMs: 7000 }],
  ['a page to sign in', 203, { 'content-type': 'text/html' }, { code: 'credentials-rejected' }],
  ['a redirect to sign in', 302, { location: '/users/sign_in' }, { code: 'credentials-rejected' }],
  ['a missing credential', 401, {}, { code: 'credentials-rejected' }],
  ['a forbidden request', 403, {}, { code: 'credentials-rejected' }],
  ['a missing repository', 404, {}, { code: 'repository-not-found' }],
  ['a fault of the host', 503, {}, { code: 'source-unreachable' }],
])('%s is told as with the own reader, at the listing and at the fetch', async (_, status, headers, expected) => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  await using server = await GitServer.start()
  for (const method of ['GET', 'POST']) {
    await using front = await startFront(server.origin, (request, response) => {
      if (request.method !== method) return false
      response.writeHead(status, headers).end('no')
      return true
    })
    await using reached = await reach(server.serve('team', repository).replace(server.origin, front.origin), BY)

    const failure = await failureOf(reached.tree())

    expect(failure, method).toMatchObject(expected)
  }
})

test('an error of isomorphic-git that has no meaning of its own is told in its words, escaped', () => {
  const failure = isomorphicFailure('https://git.example/x', new Error('it \u001b[31mfails'))

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('isomorphic-git: it ') })
  expect(failure.message).not.toContain('\u001b')
})
