import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { SkillFile } from '../../../../src/sync/model/skill.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { fetched, keepSamples, never, numbered, sample } from '../samples.ts'

const run = promisify(execFile)

describe('keeping', () => {
  test('a kept skill reads back byte for byte, from the path that agents are given', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const { stored, bytes } = numbered(1)

    await keepSamples(store, numbered(1))

    for (const file of stored.files) expect(await store.skills.read(stored, file)).toEqual(bytes.get(file.path))
    expect(store.skills.folderOf(stored)).toBe(join(folder.path, 'skills', stored.digest, 'skill-1'))
    expect(await readFile(join(store.skills.folderOf(stored), 'run.sh'), 'utf8')).toBe('echo 1\n')
  })

  test('files are 0444 or 0555 and folders 0755, whatever the umask is', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const { stored } = numbered(1)
    const umask = process.umask(0o077)

    await keepSamples(store, numbered(1)).finally(() => process.umask(umask))

    const root = store.skills.folderOf(stored)
    expect(await modeOf(root, 'SKILL.md')).toBe(0o444)
    expect(await modeOf(root, 'run.sh')).toBe(0o555)
    for (const path of ['..', '.', 'references', 'references/deep']) expect(await modeOf(root, path)).toBe(0o755)
  })

  test('what was spooled stays in the scratch folder, to be kept again', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    await using scratch = await store.scratch()
    const bytesOf = await fetched(scratch.path, [numbered(1), numbered(2)])
    const { stored } = numbered(1)
    await store.skills.keepAll([stored, numbered(2).stored], bytesOf, never())
    await rm(store.skills.folderOf(stored), { recursive: true })

    await store.skills.keepAll([stored], bytesOf, never())

    expect(await store.skills.has(stored)).toBe(true)
    expect(await store.skills.has(numbered(2).stored)).toBe(true)
  })

  test('a file taken from another version is a copy: a write to one is no write to the other', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const [old, next] = [sample('a', { 'SKILL.md': 'same' }), sample('a', { 'SKILL.md': 'same', 'b.md': 'same' })]
    await keepSamples(store, old)

    await store.skills.keep(next.stored, () => ({ kind: 'stored', skill: old.stored, path: 'SKILL.md' }), never())
    await overwrite(join(store.skills.folderOf(old.stored), 'SKILL.md'), 'evil')

    expect(await store.skills.has(old.stored)).toBe(false)
    expect(await store.skills.has(next.stored)).toBe(true)
  })

  test('nothing is asked for and nothing written where the skill is there already', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const { stored } = numbered(1)
    await keepSamples(store, numbered(1))
    const before = await lstat(store.skills.folderOf(stored))

    await store.skills.keep(stored, () => expect.unreachable(), never())

    expect((await lstat(store.skills.folderOf(stored))).ino).toBe(before.ino)
  })

  test('the same skill from many sources at once is kept once, and each of them succeeds', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const { stored } = numbered(1)

    await Promise.all(Array.from({ length: 12 }, () => keepSamples(store, numbered(1))))

    expect(await store.skills.has(stored)).toBe(true)
    expect(await readdir(join(folder.path, 'skills'))).toEqual([stored.digest])
    expect(await readdir(join(folder.path, 'tmp'))).toEqual([])
  })

  test('a skill that is named twice in one publish is written once', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const { stored } = numbered(1)

    await keepSamples(store, numbered(1), numbered(1))

    expect(await store.skills.digests()).toEqual([stored.digest])
  })

  test('hundreds of files go to the disk together, each of them whole', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const samples = Array.from({ length: 60 }, (_, number) => numbered(number))

    await keepSamples(store, ...samples)

    for (const { stored } of samples) expect(await store.skills.has(stored)).toBe(true)
    expect(await store.skills.digests()).toHaveLength(60)
  })

  test.each([
    ['other bytes of the same length', (file: string) => writeFile(file, 'XXXX')],
    ['too few bytes', (file: string) => truncate(file, 3)],
    ['no file', (file: string) => rm(file)],
    ['a link', (file: string) => rename(file, `${file}-real`).then(() => symlink(`${file}-real`, file))],
  ])('an origin with %s is refused: nothing is published and nothing left behind', async (_, damage) => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    await using scratch = await store.scratch()
    const [good, bad] = [numbered(1), sample('bad', { 'SKILL.md': 'four' })]
    const [goodBytes, badBytes] = [await fetched(scratch.path, [good]), await fetched(scratch.path, [bad])]
    const origin = badBytes(bad.stored, bad.stored.files[0]!)
    await damage(origin.kind === 'scratch' ? origin.file : '')

    const keeping = store.skills.keepAll(
      [good.stored, bad.stored],
      (skill, file) => (skill === bad.stored ? badBytes : goodBytes)(skill, file),
      never(),
    )

    await expect(keeping).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('"SKILL.md"'),
    })
    expect(await readdir(join(folder.path, 'skills'))).toEqual([])
  })

  test('a digest that is not that of the files is refused', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const stored = { ...numbered(1).stored, digest: 'a'.repeat(64) }

    const keeping = store.skills.keep(stored, () => expect.unreachable(), never())

    await expect(keeping).rejects.toMatchObject({ code: 'store-failed' })
  })

  test('an abort ends the keeping with its own reason and leaves nothing behind', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    await using scratch = await store.scratch()
    const bytesOf = await fetched(scratch.path, [numbered(1)])
    const stop = new AbortController()
    const reason = new Error('stopping')

    const keeping = store.skills.keepAll(
      [numbered(1).stored],
      (skill, file) => {
        stop.abort(reason)
        return bytesOf(skill, file)
      },
      stop.signal,
    )

    await expect(keeping).rejects.toBe(reason)
    expect(await readdir(join(folder.path, 'skills'))).toEqual([])
  })
})

describe('a stored file that is not what it was', () => {
  test.each<readonly [string, (path: string) => Promise<unknown>]>([
    ['has one other byte', (path) => overwrite(path, 'sane')],
    ['is shorter', (path) => overwrite(path, 'sa')],
    ['is longer', (path) => overwrite(path, 'same and more')],
    ['is gone', (path) => rm(path)],
    ['is a link to the same bytes', (path) => rename(path, `${path}-real`).then(() => symlink(`${path}-real`, path))],
    ['is a folder', (path) => rm(path).then(() => mkdir(path))],
    ['is a pipe that nobody writes to', (path) => rm(path).then(() => run('mkfifo', [path]))],
    ['lost its folder', (path) => rm(dirname(path), { recursive: true })],
  ])('is never given out when it %s, and is replaced by the next keep', async (_, damage) => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const kept = sample('a', { 'SKILL.md': 'same', 'empty.md': '' })
    const file = kept.stored.files.find(({ path }) => path === 'SKILL.md')!
    await keepSamples(store, kept)
    await damage(join(store.skills.folderOf(kept.stored), 'SKILL.md'))

    const reading = store.skills.read(kept.stored, file)

    await expect(reading).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining(`"SKILL.md" of the skill "${kept.stored.digest}"`),
    })
    expect(await store.skills.has(kept.stored)).toBe(false)
    await keepSamples(store, kept)
    expect(await store.skills.read(kept.stored, file)).toEqual(Buffer.from('same'))
    expect(await readdir(join(folder.path, 'tmp'))).toEqual([])
  })

  test('is told apart from what an agent dropped beside it', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const kept = numbered(1)
    await keepSamples(store, kept)

    await mkdir(join(store.skills.folderOf(kept.stored), '__pycache__'))

    expect(await store.skills.has(kept.stored)).toBe(true)
  })
})

test('a large file goes through in pieces and comes out whole', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const large = sample('large', { 'SKILL.md': 'large', 'data.bin': '0123456789abcdef'.repeat(200_000) })
  const file: SkillFile = large.stored.files.find(({ path }) => path === 'data.bin')!

  await keepSamples(store, large)

  expect(await store.skills.read(large.stored, file)).toEqual(large.bytes.get('data.bin'))
})

async function modeOf(root: string, path: string): Promise<number> {
  return (await lstat(join(root, path))).mode & 0o777
}

/** As an agent of the same user can. */
async function overwrite(path: string, text: string): Promise<void> {
  await chmod(path, 0o644)
  await writeFile(path, text)
}
