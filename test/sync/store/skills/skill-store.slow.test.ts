import { describe, expect, test } from 'vitest'
import type { SkillFile } from '../../../../src/sync/model/skill.ts'
import { Damaged } from '../../../../src/sync/model/sync-error.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { changeDatabase, damageObject, loseObject } from '../../../support/damage.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, numbered, sample } from '../samples.ts'

test('a kept skill reads back byte for byte', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const { stored, bytes } = numbered(1)

  await keepSamples(store, numbered(1))

  for (const file of stored.files) expect(await store.skills.read(stored, file)).toEqual(bytes.get(file.path))
  expect(await store.skills.damageIn(stored)).toEqual([])
})

test('a large file comes out whole', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const large = sample('large', { 'SKILL.md': 'large', 'data.bin': '0123456789abcdef'.repeat(200_000) })

  await keepSamples(store, large)

  expect(await store.skills.read(large.stored, fileAt(large.stored.files, 'data.bin'))).toEqual(
    large.bytes.get('data.bin'),
  )
})

test('a file that many skills have is stored once, and the same skill from many sources too', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const samples = Array.from({ length: 12 }, (_, number) => numbered(number))

  await Promise.all([...samples, ...samples].map((each) => keepSamples(store, each)))

  // Three files of its own per skill, and one that is the same in all.
  expect((await store.objects.collect({ heads: new Set(), live: new Set() })).objects).toBe(3 * 12 + 1)
})

describe('a skill is not whole', () => {
  test('if its digest is not that of its files', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    await keepSamples(store, numbered(1))

    const checking = store.skills.expectWhole([{ ...numbered(1).stored, digest: 'a'.repeat(64) }])

    await expect(checking).rejects.toMatchObject({ code: 'store-failed', message: expect.stringMatching(/digest/) })
    await expect(checking).rejects.not.toBeInstanceOf(Damaged)
  })

  test('if the store lacks one of its files, which is named', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    await keepSamples(store, numbered(1), numbered(2))
    loseObject(store, fileAt(numbered(2).stored.files, 'references/deep/own.md').sha256)

    const checking = store.skills.expectWhole([numbered(1).stored, numbered(2).stored])

    await expect(checking).rejects.toThrow(Damaged)
    await expect(checking).rejects.toThrow(`"references/deep/own.md" of the skill "${numbered(2).stored.digest}"`)
  })
})

describe('a stored file', () => {
  const kept = sample('a', { 'SKILL.md': 'same', 'empty.md': '' })
  const file = fileAt(kept.stored.files, 'SKILL.md')

  test.each([
    ['has other bytes', damageObject, 'its SHA-256 is another'],
    ['is gone', loseObject, 'it is gone'],
  ] as const)('that %s is never given out, and is whole once it is kept again', async (_, harm, problem) => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    await keepSamples(store, kept)
    harm(store, file.sha256)

    await expect(store.skills.read(kept.stored, file)).rejects.toThrow(Damaged)
    await expect(store.checkouts.ensure(kept.stored)).rejects.toThrow(Damaged)
    expect(await store.skills.damageIn(kept.stored)).toEqual([{ path: 'SKILL.md', problem }])
    await keepSamples(store, kept)

    expect(await store.skills.read(kept.stored, file)).toEqual(Buffer.from('same'))
    expect(await store.skills.damageIn(kept.stored)).toEqual([])
  })

  test('that cannot be read at the moment is reported with the reason', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    // In pieces, of which none can be read.
    const large = sample('large', { 'data.bin': '0123456789abcdef'.repeat(200_000) })
    await keepSamples(store, large)
    changeDatabase(store, 'ALTER TABLE piece RENAME TO away')

    const unread = await store.skills.damageIn(large.stored)

    expect(unread).toMatchObject([{ path: 'data.bin', problem: expect.stringContaining('Cannot read the object') }])
  })
})

function fileAt(files: readonly SkillFile[], path: string): SkillFile {
  return files.find((file) => file.path === path)!
}
