import { describe, expect, test } from 'vitest'
import { FAKETIME } from '../wall-clock.ts'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

describe.skipIf(obstacle !== undefined)(`a process of a hub${obstacle === undefined ? '' : ` (${obstacle})`}`, () => {
  test('comes back after more generations than are kept', async () => {
    await using hub = await ReplicatedHub.start({ rest: ['retention: { generations: 2, younger_than: 1s }'] })
    const leader = await hub.leader()
    const other = hub.processes.find((each) => each !== leader)!

    await other.program.stop()
    const { served } = other
    await hub.generations(10)
    await expect.poll(async () => (await hub.record.takeDatabase(hub.database)).at(0)).toBeGreaterThan(served)
    await other.start()

    await hub.expectWell()
  })

  test.skipIf(FAKETIME === undefined).each(['the leader', 'another'] as const)(
    'has a clock that is set back by an hour (%s)',
    async (which) => {
      await using hub = await ReplicatedHub.start({ hasClocks: true })
      const leader = await hub.leader()
      const chosen = which === 'the leader' ? leader : hub.processes.find((each) => each !== leader)!

      await chosen.clock?.jump(-1)
      await hub.generations(3)

      expect(hub.processes.filter(({ leads }) => leads)).toEqual([leader])
      await hub.expectWell()
    },
  )
})
