import { expect, test } from 'vitest'
import { runNow } from '../../../../../src/base/async/cooperative.ts'
import { SkillFiles } from '../../../../../src/serve/mcp/resources/files/skill-files.ts'
import { EMPTY_CATALOG } from '../../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../../src/sync/catalog/catalog.ts'
import type { Changes } from '../../../../../src/sync/catalog/changes.ts'
import { NO_CHANGES, diff, isEmpty } from '../../../../../src/sync/catalog/changes.ts'
import { skillText } from '../../../../support/git/scripted-upstream.ts'
import { catalogsOf, holdsForCatalogs } from '../../../../sync/catalog/catalogs.ts'

test('no change is no event', () => {
  expect(eventsOf(NO_CHANGES)).toEqual({ updated: new Set(), listChanged: false })
})

test('a file that came, went or changed is told with every folder above it, each once', () => {
  const changes = {
    added: new Set(['skill://s/a/x/1.md']),
    removed: new Set(['skill://s/a/x/2.md']),
    changed: new Set(['skill://s/a/SKILL.md']),
    list: true,
    contract: false,
    offered: false,
  }

  const { updated, listChanged } = eventsOf(changes)

  expect([...updated].toSorted()).toEqual(
    ['', '/a', '/a/SKILL.md', '/a/x', '/a/x/1.md', '/a/x/2.md'].map((path) => `skill://s${path}`),
  )
  expect(listChanged).toBe(true)
})

test('a file in the place of a folder, and a folder in the place of a file, are told with all above', async () => {
  const skill = { 'g/a/SKILL.md': skillText('a') }
  const [before, after] = await catalogsOf([
    { ...skill, 'g/a/one/x': '1', 'g/a/two': '2' },
    { ...skill, 'g/a/one': '1', 'g/a/two/x': '2' },
  ])

  const { updated } = eventsOf(diff(before!, after!))

  expect([...updated].toSorted()).toEqual(
    ['', '/g', '/g/a', '/g/a/one', '/g/a/one/x', '/g/a/two', '/g/a/two/x'].map((path) => `skill://team${path}`),
  )
})

test('of a skill in a skill, both hear of it', async () => {
  const files = { 'o/SKILL.md': skillText('o'), 'o/i/SKILL.md': skillText('i'), 'o/i/ref.md': '1' }
  const [before, after] = await catalogsOf([files, { ...files, 'o/i/ref.md': '2' }])

  const { updated, listChanged } = eventsOf(diff(before!, after!))

  expect(updated).toEqual(new Set(['skill://team', 'skill://team/o', 'skill://team/o/i', 'skill://team/o/i/ref.md']))
  expect(listChanged).toBe(false)
})

test('a folder is told exactly where something below it came, went or changed, whatever the repository', async () => {
  await holdsForCatalogs(150, (catalogs) => {
    for (const [index, after] of catalogs.entries()) {
      const before = catalogs.at(index - 1)!
      const changes = diff(before, after)
      const { updated } = eventsOf(changes)
      const moved = [...changes.added, ...changes.removed, ...changes.changed]
      for (const folder of new Set([...before.folders.keys(), ...after.folders.keys()])) {
        expect(updated.has(folder)).toBe(contentsBelow(before, folder) !== contentsBelow(after, folder))
      }
      for (const uri of moved) expect(updated.has(uri)).toBe(true)
      expect(updated.size > 0).toBe(moved.length > 0)
      const isMoved = updated.size > 0 || changes.list
      expect([isMoved, changes.contract, changes.offered].filter(Boolean).length).toBeLessThan(2)
      expect(isEmpty(changes)).toBe(!isMoved && !changes.contract && !changes.offered)
    }
  })
})

function eventsOf(changes: Changes): { readonly updated: ReadonlySet<string>; readonly listChanged: boolean } {
  const files = new SkillFiles({ list: 'skills', spaces: [] })
  const step = { before: EMPTY_CATALOG, after: EMPTY_CATALOG, changes }
  const updated = [...runNow(files.changes(step))]
  expect(new Set(updated).size).toBe(updated.length)
  return { updated: new Set(updated), listChanged: runNow(files.isListChanged(step)) }
}

/** All that lies below a folder: of served files, those that no folder shows included. */
function contentsBelow({ files }: Catalog, folder: string): string {
  const below = [...files.values()].filter(({ uri }) => uri.startsWith(`${folder}/`))
  return below
    .map(({ uri, file }) => `${uri} ${file.sha256} ${file.executable}`)
    .toSorted()
    .join()
}
