import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BatchResults } from '../../../src/sync/survey/batch-results.ts'
import { never } from '../store/samples.ts'

test('a reader waits until what it needs has arrived', async () => {
  const arrivals = new BatchResults()
  const arrived = new Set<string>()
  const read: string[] = []
  const reading = arrivals.until(() => arrived.has('b'), never()).then(() => read.push('b'))
  arrived.add('a')
  arrivals.notify()
  await setImmediate()
  const before = [...read]

  arrived.add('b')
  arrivals.notify()
  await reading

  expect([before, read]).toEqual([[], ['b']])
})

test('a reader waits no longer when nothing more arrives', async () => {
  const arrivals = new BatchResults()
  const reading = arrivals.until(() => false, never())

  arrivals.end()

  await expect(reading).resolves.toBeUndefined()
  await expect(arrivals.until(() => false, never())).resolves.toBeUndefined()
})

test('a reader that is aborted waits no longer', async () => {
  const abort = new AbortController()
  const reading = new BatchResults().until(() => false, abort.signal)

  abort.abort(new Error('enough'))

  await expect(reading).rejects.toThrow('enough')
  await expect(new BatchResults().until(() => false, abort.signal)).rejects.toThrow('enough')
})
