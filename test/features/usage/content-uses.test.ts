import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { ContentUse } from '../../../src/daemon/runtime/content-use.ts'
import { PendingContents } from '../../../src/features/usage/content-uses.ts'
import { LocalUsage } from '../../../src/features/usage/local-usage.ts'
import { UsageDatabase, usagePathIn } from '../../../src/features/usage/usage-database.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const NOW = new Date('2026-06-15T10:00:00Z')

test('the uses of each content are added up, and outlive the process', async () => {
  await using folder = await temporaryFolder()
  const path = usagePathIn(folder.path)
  for (const failures of [0, 1]) {
    using database = UsageDatabase.open(path, NOW, () => {})
    database.contents.add([useOf('c1', 5, failures), useOf('c2', 1, 1)], '2026-06-15')
  }

  const wanted = ['c1', 'c2', 'c3'].map((content) => ({ skill: 'fx/pdf', content }))

  expect(await new LocalUsage(path).contentUses(wanted)).toEqual([useOf('c1', 10, 1), useOf('c2', 2, 2)])
})

test('a use that reads many files of a skill is one, so that no reads hide its failure', () => {
  const pending = new PendingContents()

  for (const kind of ['load', 'read', 'read', 'failure'] as const) pending.add({ kind, skill: 'fx/pdf', content: 'c1' })

  expect(pending.take()).toEqual([useOf('c1', 2, 1)])
})

test(
  'contents are bounded in memory and on the disk, and those that were used last stay',
  { timeout: 60_000 },
  async () => {
    await using folder = await temporaryFolder()
    const pending = new PendingContents()
    for (let at = 0; at < 12_000; at += 1) pending.add({ kind: 'failure', skill: `fx/${at}`, content: 'c1' })
    const path = usagePathIn(folder.path)
    using database = UsageDatabase.open(path, NOW, () => {})
    const many = (length: number, content: string): ContentUse[] =>
      Array.from({ length }, (_, at) => ({ ...useOf(content, 1, 0), skill: `fx/${at}` }))

    database.contents.add(many(45_000, 'old'), '2026-06-14')
    const full = countIn(path)
    database.contents.add([useOf('old', 1, 0)], '2026-06-15')
    database.contents.prune('2026-06-01')
    database.contents.add([useOf('new', 1, 0)], '2026-06-15')

    expect(pending.size).toBe(10_000)
    expect([full, countIn(path)]).toEqual([40_000, 20_001])
    expect(await new LocalUsage(path).contentUses([{ skill: 'fx/pdf', content: 'new' }])).toHaveLength(1)
  },
)

test('of too many contents those stay that were used last, and their failures with them', async () => {
  await using folder = await temporaryFolder()
  const path = usagePathIn(folder.path)
  using database = UsageDatabase.open(path, NOW, () => {})
  database.contents.add([{ ...useOf('c1', 2, 1), skill: 'fx/oldest' }], '2026-06-12')
  database.contents.add([{ ...useOf('c1', 4, 3), skill: 'fx/newest' }], '2026-06-14')
  const between = Array.from({ length: 19_999 }, (_, at) => ({ ...useOf('c1', 1, 0), skill: `fx/${at}` }))
  database.contents.add(between, '2026-06-13')

  database.contents.prune('2026-06-01')

  const wanted = ['fx/oldest', 'fx/newest'].map((skill) => ({ skill, content: 'c1' }))
  expect(await new LocalUsage(path).contentUses(wanted)).toEqual([{ ...useOf('c1', 4, 3), skill: 'fx/newest' }])
  expect(countIn(path)).toBe(20_000)
})

test('a database of another version is refused by name, and stays as it is', async () => {
  await using folder = await temporaryFolder()
  const path = usagePathIn(folder.path)
  UsageDatabase.open(path, NOW, () => {})[Symbol.dispose]()
  {
    using other = new DatabaseSync(path)
    other.exec('PRAGMA user_version = 1')
  }

  expect(() => UsageDatabase.open(path, NOW, () => {})).toThrow('its version is 1 and this program knows 2')
  await expect(new LocalUsage(path).contentUses([])).rejects.toThrow('run the version that wrote it, or move the file')
})

function useOf(content: string, uses: number, failures: number): ContentUse {
  return { skill: 'fx/pdf', content, uses, failures }
}

function countIn(path: string): number {
  using database = new DatabaseSync(path, { readOnly: true })
  return Number(database.prepare('SELECT count(*) AS size FROM content_use').get()?.['size'])
}
