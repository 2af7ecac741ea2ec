import { expect, test } from 'vitest'
import { FreeIds, sourceEntries } from '../../../src/daemon/cli/free-ids.ts'
import type { MarketplaceRow } from '../../../src/daemon/status/marketplace-rows.ts'

const SHA = '3f2c9d1e5b7a4c6d8e0f1a2b3c4d5e6f7a8b9c0d'
const URL = 'https://git.example.com/a.git'

test('a source that a marketplace suggests stays at its commit, and follows a ref only without one', () => {
  const suggested = [
    { name: 'both', url: URL, ref: 'v1', sha: SHA },
    { name: 'commit', url: URL, sha: SHA },
    { name: 'ref', url: URL, ref: 'v1', path: 'skills' },
    { name: 'neither', url: URL },
  ]

  expect(sourceEntries({ source: 'team', suggested } as unknown as MarketplaceRow, [])).toEqual([
    { id: 'team-both', url: URL, ref: SHA },
    { id: 'team-commit', url: URL, ref: SHA },
    { id: 'team-ref', url: URL, ref: 'v1', root: 'skills' },
    { id: 'team-neither', url: URL },
  ])
})

test('no id is given twice, and none that is taken', () => {
  const ids = new FreeIds('team', ['team-pdf', 'team-pdf-3'])

  const given = ['pdf', 'PDF', 'p.d.f', 'p d f', 'p_d_f'].map((name) => ids.idFor(name))

  expect(given).toEqual(['team-pdf-2', 'team-pdf-4', 'team-p-d-f', 'team-p-d-f-2', 'team-p-d-f-3'])
})

test('ids that are cut to the same beginning differ, and have 64 characters at most', () => {
  const ids = new FreeIds('team', [])

  const given = Array.from({ length: 12 }, (_, at) => ids.idFor(`${'long-'.repeat(20)}${at}`))

  expect(new Set(given).size).toBe(12)
  expect(given.filter((id) => id.length > 64)).toEqual([])
})
