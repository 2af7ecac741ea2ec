import { describe, expect, test } from 'vitest'
import { describeFile } from '../../../src/serve/mcp/resources/files/file-entry.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import { diff, isEmpty, type Changes } from '../../../src/sync/catalog/changes.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { surveyed } from '../survey/surveyed.ts'
import { catalogOf, catalogsOf, holdsForCatalogs } from './catalogs.ts'

const MINUTE = 120_000

describe('between any two catalogs, the changes', () => {
  test('lead from the files of the one to those of the other', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(200, (catalogs) => {
      for (const [before, after] of pairsOf(catalogs)) {
        expect(applied(before, diff(before, after), after)).toEqual(contentsOf(after))
      }
    })
  })

  test('name nothing that is as it was, and nothing twice', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(100, (catalogs) => {
      for (const [before, after] of pairsOf(catalogs)) {
        const { added, removed, changed } = diff(before, after)
        for (const uri of added) expect([before.files.has(uri), after.files.has(uri)]).toEqual([false, true])
        for (const uri of removed) expect([before.files.has(uri), after.files.has(uri)]).toEqual([true, false])
        for (const uri of changed) expect(contentsOf(before)[uri]).not.toBe(contentsOf(after)[uri])
      }
    })
  })

  test('are of the list exactly where a list says something else', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(150, (catalogs) => {
      for (const [before, after] of pairsOf(catalogs)) {
        expect(diff(before, after).list).toBe(JSON.stringify(listIn(before)) !== JSON.stringify(listIn(after)))
      }
    })
  })

  test('are none where the two are one', { timeout: MINUTE }, async () => {
    await holdsForCatalogs(50, (catalogs) => {
      for (const catalog of catalogs) {
        expect(isEmpty(diff(catalog, catalog))).toBe(true)
        expect(isEmpty(diff(catalog, { ...catalog, digest: 'of another generation' }))).toBe(true)
      }
    })
  })
})

const BEFORE = { 'a/SKILL.md': skillText('a'), 'a/ref.md': 'one', 'b/SKILL.md': skillText('b'), 'b/ref.md': 'b' }

test('a commit that changes no byte of a skill changes nothing', async () => {
  const [before, after] = await catalogsOf([BEFORE, { ...BEFORE, 'README.md': 'new', 'src/main.c': 'x' }])

  expect(before!.digest).not.toBe(after!.digest)
  expect(isEmpty(diff(before!, after!))).toBe(true)
})

test.each([
  ['a changed file', { 'a/ref.md': 'two' }, { changed: ['a/ref.md'], list: false }],
  [
    'a changed body of SKILL.md, as the list says its size',
    { 'a/SKILL.md': skillText('a', '', 'x') },
    { changed: ['a/SKILL.md'], list: true },
  ],
  ['a file that became executable', { 'a/ref.md': { executable: 'one' } }, { changed: ['a/ref.md'], list: false }],
  ['a new file', { 'a/new.md': 'x' }, { added: ['a/new.md'], list: false }],
  ['a new skill', { 'c/SKILL.md': skillText('c') }, { added: ['c/SKILL.md'], list: true }],
  ['a skill that is broken', { 'a/SKILL.md': '# none' }, { removed: ['a/SKILL.md', 'a/ref.md'], list: true }],
  [
    'a skill that has another name',
    { 'a/SKILL.md': skillText('z') },
    { added: ['z/SKILL.md', 'z/ref.md'], removed: ['a/SKILL.md', 'a/ref.md'], list: true },
  ],
  ['a new skill inside of one', { 'a/in/SKILL.md': skillText('in') }, { added: ['a/in/SKILL.md'], list: true }],
])('%s changes exactly that', async (_, edit, expected) => {
  const [before, after] = await catalogsOf([BEFORE, { ...BEFORE, ...edit }])

  const changes = diff(before!, after!)

  expect(plain(changes)).toEqual({ added: [], removed: [], changed: [], ...expected })
})

test('an edit of the rules that moves the files of an unchanged skill names where they went', async () => {
  const files = { 'o/SKILL.md': skillText('o'), 'o/x/SKILL.md': skillText('y'), 'o/x/ref.md': 'ref' }
  const before = catalogOf(await surveyed(files))
  const after = catalogOf(await surveyed(files, { names: 'exact' }))

  const changes = diff(before, after)

  expect(plain(changes)).toEqual({
    added: ['o/x/SKILL.md', 'o/x/ref.md'],
    removed: ['o/y/SKILL.md', 'o/y/ref.md'],
    changed: [],
    list: true,
  })
})

test('a skill that skills/list has no longer changes the list, though its size and its description are what they were', async () => {
  const saying = (value: string): string => `---\nname: a\ndescription: A\nmetadata: { v: ${value} }\n---\n`
  const [before, after, later] = await catalogsOf(['x', '1', '2'].map((value) => ({ 'a/SKILL.md': saying(value) })))

  expect(plain(diff(before!, after!))).toEqual({ added: [], removed: [], changed: ['a/SKILL.md'], list: true })
  expect(plain(diff(after!, later!))).toEqual({ added: [], removed: [], changed: ['a/SKILL.md'], list: false })
})

test('a skill that leaves the lists and stays readable changes the list alone', async () => {
  const before = catalogOf(await surveyed(BEFORE))
  const after = catalogOf(await surveyed(BEFORE, { unlisted: ['a'] }))

  expect(plain(diff(before, after))).toEqual({ added: [], removed: [], changed: [], list: true })
})

function plain({ list, added, removed, changed }: Changes): Record<string, unknown> {
  const named = Object.entries({ added, removed, changed }).map(([kind, uris]) => [
    kind,
    [...uris].map((uri) => uri.slice(13)).toSorted(),
  ])
  return { ...Object.fromEntries(named), list }
}

/** Each commit with the one before it, and the last with the first. */
function pairsOf(catalogs: readonly Catalog[]): (readonly [Catalog, Catalog])[] {
  return catalogs.map((catalog, index) => [catalogs.at(index - 1)!, catalog])
}

function contentsOf({ files }: Catalog): Record<string, string> {
  return Object.fromEntries(
    [...files.values()].map(({ uri, file }) => [uri, `${file.sha256} ${file.size} ${file.executable}`]),
  )
}

/** What a mirror has that follows the changes and reads again only what they name. */
function applied(before: Catalog, { added, removed, changed }: Changes, after: Catalog): Record<string, string> {
  const now = contentsOf(after)
  const mirror = new Map(Object.entries(contentsOf(before)))
  for (const uri of removed) mirror.delete(uri)
  for (const uri of [...added, ...changed]) mirror.set(uri, now[uri]!)
  return Object.fromEntries(mirror)
}

/** What `resources/list` says. */
function listIn(catalog: Catalog): unknown[] {
  return catalog.listed.map(({ uri }) => describeFile(catalog.files.get(uri)!))
}
