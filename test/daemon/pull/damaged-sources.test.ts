import { expect, test } from 'vitest'
import { DamagedSources } from '../../../src/daemon/pull/damaged-sources.ts'
import { sourceId } from '../../sync/store/samples.ts'

test('a source that was marked after its pull was planned stays marked', () => {
  const damage = new DamagedSources()
  const team = sourceId('team')
  const unmarked = damage.markOf(team)
  const isNews = [damage.mark(team), damage.mark(team)]
  const planned = damage.markOf(team)
  damage.clear(team, unmarked)
  const afterUnplanned = damage.markOf(team)
  damage.markAnew(team)
  damage.clear(team, planned)
  const afterLate = damage.markOf(team)

  damage.clear(team, afterLate)

  expect(isNews).toEqual([true, false])
  expect(afterUnplanned).toBe(planned)
  expect(afterLate).toBeDefined()
  expect(damage.markOf(team)).toBeUndefined()
})
