import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packet } from '../../../../src/base/pkt-line.ts'
import { NOTHING_KNOWN, type KnownTrees } from '../../../../src/sync/upstream/upstream.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { startFront } from '../../upstream/front.ts'
import { blobsOf, objectId, reach, STEADY } from '../../upstream/reached.ts'

const MANY = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`many/d${n}/f`, `${n}\n`]))
/** Less than the trees of `MANY` take, and more than the others. */
const FEW_BYTES = 6000

const EMPTY = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1')
/** As a server sends it: 37 bytes in a packet, of the first band. */
const EMPTY_PACK = Buffer.concat([Buffer.from('0025\u0001'), EMPTY, createHash('sha1').update(EMPTY).digest()])

let server: GitServer
let repository: Repository

beforeEach(async () => {
  server = await GitServer.start()
  repository = await Repository.create()
  await repository.commit({ ...MANY, 'skill/SKILL.md': 'one\n', 'skill/scripts/run': 'run\n' })
})

afterEach(async () => {
  await repository[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('an update is sent without the trees that are known', async () => {
  const known = await knownNow()
  await repository.commit({ 'other/f': 'new\n' })
  await using reached = await reach(served(), { limits: { packBytes: FEW_BYTES } })
  const revision = await reached.upstream.resolve(STEADY)

  await expect(reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY)).rejects.toMatchObject({
    code: 'limit-exceeded',
  })
  await using tree = await reached.upstream.fetch(revision, known, STEADY)

  expect(tree.list(tree.root).map(({ name }) => name)).toEqual(['many', 'other', 'skill'])
  expect(fetches()).toHaveLength(2)
})

test('a folder that did not change in a skill that did is asked for by itself', async () => {
  const known = await knownNow()
  await repository.commit({ 'skill/SKILL.md': 'two\n' })
  await using reached = await reach(served(), { limits: { packBytes: FEW_BYTES } })

  await using tree = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), known, STEADY)

  expect(tree.list(await idOf('skill/scripts')).map(({ name }) => name)).toEqual(['run'])
  expect(fetches()).toHaveLength(2)
})

test('a known folder that was copied is taken where it stands now, with all below it', async () => {
  const known = await knownNow()
  const tree = objectId(await repository.git('rev-parse', 'main^{tree}'))
  await repository.commitTree(await repository.rawTree([{ mode: '40000', name: 'copy', id: tree }]))
  await using reached = await reach(served())

  await using copied = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), known, STEADY)

  expect(blobsOf(copied)).toHaveLength(252)
})

test('a tree that the server does not have leaves nothing out', async () => {
  const known = await knownNow()
  const foreign = new Map([...known.byPath].map(([path]) => [path, objectId('0123456789'.repeat(4))]))
  await using reached = await reach(served())

  await using tree = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), { byPath: foreign }, STEADY)

  expect(blobsOf(tree)).toHaveLength(252)
})

test.each([
  ['refuses', packet('ERR what is that?\n')],
  ['makes nothing of', Buffer.alloc(0)],
  ['sends no commit because of', Buffer.concat([packet('packfile\n'), EMPTY_PACK, Buffer.from('0000')])],
])('a server that %s what we have is asked for all', async (_, answer) => {
  const known = await knownNow()
  await repository.commit({ 'other/f': 'new\n' })
  await using front = await startFront(
    server.origin,
    () => false,
    (body) => (body.includes('have ') ? answer : undefined),
  )
  await using reached = await reach(served().replace(server.origin, front.origin))

  await using tree = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), known, STEADY)

  expect(tree.list(tree.root)).toHaveLength(3)
})

test('a server that cannot leave files out is not told what we have, and gives those of known folders', async () => {
  const known = await knownNow()
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  await repository.commit({ 'other/f': 'new\n' })
  await using reached = await reach(served())
  const file = await idOf('many/d0/f')

  await using tree = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), known, STEADY)

  expect((await tree.take([file], STEADY)).get(file)).toMatchObject({ kind: 'blob' })
})

test.each([
  ['few trees', (paths: string[]) => paths.slice(0, 150)],
  ['trees that lie in no known one', (paths: string[]) => paths.filter((path) => path !== '' && path !== 'many')],
])('of %s the server is not told', async (_, choose) => {
  const { byPath } = await knownNow()
  const known = { byPath: new Map(choose([...byPath.keys()]).map((path) => [path, byPath.get(path)!])) }
  await using reached = await reach(served())

  await using tree = await reached.upstream.fetch(await reached.upstream.resolve(STEADY), known, STEADY)

  expect(tree.revision.ref).toBe('refs/heads/main')
  expect(fetches().filter((body) => body.includes('have '))).toEqual([])
})

let names = 0

/** Under a name of its own: what a server can do is remembered by its address. */
function served(): string {
  return server.serve(`r${(names += 1)}`, repository)
}

/** All folders but those in the skill. */
async function knownNow(): Promise<KnownTrees> {
  const listed = await repository.git('ls-tree', '-rdt', '--format=%(path) %(objectname)', 'main')
  const folders = listed.split('\n').filter((line) => !line.startsWith('skill/'))
  const root = await repository.git('rev-parse', 'main^{tree}')
  return {
    byPath: new Map([` ${root}`, ...folders].map((line) => [line.split(' ')[0]!, objectId(line.split(' ')[1])])),
  }
}

async function idOf(path: string) {
  return objectId(await repository.git('rev-parse', `main:${path}`))
}

/** What was asked for packs. */
function fetches(): readonly string[] {
  return server.requests.map(({ body }) => body.toString()).filter((body) => body.includes('command=fetch'))
}
