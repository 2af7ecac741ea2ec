import { expect, test } from 'vitest'
import { holdFor } from '../../../src/daemon/replicas/notification-hold.ts'

test('what comes while a round waits is notified in the next one, and all in their order', async () => {
  const rounds: PromiseWithResolvers<void>[] = []
  const isServedByAll = async (): Promise<void> => {
    const round = Promise.withResolvers<void>()
    rounds.push(round)
    await round.promise
  }
  const hold = holdFor({ isServedByAll })
  const notified: string[] = []
  const end = async (index: number): Promise<void> => {
    rounds[index]?.resolve()
    await turns()
  }

  hold(() => notified.push('one'))
  hold(() => notified.push('two'))
  await turns()
  expect([notified, rounds.length]).toEqual([[], 1])

  await end(0)
  // The first call began a round, and the second one came during it.
  expect([[...notified], rounds.length]).toEqual([['one'], 2])
  hold(() => notified.push('three'))
  await end(1)
  expect([[...notified], rounds.length]).toEqual([['one', 'two'], 3])
  await end(2)
  expect(notified).toEqual(['one', 'two', 'three'])

  hold(() => notified.push('four'))
  await end(3)
  expect(notified.at(-1)).toBe('four')
})

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}
