import { describe, expect, test } from 'vitest'
import { comparePaths } from '../../../src/sync/model/digest.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { surveyed } from '../survey/surveyed.ts'
import { catalogOf, catalogsOf, holdsForCatalogs } from './catalogs.ts'

const MINUTE = 120_000

describe('the files of a catalog', () => {
  test('are found by the URIs that they have, and are as many as there are', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(100, (catalogs) => {
      for (const { files } of catalogs) {
        const all = [...files.values()]
        for (const file of all) expect(files.get(file.uri)).toEqual(file)
        expect(files.size).toBe(all.length)
        for (const file of all) expect(files.at(file)).toEqual(file)
        expect(new Set(all.map(({ uri }) => uri)).size).toBe(all.length)
      }
    })
  })

  test('are what their folders show, each folder in the order of its names', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(100, (catalogs) => {
      for (const { files, folders } of catalogs) {
        const byFolder = Map.groupBy(files.values(), ({ folder }) => folder)
        for (const uri of folders.keys()) {
          const children = folders.get(uri)!
          const shown = children.filter((child) => !('kind' in child))
          expect(shown).toEqual(expect.arrayContaining(byFolder.get(uri) ?? []))
          expect(shown.length).toBe(byFolder.get(uri)?.length ?? 0)
          expect(children.map(({ name }) => name)).toEqual(children.map(({ name }) => name).toSorted(comparePaths))
          expect(children.filter((child) => 'kind' in child && !folders.has(child.uri))).toEqual([])
        }
        for (const uri of byFolder.keys()) expect(folders.has(uri)).toBe(true)
      }
    })
  })

  test.each([
    ['an encoded letter', 'skill://team/a/%61b.md'],
    ['a hex digit in lower case', 'skill://team/a/%c3%bc.md'],
    ['a letter that is to be encoded', 'skill://team/a/ü.md'],
    ['a slash behind it', 'skill://team/a/ab.md/'],
    ['an encoded slash', 'skill://team/a%2Fab.md'],
    ['an encoded letter of its folder', 'skill://team/a/%72ef/one.md'],
    ['a file as its folder', 'skill://team/a/ab.md/ab.md'],
    ['half an escape', 'skill://team/a/%'],
    ['bytes that are no text', 'skill://team/a/%FF'],
    ['a dot segment', 'skill://team/a/./ab.md'],
    ['the name of a folder', 'skill://team/a/ref'],
    ['the name of the source', 'skill://team'],
    ['a name that would stand before all', 'skill://team/a/!'],
    ['a name that would stand behind all', 'skill://team/a/~'],
    ['no slash', 'team'],
    ['nothing', ''],
  ])('are not found by %s', async (_, uri) => {
    const [catalog] = await catalogsOf([
      { 'a/SKILL.md': skillText('a'), 'a/ab.md': 'ab', 'a/ü.md': 'ü', 'a/ref/one.md': 'one' },
    ])

    const found = catalog!.files.get(uri)

    expect(found).toBeUndefined()
    expect(catalog!.files.get('skill://team/a/%C3%BC.md')?.name).toBe('ü.md')
  })

  test.each([
    'skill://team/a/',
    'skill://team/a//',
    'skill://team/a/ref/',
    'skill://team/a/./ref',
    'skill://team/a/%72ef',
  ])('lie in no folder %s: it is written otherwise', async (uri) => {
    const [catalog] = await catalogsOf([{ 'a/SKILL.md': skillText('a'), 'a/ref/one.md': 'one' }])

    expect(catalog!.folders.get(uri)).toBeUndefined()
    expect(catalog!.folders.get('skill://team/a/ref')?.map(({ name }) => name)).toEqual(['one.md'])
  })

  test('are found beside a folder of their URI also where no other skill is near', async () => {
    const snapshot = await surveyed({ 'o/SKILL.md': skillText('o'), 'o/x': 'a file' })
    const [skill] = snapshot.skills
    const beside = { ...skill!.files.at(-1)!, path: 'x/y' }

    const { files, folders } = catalogOf({ ...snapshot, skills: [{ ...skill!, files: [...skill!.files, beside] }] })

    expect(files.get('skill://team/o/x')?.file.path).toBe('x')
    expect(files.get('skill://team/o/x/y')?.file.path).toBe('x/y')
    expect(files.size).toBe(3)
    expect(folders.get('skill://team/o')?.map((child) => ('kind' in child ? 'folder' : child.file.path))).toEqual([
      'SKILL.md',
      'x',
      'folder',
    ])
  })

  test('are found where a folder has the URI too, as another server may say it, and the folder is shown', async () => {
    const outer = await surveyed({ 'o/SKILL.md': skillText('o'), 'o/x': 'a file' })
    const inner = await surveyed({ 'o/x/p/SKILL.md': skillText('p') })

    const { files, folders } = catalogOf({ ...outer, skills: [...outer.skills, ...inner.skills] })

    expect(files.get('skill://team/o/x')?.file.size).toBe('a file'.length)
    expect(files.size).toBe(3)
    expect(folders.get('skill://team/o')).toMatchObject([
      { name: 'SKILL.md' },
      { name: 'x', file: { path: 'x' } },
      { kind: 'folder', name: 'x' },
    ])
  })
})
