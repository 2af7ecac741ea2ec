import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Damaged } from '../../../../src/sync/model/sync-error.ts'
import { isTemporary } from '../../../../src/sync/store/files/atomic.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { damageObject } from '../../../support/damage.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, numbered, sample } from '../samples.ts'

const run = promisify(execFile)

describe('a checkout', () => {
  test('has the files of the skill byte for byte, in a folder of the skill’s own name', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored, bytes } = numbered(1)
    expect(await store.checkouts.has(stored)).toBe(false)

    const path = await store.checkouts.ensure(stored)

    expect(path).toBe(join(folder.path, 'checkouts', stored.digest, 'skill-1'))
    expect(path).toBe(store.checkouts.pathOf(stored))
    for (const file of stored.files) expect(await readFile(join(path, file.path))).toEqual(bytes.get(file.path))
    expect(await store.checkouts.has(stored)).toBe(true)
    expect(await store.checkouts.damageIn(stored)).toEqual([])
    expect(await store.checkouts.strangersIn(stored)).toEqual([])
  })

  test('has files of 0444 or 0555 in folders of 0755, whatever the umask is', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const umask = process.umask(0o077)

    const path = await store.checkouts.ensure(numbered(1).stored).finally(() => process.umask(umask))

    expect(await modeOf(path, 'SKILL.md')).toBe(0o444)
    expect(await modeOf(path, 'run.sh')).toBe(0o555)
    for (const inside of ['..', '.', 'references', 'references/deep']) expect(await modeOf(path, inside)).toBe(0o755)
  })

  test('is made once', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    const path = await store.checkouts.ensure(stored)
    const before = await lstat(join(path, 'SKILL.md'))

    await store.checkouts.ensure(stored)

    expect((await lstat(join(path, 'SKILL.md'))).ino).toBe(before.ino)
  })

  test('that many request at once, over two stores, is one, and nothing is left beside it', async () => {
    await using folder = await temporaryFolder()
    using one = await storeOf(folder.path)
    using other = await Store.open(folder.path)
    const { stored } = numbered(1)

    const paths = await Promise.all([one, other, one, other].map((store) => store.checkouts.ensure(stored)))

    expect(new Set(paths)).toEqual(new Set([one.checkouts.pathOf(stored)]))
    expect(await one.checkouts.damageIn(stored)).toEqual([])
    await expectNothingBeside(one, stored.digest)
  })

  test('of one version is no part of that of another: a write to one changes only that one', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    const [old, next] = [sample('a', { 'SKILL.md': 'same' }), sample('a', { 'SKILL.md': 'same', 'b.md': 'same' })]
    await keepSamples(store, old, next)
    const path = await store.checkouts.ensure(old.stored)
    await store.checkouts.ensure(next.stored)

    await overwrite(join(path, 'SKILL.md'), 'evil')

    expect(await store.checkouts.damageIn(old.stored)).toHaveLength(1)
    expect(await store.checkouts.damageIn(next.stored)).toEqual([])
    expect(await store.skills.damageIn(old.stored)).toEqual([])
  })

  test('is not made of a damaged object, and leaves nothing half made', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    damageObject(store, stored.files.at(-1)!.sha256)

    await expect(store.checkouts.ensure(stored)).rejects.toThrow(Damaged)

    expect(await readdir(store.folder.at('checkouts'))).toEqual([])
    expect(await readdir(store.folder.at('tmp'))).toEqual([])
  })

  test('that was there stays as it is while its objects are damaged', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    const path = await store.checkouts.ensure(stored)
    damageObject(store, stored.files.at(-1)!.sha256)

    expect(await store.checkouts.ensure(stored)).toBe(path)
  })
})

describe('a checkout is made again', () => {
  test.each<readonly [string, (file: string) => Promise<unknown>]>([
    ['has one other byte', (file) => overwrite(file, 'sane')],
    ['is shorter', (file) => overwrite(file, 'sa')],
    ['is longer', (file) => overwrite(file, 'same and more')],
    ['is gone', (file) => rm(file)],
    ['can be written', (file) => chmod(file, 0o644)],
    ['can be run', (file) => chmod(file, 0o555)],
    ['is a link to the same bytes', (file) => rename(file, `${file}-real`).then(() => symlink(`${file}-real`, file))],
    ['is a folder', (file) => rm(file).then(() => mkdir(file))],
    ['is a pipe that no process writes to', (file) => rm(file).then(() => run('mkfifo', [file]))],
    ['lost its folder', (file) => rm(dirname(file), { recursive: true })],
  ])('if a file of it %s', async (_, harm) => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    const kept = sample('a', { 'SKILL.md': 'same', 'empty.md': '' })
    await keepSamples(store, kept)
    const path = await store.checkouts.ensure(kept.stored)
    await harm(join(path, 'SKILL.md'))
    const damage = await store.checkouts.damageIn(kept.stored)

    await store.checkouts.ensure(kept.stored)

    expect(damage.map((file) => file.path)).toContain('SKILL.md')
    expect(await readFile(join(path, 'SKILL.md'), 'utf8')).toBe('same')
    expect(await modeOf(path, 'SKILL.md')).toBe(0o444)
    expect(await store.checkouts.damageIn(kept.stored)).toEqual([])
    await expectNothingBeside(store, kept.stored.digest)
  })

  test.each<readonly [string, (place: string, elsewhere: string) => Promise<unknown>]>([
    ['an empty folder', (place) => mkdir(place)],
    ['a file', (place) => writeFile(place, 'in the way')],
    ['a pipe', (place) => run('mkfifo', [place])],
    ['a link to a folder of others', (place, elsewhere) => symlink(elsewhere, place)],
    ['a link that leads nowhere', (place) => symlink('nowhere', place)],
  ])('in the place of %s, and nothing behind that is changed', async (_, occupy) => {
    await using folder = await temporaryFolder()
    const [state, elsewhere] = [join(folder.path, 'state'), join(folder.path, 'elsewhere')]
    using store = await storeOf(state)
    const { stored } = numbered(1)
    await mkdir(join(elsewhere, stored.folderName), { recursive: true })
    await writeFile(join(elsewhere, stored.folderName, 'thesis.txt'), 'years of work')
    await occupy(store.folder.at('checkouts', stored.digest), elsewhere)

    await store.checkouts.ensure(stored)

    expect((await lstat(store.folder.at('checkouts', stored.digest))).isDirectory()).toBe(true)
    expect(await store.checkouts.damageIn(stored)).toEqual([])
    expect(await readdir(join(elsewhere, stored.folderName))).toEqual(['thesis.txt'])
    await expectNothingBeside(store, stored.digest)
  })

  test('by two stores at once, and is whole', async () => {
    await using folder = await temporaryFolder()
    using one = await storeOf(folder.path)
    using other = await Store.open(folder.path)
    const { stored } = numbered(1)
    const path = await one.checkouts.ensure(stored)

    for (let round = 0; round < 10; round += 1) {
      await overwrite(join(path, 'SKILL.md'), `edited ${round}`)
      await Promise.all([one, other].map((store) => store.checkouts.ensure(stored)))

      expect(await one.checkouts.damageIn(stored)).toEqual([])
    }
    await expectNothingBeside(one, stored.digest)
  })
})

describe('foreign entries of a checkout', () => {
  test('are named, of a foreign folder only itself, and are no damage', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    const path = await store.checkouts.ensure(stored)
    await mkdir(join(path, '__pycache__', 'deep'), { recursive: true })
    await writeFile(join(path, '..', 'beside'), '')
    await writeFile(join(path, 'references', 'notes.md'), '')
    await symlink('/', join(path, 'references', 'deep', 'root'))

    const strangers = await store.checkouts.strangersIn(stored)
    await store.checkouts.ensure(stored)

    const names = ['__pycache__', 'references/notes.md', 'references/deep/root'].map((name) => `skill-1/${name}`)
    expect(strangers.toSorted()).toEqual(['beside', ...names].toSorted())
    expect(await store.checkouts.damageIn(stored)).toEqual([])
    expect(await readdir(path)).toContain('__pycache__')
  })

  test('go with an edited checkout that is made again', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    const path = await store.checkouts.ensure(stored)
    await writeFile(join(path, 'planted.sh'), '')
    await overwrite(join(path, 'SKILL.md'), 'edited')

    await store.checkouts.ensure(stored)

    expect(await store.checkouts.strangersIn(stored)).toEqual([])
  })

  test('are none where there is no checkout', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)

    expect(await store.checkouts.strangersIn(numbered(1).stored)).toEqual([])
  })
})

describe('a collection of checkouts', () => {
  test('removes those that are not kept, below read-only folders too, and no foreign entry', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    await Promise.all([1, 2].map((number) => store.checkouts.ensure(numbered(number).stored)))
    await mkdir(join(store.checkouts.pathOf(numbered(1).stored), 'cache', 'deep'), { recursive: true })
    await chmod(join(store.checkouts.pathOf(numbered(1).stored), 'cache'), 0o500)
    await writeFile(store.folder.at('checkouts', 'README'), 'not ours')

    const removed = await store.checkouts.keepOnly(new Set([numbered(2).stored.digest]))

    expect(removed).toBe(1)
    const left = await readdir(store.folder.at('checkouts'))
    expect(left.toSorted()).toEqual([numbered(2).stored.digest, 'README'].toSorted())
    expect(await store.checkouts.damageIn(numbered(2).stored)).toEqual([])
    expect(await readdir(store.folder.at('tmp'))).toEqual([])
  })

  test('leaves what is held, however often, until the last hold is disposed', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const [held, other] = [numbered(1).stored, numbered(2).stored]
    const removed: number[] = []
    {
      using _first = store.checkouts.hold([held])
      {
        using _second = store.checkouts.hold([held, other])
        await store.checkouts.ensure(held)
        await store.checkouts.ensure(other)
        removed.push(await store.checkouts.keepOnly(new Set()))
      }
      removed.push(await store.checkouts.keepOnly(new Set()))
      expect(await store.checkouts.damageIn(held)).toEqual([])
      expect(await store.checkouts.has(other)).toBe(false)
    }
    removed.push(await store.checkouts.keepOnly(new Set()))

    expect(removed).toEqual([0, 1, 1])
  })

  test('and the making of one of them at the same time leave it whole if it is held', async () => {
    await using folder = await temporaryFolder()
    using store = await storeOf(folder.path)
    const { stored } = numbered(1)
    await store.checkouts.ensure(stored)

    const collected = store.checkouts.keepOnly(new Set())
    using _held = store.checkouts.hold([stored])
    await Promise.all([collected, store.checkouts.ensure(stored)])

    expect(await store.checkouts.damageIn(stored)).toEqual([])
  })

  test('removes a link in the place of a checkout, and nothing behind it', async () => {
    await using folder = await temporaryFolder()
    const [state, elsewhere] = [join(folder.path, 'state'), join(folder.path, 'elsewhere')]
    using store = await Store.open(state)
    await mkdir(elsewhere)
    await writeFile(join(elsewhere, 'thesis.txt'), 'years of work')
    await symlink(elsewhere, store.folder.at('checkouts', 'a'.repeat(64)))

    expect(await store.checkouts.keepOnly(new Set())).toBe(1)

    expect(await readdir(store.folder.at('checkouts'))).toEqual([])
    expect(await readdir(elsewhere)).toEqual(['thesis.txt'])
  })

  test('finds nothing to remove where the folder of checkouts is gone', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    await rm(store.folder.at('checkouts'), { recursive: true })

    expect(await store.checkouts.keepOnly(new Set())).toBe(0)
  })
})

test('what a killed process left half made is gone after a sweep', async () => {
  await using folder = await temporaryFolder()
  using store = await storeOf(folder.path)
  const { stored } = numbered(1)
  await store.checkouts.ensure(stored)
  await mkdir(store.folder.at('checkouts', `.tmp-${'0'.repeat(32)}`, 'skill-1'), { recursive: true })

  await store.sweep()

  expect(await readdir(store.folder.at('checkouts'))).toEqual([stored.digest])
})

/** A store that has the skills 1 and 2. */
async function storeOf(path: string): Promise<Store> {
  const store = await Store.open(path)
  await keepSamples(store, numbered(1), numbered(2))
  return store
}

async function expectNothingBeside(store: Store, digest: string): Promise<void> {
  const names = await readdir(store.folder.at('checkouts'))
  expect(names.filter((name) => !isTemporary(name))).toEqual([digest])
  expect([...names.filter(isTemporary), ...(await readdir(store.folder.at('tmp')))]).toEqual([])
}

async function modeOf(root: string, path: string): Promise<number> {
  return (await lstat(join(root, path))).mode & 0o777
}

/** As an agent of the same user can. The mode is as before. */
async function overwrite(file: string, text: string): Promise<void> {
  await chmod(file, 0o644)
  await writeFile(file, text)
  await chmod(file, 0o444)
}
