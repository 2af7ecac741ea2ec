import { expect, test } from 'vitest'
import { SerialQueue, SharedWork } from '../../../src/base/async/serial-queue.ts'

test('one piece of work runs at a time, in the order of the calls, and a failure is of its own caller alone', async () => {
  const queue = new SerialQueue()
  const events: string[] = []
  const first = Promise.withResolvers<void>()
  const run = async (name: string, work: Promise<void>): Promise<string> =>
    queue.next(async () => {
      events.push(`${name} begins`)
      await work
      events.push(`${name} ends`)
      return name
    })

  const results = Promise.allSettled([
    run('a', first.promise),
    run('b', Promise.reject(new Error('no'))),
    run('c', Promise.resolve()),
  ])
  first.resolve()

  expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(events).toEqual(['a begins', 'a ends', 'b begins', 'c begins', 'c ends'])
})

test('work whose signal is aborted before its turn is not begun', async () => {
  const queue = new SerialQueue()
  const first = Promise.withResolvers<void>()
  const controller = new AbortController()
  const begun: string[] = []
  const one = queue.next(async () => first.promise)
  const other = queue.next(async () => void begun.push('other'), controller.signal)

  controller.abort(new Error('gone'))
  first.resolve()

  await one
  await expect(other).rejects.toThrow('gone')
  expect(begun).toEqual([])
})

test('idle waits for all that was queued before it', async () => {
  const queue = new SerialQueue()
  const first = Promise.withResolvers<void>()
  const ended: string[] = []
  const work = queue.next(async () => {
    await first.promise
    ended.push('work')
  })
  const idle = queue.idle().then(() => ended.push('idle'))

  first.resolve()
  await Promise.all([work, idle])

  expect(ended).toEqual(['work', 'idle'])
})

test('calls share the work whose turn has not come, its failure too, and later calls have the next', async () => {
  const ends = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  let begun = 0
  const shared = new SharedWork(async () => ends[begun++]!.promise)

  const first = shared.run()
  await Promise.resolve()
  await Promise.resolve()
  const others = Array.from({ length: 50 }, async () => shared.run())
  ends[0]!.resolve('first')
  expect(await first).toBe('first')
  ends[1]!.reject(new RangeError('no'))
  expect((await Promise.allSettled(others)).every(({ status }) => status === 'rejected')).toBe(true)
  expect(begun).toBe(2)

  ends[2]!.resolve('last')
  expect(await shared.run()).toBe('last')
})
