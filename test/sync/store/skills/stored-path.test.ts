import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import { folderNameOf, type StoredSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, numbered, sample } from '../samples.ts'

describe('a path that an upstream chose', () => {
  const file = numbered(1).stored.files[0]!
  const at = (...paths: readonly string[]): StoredSkill => ({
    place: 'skills',
    digest: 'a'.repeat(64),
    folderName: 'skill',
    files: paths.map((path) => Object.assign({}, file, { path })),
  })

  test.each<readonly [string, StoredSkill]>([
    ['leads out', at('../x')],
    ['leads out from below', at('a/../../x')],
    ['is absolute', at('/etc/passwd')],
    ['has an empty segment', at('a//b')],
    ['ends in a slash', at('a/')],
    ['is empty', at('')],
    ['has a dot segment', at('./a')],
    ['holds a NUL', at('a\0b')],
    ['is half a character', at('a\ud800')],
    ['is of a repository', at('.git/config')],
    ['is of a repository below', at('a/.GIT/hooks/x')],
    ['is of a repository by its short name', at('git~1/config')],
    ['is of a repository by a stream', at('.git::$INDEX_ALLOCATION/config')],
    ['is of a repository but for a character that a disk ignores', at('.g\u200cit/config')],
    ['is a file of that name', at('.git. ')],
    ['has a segment too long', at('é'.repeat(101))],
    ['is too long', at(Array.from({ length: 60 }, () => 'a'.repeat(17)).join('/'))],
    ['is too deep', at('a/'.repeat(64) + 'a')],
    ['is there twice', at('a', 'a')],
    ['is there twice where case is folded', at('README.md', 'readme.md')],
    ['is a file and a folder', at('a', 'a/b')],
    ['has a skill without files', at()],
    ['has a digest that is a path', { ...at('a'), digest: '../../x' }],
    ['has a folder name that is a path', { ...at('a'), folderName: '../x' }],
  ])('is neither published nor checked out when it %s', async (_, skill) => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)

    await expect(store.skills.expectWhole([skill])).rejects.toMatchObject({ code: 'content-refused' })
    await expect(store.checkouts.ensure(skill)).rejects.toMatchObject({ code: 'content-refused' })
    await expect(store.checkouts.damageIn(skill)).rejects.toMatchObject({ code: 'content-refused' })
    await expect(store.checkouts.strangersIn(skill)).rejects.toMatchObject({ code: 'content-refused' })
    expect(await readdir(store.folder.at('checkouts'))).toEqual([])
  })

  test('is refused when something is read from it', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const kept = numbered(1)
    await keepSamples(store, kept)

    const reading = store.skills.read(kept.stored, { ...kept.stored.files[0]!, path: '../../../format' })

    await expect(reading).rejects.toMatchObject({ code: 'content-refused' })
  })

  test('is kept as it is when it is only odd', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const odd = sample('odd', {
      'SKILL.md': '1',
      ' -rf\n*': '2',
      '...': '3',
      'C:\\x': '4',
      'é/日本/😀.md': '5',
      '~': '6',
    })

    await keepSamples(store, odd)

    const path = await store.checkouts.ensure(odd.stored)
    for (const each of odd.stored.files) {
      expect(await store.skills.read(odd.stored, each)).toEqual(odd.bytes.get(each.path))
      expect(await readFile(join(path, each.path))).toEqual(odd.bytes.get(each.path))
    }
  })
})

test('a skill is in a folder of its own name where that is valid, else in "skill"', () => {
  const named = (name: string | undefined): Skill => ({ ...numbered(1).skill, name })

  expect([named('pdf-tools'), named('PDF Tools'), named('..'), named(undefined)].map(folderNameOf)).toEqual([
    'pdf-tools',
    'skill',
    'skill',
    'skill',
  ])
})
