import { expect, test } from 'vitest'
import type { Steps } from '../../../src/base/async/cooperative.ts'
import { IncrementalCache } from '../../../src/base/async/incremental.ts'

test('a thing is made once for all that ask meanwhile, and is there from then on', async () => {
  const making = new Making()
  const made = new IncrementalCache((from: object) => making.of(from))
  const from = {}

  const [one, other] = await Promise.all([made.ready(from), made.ready(from)])

  expect([one, made.of(from), await made.ready(from)]).toEqual([other, other, other])
  expect(making.begun).toBe(1)
})

test('a failure is told to those that waited, and the thing is made for the next', async () => {
  const making = new Making()
  const made = new IncrementalCache((from: object) => making.of(from))
  const from = {}
  making.fails = true

  const both = await Promise.allSettled([made.ready(from), made.ready(from)])
  making.fails = false

  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await made.ready(from)).toEqual({ from })
  expect(making.begun).toBe(2)
})

test('a failure before the first step is no other', async () => {
  let fails = true
  const made = new IncrementalCache((from: object): Steps<object> => {
    if (fails) throw new Error('it fails')
    return new Making().of(from)
  })
  const from = {}

  const failed = await Promise.allSettled([made.ready(from)])
  fails = false

  expect(failed.map(({ status }) => status)).toEqual(['rejected'])
  expect(await made.ready(from)).toEqual({ from })
})

class Making {
  begun = 0
  fails = false;

  *of(from: object): Steps<object> {
    this.begun += 1
    yield
    if (this.fails) throw new Error('it fails')
    return { from }
  }
}
