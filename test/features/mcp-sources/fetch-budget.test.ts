import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { FetchedBytes } from '../../../src/daemon/runtime/fetched-bytes.ts'
import { BudgetedReads } from '../../../src/features/mcp-sources/budgeted-reads.ts'
import { FetchBudget } from '../../../src/features/mcp-sources/fetch-budget.ts'
import type { McpSource } from '../../../src/sync/model/source.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sourceId } from '../../sync/store/samples.ts'

const HUB = sourceId('hub')

test('bytes are fetched while the store has room for them, and not one more', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await store.upstreams.keep(HUB, createHash('sha256').update('12345').digest('hex'), Buffer.from('12345'))
  const budget = new FetchBudget(new FakeClock(), store.upstreams, new FetchedBytes())
  const source = { id: HUB, budgets: { hourlyBytes: 1_000, storedBytes: 8 } } as McpSource

  await expect(budget.spend(source, 3)).resolves.toBeUndefined()
  await expect(budget.spend(source, 4)).rejects.toMatchObject({
    code: 'limit-exceeded',
    place: 'budgets.stored_bytes',
    message: expect.stringContaining('5 of budgets.stored_bytes (8) are used up'),
  })
})

test('bytes of the hour are counted up to its budget, and those that are refused are not', async () => {
  const files = { bytes: async () => 0 } as unknown as Store['upstreams']
  const budget = new FetchBudget(new FakeClock(), files, new FetchedBytes())
  const source = { id: HUB, budgets: { hourlyBytes: 8, storedBytes: 1_000 } } as McpSource

  await budget.spend(source, 5)
  await expect(budget.spend(source, 4)).rejects.toMatchObject({ place: 'budgets.hourly_bytes' })
  await budget.spend(source, 3)

  expect(budget.spent(HUB)).toBe(8)
})

test('a file that no budget has room for is not read, with the reason', async () => {
  const files = { bytes: async () => 6 } as unknown as Store['upstreams']
  const source = { id: HUB, budgets: { hourlyBytes: 1_000, storedBytes: 8 } } as McpSource
  const reads = new BudgetedReads(source, new FetchBudget(new FakeClock(), files, new FetchedBytes()))
  const spent = async (size: number): Promise<string | undefined> =>
    reads.spend({ uri: 'skill://pdf/a', said: '', sha256: undefined, size })

  expect(await spent(2)).toBeUndefined()
  expect(await spent(3)).toContain('6 of budgets.stored_bytes (8) are used up')
})
