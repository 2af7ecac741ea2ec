import { expect, test } from 'vitest'
import { catalogAfter } from '../../../src/sync/model/catalog-after.ts'
import { buildCatalog, EMPTY_CATALOG, type Catalog } from '../../../src/sync/model/catalog.ts'
import { skillText, type Files } from '../../support/scripted-upstream.ts'
import { catalogOf, catalogsOf, generationOf, holdsForCatalogs } from '../catalogs.ts'
import type { Edited } from '../surveyed.ts'

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
    let replaced = 0

    await holdsForCatalogs(200, (catalogs) => {
      let before: Catalog = EMPTY_CATALOG
      for (const { snapshots, ...built } of catalogs) {
        const after = catalogAfter(before, generationOf(snapshots), snapshots)
        expect(after).toEqual({ snapshots, ...built })
        const kept = entriesKept(before, after)
        if (kept > 0 && kept < after.skills.size) replaced += 1
        before = after
      }
    })

    expect(replaced).toBeGreaterThan(0)
  },
)

test('a skill that changed is entered anew, with its folders, and all others stay the entries that they were', async () => {
  const { before, after, built } = await changing({ 'a/ref/deep/two.md': null, 'a/ref/three.md': 'three' })

  expect(after).toEqual(built)
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

  expect(after).toEqual(built)
  expect(entriesKept(before, after)).toBe(0)
})

test('where a skill changed that has another in it, all is built: they have files in common', async () => {
  const [before] = await catalogsOf([{ ...FILES, 'a/in/SKILL.md': skillText('in') }])
  const [snapshot] = before!.snapshots
  const [outer, ...others] = snapshot!.skills
  const next = [{ ...snapshot!, skills: [{ ...outer!, description: 'other' }, ...others] }]

  const after = catalogAfter(before!, generationOf(next), next)

  expect(after).toEqual(catalogOf(...next))
  expect(after.files.get('skill://team/a/in/SKILL.md')?.documents?.name).toBe('in')
})

test('where other skills are disabled, all is built', async () => {
  const [before] = await catalogsOf([FILES])
  const { snapshots } = before!
  const disabled = new Map([[snapshots[0]!.source, new Set(['b'])]])

  const after = catalogAfter(before!, generationOf(snapshots), snapshots, disabled)

  expect(after).toEqual(buildCatalog(generationOf(snapshots), snapshots, disabled))
  expect([...after.skills.keys()]).toEqual(['skill://team/a/SKILL.md'])
})

async function changing(change: Readonly<Record<string, string | null>>, edit: Edited = {}) {
  const next = Object.entries({ ...FILES, ...change }).filter(([, content]) => content !== null)
  const files: Files = Object.fromEntries(next.map(([path, content]) => [path, content ?? '']))
  const [before, built] = await catalogsOf([FILES, files], edit)
  const { snapshots } = built!
  return {
    before: before!,
    built: catalogOf(...snapshots),
    after: catalogAfter(before!, generationOf(snapshots), snapshots),
  }
}

function entriesKept(before: Catalog, after: Catalog): number {
  return [...after.skills].filter(([uri, skill]) => before.skills.get(uri) === skill).length
}
