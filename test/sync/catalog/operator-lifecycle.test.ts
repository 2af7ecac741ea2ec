import { expect, test } from 'vitest'
import { buildCatalog } from '../../../src/sync/catalog/catalog.ts'
import { diff, isEmpty } from '../../../src/sync/catalog/changes.ts'
import { withLifecycles } from '../../../src/sync/catalog/operator-lifecycle.ts'
import type { LifecycleRules } from '../../../src/sync/catalog/operator-lifecycle.ts'
import type { LifecycleRule } from '../../../src/sync/model/source.ts'
import { lifecycleOf } from '../../../src/sync/skill/lifecycle.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { sourceId } from '../store/samples.ts'
import { skillAt, surveyed } from '../survey/surveyed.ts'

const DECLARED = 'metadata:\n  deprecated: "old"\n  owner: authors\n  depends_on: git\n'
const FILES = { 'a/SKILL.md': skillText('a', DECLARED), 'b/c/SKILL.md': skillText('c') }
const rules = (...all: LifecycleRule[]): LifecycleRules => new Map([[sourceId('team'), all]])

test('each field of the operator replaces that of the author, and the last entry with a field counts', async () => {
  const snapshot = await surveyed(FILES)
  const said = rules(
    { include: ['**'], edit: { owner: 'all', dependsOn: [] } },
    { include: ['a'], edit: { deprecated: false, replacedBy: 'c', owner: 'ours' } },
  )

  const decorated = withLifecycles(snapshot, said)

  expect(lifecycleOf(skillAt(decorated, 'a'))).toEqual({ replacedBy: 'c', owner: 'ours', dependsOn: [] })
  expect(lifecycleOf(skillAt(decorated, 'b/c'))).toEqual({ owner: 'all', dependsOn: [] })
  expect(lifecycleOf(skillAt(snapshot, 'a'))).toEqual({ deprecated: 'old', owner: 'authors', dependsOn: ['git'] })
})

test('equal rules give the same objects, and a skill that none is about stays the same', async () => {
  const snapshot = await surveyed(FILES)
  const said = rules({ include: ['a'], edit: { owner: 'ours' } })

  const [one, other] = [withLifecycles(snapshot, said), withLifecycles(snapshot, said)]

  expect(one).toBe(other)
  expect(skillAt(one, 'b/c')).toBe(skillAt(snapshot, 'b/c'))
  expect(withLifecycles(snapshot, new Map())).toBe(snapshot)
})

test('other statements are another catalog, whose lists changed and no file', async () => {
  const snapshot = await surveyed(FILES)
  const generation = { number: 1, createdAt: '', sources: [{ source: sourceId('team'), snapshot: 'digest' }] }
  const catalogWith = (owner: string) =>
    buildCatalog(generation, [withLifecycles(snapshot, rules({ include: ['a'], edit: { owner } }))])

  const [plain, ours, theirs] = [buildCatalog(generation, [snapshot]), catalogWith('ours'), catalogWith('theirs')]

  expect(new Set([plain, ours, theirs].map(({ digest }) => digest)).size).toBe(3)
  for (const [before, after] of [
    [plain, ours],
    [ours, theirs],
    [theirs, plain],
  ] as const) {
    const { list, changed } = diff(before, after)
    expect([list, changed.size]).toEqual([true, 0])
  }
  expect(isEmpty(diff(ours, catalogWith('ours')))).toBe(true)
})
