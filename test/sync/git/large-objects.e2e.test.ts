import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { DiskObjects } from '../../../src/sync/git/disk-objects.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { objectId, reach, STEADY, type Reached } from '../upstream/reached.ts'
import { failureOf } from '../upstream/served.ts'

const server = await GitServer.start()
server.streams = true
afterAll(() => server[Symbol.asyncDispose]())

const MEGABYTE = 2 ** 20

const FEW = { limits: { files: 1000 } }

const WAYS = [
  ['over http', async (repository) => reach(served(repository), FEW)],
  [
    'over http, from a server that cannot leave files out',
    async (repository) => {
      await repository.git('config', 'uploadpack.allowFilter', 'false')
      return reach(served(repository), FEW)
    },
  ],
  ['on this disk', async (repository) => reach(pathToFileURL(repository.folder).href, FEW)],
  [
    'on this disk, by the git program',
    async (repository) => reach(pathToFileURL(repository.folder).href, { ...FEW, backend: 'system' }),
  ],
] as const satisfies readonly (readonly [string, (repository: Repository) => Promise<Reached>])[]

test.each(WAYS)('a folder with 19 MB of names is refused with its path, its size and the limit %s', async (_, open) => {
  await using repository = await Repository.create()
  const blob = await repository.blob('x')
  const entries = Array.from({ length: 80_000 }, (_, index) => {
    return { mode: '100644', name: `${String(index).padStart(6, '0')}${'n'.repeat(200)}`, id: blob }
  })
  const names = await repository.rawTree(entries)
  const folder = await repository.rawTree([{ mode: '40000', name: 'names', id: names }])
  await repository.commitTree(await repository.rawTree([{ mode: '40000', name: 'skills', id: folder }]))
  await using reached = await open(repository)

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringMatching(
      /"skills\/names": it has \d+ bytes by itself, over .*limits\.repository\.files \(1000\)/,
    ),
  })
})

test('of files over http that are too large little more than their headers is sent, and the others come', async () => {
  await using repository = await Repository.create()
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, `file ${index}`]))
  const large = { 'f07-large': randomBytes(48 * MEGABYTE), 'f31-large': randomBytes(48 * MEGABYTE) }
  await repository.git('config', 'core.compression', '0')
  await repository.commit({ ...files, ...large })
  await using reached = await reach(served(repository))
  await using tree = await reached.tree()
  const ids = new Map(tree.list(tree.root).map(({ name, id }) => [name, id]))
  const before = server.streamedBytes

  const taken = await tree.take(ids.values(), STEADY)

  for (const [name, id] of ids) {
    const expected = name.endsWith('large')
      ? { kind: 'refused', reason: 'too-large', size: 48 * MEGABYTE }
      : { kind: 'blob' }
    expect(taken.get(id)).toMatchObject(expected)
  }
  // Of each of the few requests that were given up the connection held some of the rest.
  expect(server.streamedBytes - before).toBeLessThan(48 * MEGABYTE)
})

test('in a repository with many files that are too large the others come all the same', async () => {
  await using repository = await Repository.create()
  const files = Array.from({ length: 150 }, (_, index) => [
    `f${index}`,
    index % 2 === 0 ? randomBytes(3000) : `${index}`,
  ])
  await repository.commit(Object.fromEntries(files))
  await using reached = await reach(served(repository), { limits: { blobBytes: 1000 } })
  await using tree = await reached.tree()
  const entries = tree.list(tree.root)

  const taken = await tree.take(
    entries.map(({ id }) => id),
    STEADY,
  )

  const kinds = entries.map(({ name, id }) => [name, taken.get(id)?.kind])
  expect(kinds).toEqual(entries.map(({ name }) => [name, Number(name.slice(1)) % 2 === 0 ? 'refused' : 'blob']))
})

test('of a server without filters, hundreds of files that are too large are refused before the first other one', async () => {
  await using repository = await Repository.create()
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  const large = Array.from({ length: 600 }, (_, index) => [`a${index}`, `${index}`.repeat(100)])
  await repository.commit({ ...Object.fromEntries(large), small: 'small' })
  await using reached = await reach(served(repository), { limits: { blobBytes: 99 } })
  await using tree = await reached.tree()

  const taken = await tree.take(
    tree.list(tree.root).map(({ id }) => id),
    STEADY,
  )

  const refused = [...taken.values()].filter((blob) => blob.kind === 'refused' && blob.reason === 'too-large')
  expect([taken.size, refused.length]).toEqual([601, 600])
})

test.each([
  ['in a file of its own', async () => {}],
  ['in a pack', async (repository: Repository) => void (await repository.git('repack', '-adq'))],
])('of a file on this disk that is too large its header alone is read, %s', async (_, pack) => {
  await using repository = await Repository.create()
  const large = objectId(await repository.blob(Buffer.alloc(192 * MEGABYTE)))
  const small = objectId(await repository.blob('small'))
  await repository.setRef('refs/tags/large', large)
  await repository.setRef('refs/tags/small', small)
  await pack(repository)
  using objects = new DiskObjects(repository.folder, FETCH_LIMITS)
  const before = process.resourceUsage().maxRSS

  const taken = await objects.take([large, small], (_, bytes) => {
    return { kind: 'blob', size: bytes.length, sha256: '', isLfsPointer: false, file: '', at: 0 }
  })

  expect(taken.get(large)).toEqual({ kind: 'refused', reason: 'too-large', size: 192 * MEGABYTE })
  expect(taken.get(small)).toMatchObject({ kind: 'blob', size: 5 })
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(32 * 1024)
})

let repositories = 0

function served(repository: Repository): string {
  return server.serve(`r${(repositories += 1)}`, repository)
}
