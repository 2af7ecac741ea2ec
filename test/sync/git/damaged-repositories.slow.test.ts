import { chmod, mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { mendOf } from '../../../src/sync/model/sync-error.ts'
import type { Tree } from '../../../src/sync/model/tree.ts'
import { NOTHING_KNOWN } from '../../../src/sync/upstream/upstream.ts'
import { Repository } from '../../support/git/repository.ts'
import { blobsOf, objectId, reach, STEADY } from '../upstream/reached.ts'
import type { Reached } from '../upstream/reached.ts'
import { failureOf } from '../upstream/served.ts'

/** Damages a repository, whose one commit is at `main`. */
type Damage = (repository: Repository, commit: string) => Promise<unknown>

const UPSTREAM = /Correct upstream/
const FSCK = /^git fsck in the repository lists what is damaged/

test.each<readonly [string, Reader, string, RegExp, RegExp, Damage]>([
  [
    'a commit that is no object',
    'embedded',
    'content-refused',
    /^Cannot read [0-9a-f]{40} of ".*": the object is damaged$/,
    FSCK,
    async (repository, commit) => writeFile(looseAt(repository, commit), 'no object'),
  ],
  [
    'a folder in the place of a commit',
    'embedded',
    'source-unreachable',
    /^Cannot read [0-9a-f]{40} of ".*": EISDIR$/,
    /Something else is at that place/,
    async (repository, commit) => {
      await rm(looseAt(repository, commit))
      await mkdir(looseAt(repository, commit))
    },
  ],
  [
    'a list of refs behind links in a circle',
    'embedded',
    'source-unreachable',
    /^Cannot read ".*": a link in it leads to itself \(ELOOP\)$/,
    /^Links at that place lead in a circle/,
    async ({ folder }) => {
      await rm(join(folder, 'refs/heads/main'))
      await symlink(join(folder, 'packed-refs'), join(folder, 'packed-refs'))
    },
  ],
  [
    'a commit without a tree',
    'embedded',
    'content-refused',
    /^Cannot take [0-9a-f]{40}: it names no tree$/,
    UPSTREAM,
    async (repository) => repository.setRef('refs/heads/main', await repository.object('commit', 'no tree\n')),
  ],
  [
    'a commit of a tree that is not there',
    'embedded',
    'content-refused',
    /^Cannot take "a": the repository lacks its tree 1{40}$/,
    UPSTREAM,
    async (repository) =>
      repository.commitTree(await repository.rawTree([{ mode: '40000', name: 'a', id: '1'.repeat(40) }])),
  ],
  [
    'a commit with a message of many megabytes',
    'embedded',
    'limit-exceeded',
    /^Cannot take commit [0-9a-f]{40}: it has \d+ bytes by itself, over what limits\.repository\.files \(3\)/,
    /^Raise `limits\.repository\.files`/,
    async (repository, commit) => {
      const tree = await repository.git('rev-parse', `${commit}^{tree}`)
      const bytes = `tree ${tree}\n\n${'x'.repeat(2 ** 24)}`
      await repository.setRef('refs/heads/main', await repository.object('commit', bytes))
    },
  ],
  [
    'a commit that is no object, read by isomorphic-git,',
    'isomorphic',
    'content-refused',
    /^Cannot read [0-9a-f]{40} with isomorphic-git: /,
    FSCK,
    async (repository, commit) => writeFile(looseAt(repository, commit), 'no object'),
  ],
  [
    'a commit that is another by its index, read by isomorphic-git,',
    'isomorphic',
    'content-refused',
    /^Cannot read [0-9a-f]{40}: the object is another$/,
    FSCK,
    async (repository) => {
      await repository.git('repack', '-adq')
      await swapOffsets(repository)
    },
  ],
  [
    'a pack of many megabytes, read by isomorphic-git,',
    'isomorphic',
    'limit-exceeded',
    /^Cannot read the repository with isomorphic-git: a pack of the repository has \d+ bytes/,
    /^Set `backend` of the source to embedded or system$/,
    async (repository) => {
      await repository.git('repack', '-adq')
      await truncate(await packIn(repository, '.pack'), 2 ** 27 + 1)
    },
  ],
  [
    'links in a circle in the place of a commit, read by isomorphic-git,',
    'isomorphic',
    'source-unreachable',
    /^Cannot read [0-9a-f]{40} of ".*": ELOOP$/,
    /^Links at that place lead in a circle/,
    async (repository, commit) => {
      await rm(looseAt(repository, commit))
      await symlink(looseAt(repository, commit), looseAt(repository, commit))
    },
  ],
  [
    'a commit with other bytes, read by git,',
    'system',
    'content-refused',
    /^Cannot read /,
    UPSTREAM,
    async (repository, commit) => writeFile(looseAt(repository, commit), deflateSync(Buffer.from('commit 3\0abc'))),
  ],
])('%s is refused with its code and a next step', async (_, backend, code, message, mend, damage) => {
  await using repository = await Repository.create()
  const commit = await repository.commit({ 'a.md': 'a' })
  await damage(repository, commit)
  await using reached = await reach(pathToFileURL(repository.folder).href, {
    ...READERS[backend],
    limits: { files: 3 },
  })

  const failure = await failureOf(contents(reached))

  expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(mendOf(failure)).toMatch(mend)
})

type Reader = 'embedded' | 'isomorphic' | 'system'

const READERS = {
  embedded: { backend: 'embedded' },
  isomorphic: { backend: 'isomorphic' },
  system: { backend: 'system' },
} as const

test('a tag that leads to another commit is refused', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  const tag = await repository.tag('v1', { annotated: true })
  const commit = await repository.commit({ 'a.md': 'b' })
  await using reached = await reach(pathToFileURL(repository.folder).href)
  const revision = { asked: 'v1', ref: 'refs/tags/v1', commit: objectId(commit), tag: objectId(tag) }

  const failure = await failureOf(reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY))

  expect(failure).toMatchObject({
    code: 'content-refused',
    message: `Cannot take tag ${tag}: it does not lead to commit ${commit}`,
  })
})

async function contents(reached: Reached): Promise<Tree> {
  await using tree = await reached.tree()
  await tree.take(blobsOf(tree), STEADY)
  return tree
}

function looseAt({ folder }: Repository, id: string): string {
  return join(folder, 'objects', id.slice(0, 2), id.slice(2))
}

async function packIn({ folder }: Repository, extension: '.pack' | '.idx'): Promise<string> {
  const packs = join(folder, 'objects/pack')
  const file = join(packs, (await readdir(packs)).find((name) => name.endsWith(extension)) ?? '')
  await chmod(file, 0o600)
  return file
}

/** Turns the list of offsets around: the index then names each object in the place of another one. */
async function swapOffsets(repository: Repository): Promise<void> {
  const file = await packIn(repository, '.idx')
  const bytes = await readFile(file)
  const count = bytes.readUInt32BE(8 + 255 * 4)
  const start = 8 + 256 * 4 + count * 24
  const offsets = Array.from({ length: count }, (_, at) => bytes.readUInt32BE(start + at * 4))
  for (const [at, offset] of [...offsets.slice(1), ...offsets.slice(0, 1)].entries())
    bytes.writeUInt32BE(offset, start + at * 4)
  await writeFile(file, bytes)
}
