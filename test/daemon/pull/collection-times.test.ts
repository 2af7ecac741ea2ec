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

test('in a burst of pulls, collections take a tenth of the time', async () => {
  const clock = new FakeClock()
  const times = new CollectionTimes(clock)
  store(times)
  const due = [times.isDue(false)]
  await times.run(async () => {
    store(times)
    due.push(times.isDue(false))
    await clock.advance(100)
  })
  await clock.advance(899)
  due.push(times.isDue(false))

  await clock.advance(1)

  expect([...due, times.isDue(false)]).toEqual([true, false, false, true])
})

function store(times: CollectionTimes): void {
  using use = times.begin()
  use.stored()
}
