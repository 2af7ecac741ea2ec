import { expect, test } from 'vitest'
import { CollectionTimes } from '../../../src/daemon/pull/collection-times.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('a collection is due after something was stored, and no more when it has run', async () => {
  const times = new CollectionTimes(new FakeClock())
  const before = times.isDue(true)
  store(times)
  const after = times.isDue(true)

  await times.run(async () => {})

  expect([before, after, times.isDue(true)]).toEqual([false, true, false])
})

test('a use of the store that goes on during a collection makes another one due, if it stored something', async () => {
  const times = new CollectionTimes(new FakeClock())
  const due: boolean[] = []
  for (const hasStored of [false, true]) {
    using use = times.begin()
    if (hasStored) use.stored()
    await times.run(async () => {})
    due.push(times.isDue(true))
    use[Symbol.dispose]()
    due.push(times.isDue(true))
  }

  expect(due).toEqual([false, false, false, true])
})

test('a collection that failed is due again', async () => {
  const times = new CollectionTimes(new FakeClock())
  store(times)
  const failure = new Error('the disk failed')

  await expect(times.run(async () => Promise.reject(failure))).rejects.toBe(failure)

  expect(times.isDue(true)).toBe(true)
})

function store(times: CollectionTimes): void {
  using use = times.begin()
  use.stored()
}
