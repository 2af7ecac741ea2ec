import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import { catalogAfter } from '../../../src/sync/catalog/catalog-update.ts'
import { buildCatalog, EMPTY_CATALOG, type Catalog } from '../../../src/sync/catalog/catalog.ts'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../support/law-runs.ts'
import type { Edited } from '../survey/surveyed.ts'
import { catalogOf, catalogsOf, generationOf, holdsForCatalogs } from './catalogs.ts'

const MINUTE = 120_000

const FILES = {
  'a/SKILL.md': skillText('a'),
  'a/ref/one.md': 'one',
  'a/ref/deep/two.md': 'two',
  'b/SKILL.md': skillText('b'),
}

test(
  'whatever happens to a repository, the catalog after another is the one that is built of it',
  { timeout: 2 * MINUTE },
  async () => {
    await holdsForCatalogs(200, (catalogs) => {
      for (const { after, built } of oneAfterAnother(catalogs)) expect(seenIn(after)).toEqual(seenIn(built))
    })
  },
)

const namesOf = { 'a/SKILL.md': 'a', 'b/SKILL.md': 'b', 'x/c d/SKILL.md': 'c' }

/** What a commit does to skills that stand by themselves, each of which stays one. */
const commit = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom('a/SKILL.md', 'b/SKILL.md', 'x/c d/SKILL.md'), fc.nat(2)).map(([path, body]) => {
      return { path, content: skillText(namesOf[path], '', `${body}`) }
    }),
    fc.record({
      path: fc.constantFrom('a/ref/one.md', 'a/ref/deep/two.md', 'b/ü.md', 'x/c d/%20', 'x/c d/ref/one.md'),
      content: fc.constantFrom('one', 'two', null),
    }),
  ),
  { maxLength: 4 },
)

test(
  'whatever changes in skills that stand by themselves, those alone are entered anew in which something did',
  { timeout: 2 * MINUTE },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commit, { minLength: 1, maxLength: 4 }), async (history) => {
        const commits: Files[] = [{ ...FILES, 'x/c d/SKILL.md': skillText('c') }]
        for (const edits of history) commits.push(withEdits(commits.at(-1)!, edits))

        const [, ...steps] = oneAfterAnother(await catalogsOf(commits))

        for (const { before, after, built } of steps) {
          expect(seenIn(after)).toEqual(seenIn(built))
          expect(entriesKept(before, after)).toBe(digestsKept(before, after))
        }
      }),
      { numRuns: lawRuns(150, 1 / 5) },
    )
  },
)

test('a skill that changed is entered anew, with its folders, and all others stay the entries that they were', async () => {
  const { before, after, built } = await changing({ 'a/ref/deep/two.md': null, 'a/ref/three.md': 'three' })

  expect(seenIn(after)).toEqual(seenIn(built))
  expect(after.skills.get('skill://team/b/SKILL.md')).toBe(before.skills.get('skill://team/b/SKILL.md'))
  expect(after.folders.has('skill://team/a/ref/deep')).toBe(false)
  expect(after.files.has('skill://team/a/ref/three.md')).toBe(true)
})

test.each<readonly [string, Readonly<Record<string, string | null>>, Edited]>([
  ['comes', { 'c/SKILL.md': skillText('c') }, {}],
  ['goes', { 'b/SKILL.md': null }, {}],
  ['is named otherwise', { 'b/SKILL.md': skillText('other') }, {}],
  ['lies in another one', { 'a/in/SKILL.md': skillText('in') }, {}],
  ['has no valid frontmatter any more', { 'b/SKILL.md': 'nothing' }, {}],
  ['is in no list', { 'b/SKILL.md': skillText('b', '', 'more') }, { unlisted: ['b'] }],
])('where a skill %s, all is built', async (_, change, edit) => {
  const { before, after, built } = await changing(change, edit)

  expect(seenIn(after)).toEqual(seenIn(built))
  expect(entriesKept(before, after)).toBe(0)
})

test('where a skill changed that has another in it, all is built: they have files in common', async () => {
  const [before] = await catalogsOf([{ ...FILES, 'a/in/SKILL.md': skillText('in') }])
  const [snapshot] = before!.snapshots
  const [outer, ...others] = snapshot!.skills
  const next = [{ ...snapshot!, skills: [{ ...outer!, description: 'other' }, ...others] }]

  const after = runNow(catalogAfter(before!, generationOf(next), next))

  expect(seenIn(after)).toEqual(seenIn(catalogOf(...next)))
  expect(after.files.get('skill://team/a/in/SKILL.md')?.documents?.name).toBe('in')
})

test('where other skills are disabled, all is built', async () => {
  const [before] = await catalogsOf([FILES])
  const { snapshots } = before!
  const disabled = new Map([[snapshots[0]!.source, new Set(['b'])]])

  const after = runNow(catalogAfter(before!, generationOf(snapshots), snapshots, disabled))

  expect(seenIn(after)).toEqual(seenIn(buildCatalog(generationOf(snapshots), snapshots, disabled)))
  expect([...after.skills.keys()]).toEqual(['skill://team/a/SKILL.md'])
})

/** Each with the one before it, of which it is made, and as it is built. */
function oneAfterAnother(catalogs: readonly Catalog[]): { before: Catalog; after: Catalog; built: Catalog }[] {
  let before: Catalog = EMPTY_CATALOG
  return catalogs.map((built) => {
    const step = { before, after: runNow(catalogAfter(before, generationOf(built.snapshots), built.snapshots)), built }
    before = step.after
    return step
  })
}

/** `null` removes a file. */
function withEdits(files: Files, edits: readonly { readonly path: string; readonly content: string | null }[]): Files {
  const next = new Map(Object.entries(files))
  for (const { path, content } of edits) {
    if (content === null) next.delete(path)
    else next.set(path, content)
  }
  return Object.fromEntries(next)
}

async function changing(change: Readonly<Record<string, string | null>>, edit: Edited = {}) {
  const files = withEdits(
    FILES,
    Object.entries(change).map(([path, content]) => ({ path, content })),
  )
  const [before, built] = await catalogsOf([FILES, files], edit)
  const { snapshots } = built!
  return {
    before: before!,
    built: catalogOf(...snapshots),
    after: runNow(catalogAfter(before!, generationOf(snapshots), snapshots)),
  }
}

/** With what is found in it: where that is looked for is no property that is compared. */
function seenIn(catalog: Catalog) {
  const uris = [...catalog.files.values()].map(({ uri }) => uri)
  const folders = [...catalog.folders.keys()].map((uri) => [uri, catalog.folders.get(uri)])
  return { ...catalog, files: uris.toSorted(), folders: Object.fromEntries(folders) }
}

function entriesKept(before: Catalog, after: Catalog): number {
  return [...after.skills].filter(([uri, skill]) => before.skills.get(uri) === skill).length
}

function digestsKept(before: Catalog, after: Catalog): number {
  return [...after.skills].filter(([uri, skill]) => before.skills.get(uri)?.digest === skill.digest).length
}
