import { expect, test } from 'vitest'
import { callAfter, resultWithin } from '../../../src/base/async/wait-at-most.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('the result of work that ends in time is returned, and the clock is left', async () => {
  const clock = new FakeClock()
  const work = Promise.withResolvers<string>()
  const result = resultWithin(1_000, work.promise, clock)
  await clock.advance(999)

  work.resolve('done')

  expect(await result).toBe('done')
  await clock.advance(0)
  expect(clock.waiting).toBe(0)
})

test('work that takes longer has no result', async () => {
  const clock = new FakeClock()
  const result = resultWithin(1_000, Promise.withResolvers<string>().promise, clock)

  await clock.advance(1_000)

  expect(await result).toBeUndefined()
})

test('work that fails in time fails', async () => {
  const result = resultWithin(1_000, Promise.reject(new Error('no')), new FakeClock())

  await expect(result).rejects.toThrow('no')
})

test('a caller that leaves waits no longer, and gets its reason', async () => {
  const clock = new FakeClock()
  const stop = new AbortController()
  const result = resultWithin(1_000, Promise.withResolvers<string>().promise, clock, stop.signal)

  stop.abort(new Error('left'))

  await expect(result).rejects.toThrow('left')
  await clock.advance(0)
  expect(clock.waiting).toBe(0)
})

test('a call comes once, after its time', async () => {
  const clock = new FakeClock()
  const calls: number[] = []
  using _call = callAfter(1_000, () => calls.push(clock.monotonicMs()), clock)

  await clock.advance(5_000)

  expect(calls).toEqual([1_000])
})

test('a call that is disposed before its time never comes', async () => {
  const clock = new FakeClock()
  const calls: number[] = []
  const call = callAfter(1_000, () => calls.push(clock.monotonicMs()), clock)
  await clock.advance(999)

  call[Symbol.dispose]()
  await clock.advance(5_000)

  expect([calls, clock.waiting]).toEqual([[], 0])
})
