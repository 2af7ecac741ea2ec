import { execFileSync } from 'node:child_process'
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { DiskRefs } from '../../../src/sync/git/disk-refs.ts'
import { Repository } from '../../support/git/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const FIRST = '1'.repeat(40)
const SECOND = '2'.repeat(40)

test('refs are those that git names, packed, in files of their own, or both', async () => {
  await using repository = await Repository.create()
  const first = await repository.commit({ a: 'a' })
  for (const name of ['refs/heads/topic/one', 'refs/tags/v1', 'refs/tags/v1.0', 'refs/tags/deep/v2'])
    await repository.git('update-ref', name, first)
  await repository.git('tag', '-a', '-m', 'annotated', 'annotated')
  await repository.git('pack-refs', '--all')
  const second = await repository.commit({ a: 'b' })
  await repository.git('update-ref', 'refs/tags/loose', second)
  const lines = (await repository.git('for-each-ref', '--format=%(refname) %(objectname)')).split('\n')
  const refs = new DiskRefs(repository.folder)

  const found = [...(await refs.refsBelow('refs/heads/')), ...(await refs.refsBelow('refs/tags/'))]

  expect(found.map(({ name, id }) => `${name} ${id}`).toSorted()).toEqual(lines.toSorted())
  expect(lines.length).toBeGreaterThan(6)
  expect(await Promise.all(found.map(({ name }) => refs.ref(name)))).toEqual(found)
  expect((await refs.refsBelow('refs/tags/', 'refs/tags/v1')).map(({ name }) => name).toSorted()).toEqual([
    'refs/tags/v1',
    'refs/tags/v1.0',
  ])
  expect(await refs.ref('HEAD')).toEqual({ name: 'HEAD', id: second, target: 'refs/heads/main' })
})

test('a name that only begins, ends or contains another is not found', async () => {
  await using scene = await Scene.packed('refs/heads/main', 'refs/heads/topic/one')

  for (const name of ['refs/heads/mai', 'refs/heads/ain', 'heads/main', 'main', 'refs/heads/topic', 'refs/heads/main2'])
    expect(await scene.refs.ref(name)).toBeUndefined()
  expect(await scene.refs.ref('refs/heads/main')).toEqual({ name: 'refs/heads/main', id: FIRST })
})

test('a file of its own comes before the packed line', async () => {
  await using scene = await Scene.packed('refs/heads/main')
  await scene.write('refs/heads/main', `${SECOND}\n`)

  expect(await scene.refs.ref('refs/heads/main')).toMatchObject({ id: SECOND })
})

test('a ref that is packed after the packed refs were read is found', async () => {
  await using repository = await Repository.create()
  const first = await repository.commit({ a: 'a' })
  await repository.git('pack-refs', '--all')
  const second = await repository.commit({ a: 'b' })
  await repository.git('branch', 'topic', first)
  const refs = new DiskRefs(repository.folder)
  expect(await refs.ref('refs/heads/none')).toBeUndefined()

  await repository.git('pack-refs', '--all')

  expect(await refs.ref('refs/heads/main')).toEqual({ name: 'refs/heads/main', id: second })
  expect(await refs.ref('refs/heads/topic')).toEqual({ name: 'refs/heads/topic', id: first })
  expect(await refs.refsBelow('refs/heads/')).toHaveLength(2)
})

test('a file that leads nowhere hides the packed line of its name, as in git', async () => {
  await using scene = await Scene.packed('refs/heads/main', 'refs/heads/other')
  await scene.write('refs/heads/main', 'ref: refs/heads/none\n')

  expect(await scene.refs.refsBelow('refs/heads/')).toEqual([{ name: 'refs/heads/other', id: FIRST }])
  expect(await scene.refs.ref('refs/heads/main')).toBeUndefined()
})

test.each([
  ['leads to itself', 'ref: refs/heads/a\n'],
  ['leads to nothing', 'ref: refs/heads/none\n'],
  ['is empty', ''],
  ['has other text', 'main\n'],
  ['has no end', `${'1'.repeat(100_000)}\n`],
])('a file of a ref that %s is no ref', async (_, text) => {
  await using scene = await Scene.packed()
  await scene.write('refs/heads/a', text)

  expect(await scene.refs.ref('refs/heads/a')).toBeUndefined()
})

test('a ref that leads out of the repository is no ref', async () => {
  await using scene = await Scene.packed()
  await scene.write('refs/heads/a', 'ref: ../outside\n')
  await scene.write('../outside', `${FIRST}\n`)

  expect(await scene.refs.ref('refs/heads/a')).toBeUndefined()
  expect(await scene.refs.ref('../outside')).toBeUndefined()
})

test('packed refs of more than 128 MiB are not read', async () => {
  await using scene = await Scene.packed('refs/heads/main')
  await truncate(join(scene.path, 'packed-refs'), 2 ** 27 + 1)

  await expect(scene.refs.ref('refs/heads/main')).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test('a pipe in place of a ref or of the packed refs holds nothing up', async () => {
  await using scene = await Scene.packed()
  await mkdir(join(scene.path, 'refs/heads'), { recursive: true })
  await rm(join(scene.path, 'packed-refs'))
  for (const name of ['refs/heads/pipe', 'packed-refs']) execFileSync('mkfifo', [join(scene.path, name)])

  expect(await scene.refs.ref('refs/heads/pipe')).toBeUndefined()
  expect(await scene.refs.refsBelow('refs/heads/')).toEqual([])
})

/** The folder of a repository that has these refs packed. */
class Scene implements AsyncDisposable {
  readonly path: string
  readonly #folder: AsyncDisposable

  private constructor(path: string, folder: AsyncDisposable) {
    this.path = path
    this.#folder = folder
  }

  static async packed(...names: readonly string[]): Promise<Scene> {
    const folder = await temporaryFolder()
    const path = join(folder.path, 'repository.git')
    await mkdir(path)
    const lines = ['# pack-refs with: peeled fully-peeled sorted ', ...names.map((name) => `${FIRST} ${name}`)]
    await writeFile(join(path, 'packed-refs'), lines.map((line) => `${line}\n`).join(''))
    return new Scene(path, folder)
  }

  get refs(): DiskRefs {
    return new DiskRefs(this.path)
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, name)), { recursive: true })
    await writeFile(join(this.path, name), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
