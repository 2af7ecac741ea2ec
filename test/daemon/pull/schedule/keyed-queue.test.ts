import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyedQueue, type KeyedQueueLimits, type Run } from '../../../../src/daemon/pull/schedule/keyed-queue.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const PLACES = { concurrency: 4, perHost: 2 }
const ONE = { concurrency: 1, perHost: 1 }
const LIMITS: KeyedQueueLimits = { looking: PLACES, fetching: PLACES, timeoutMs: 60_000, graceMs: 60_000 }

test('a request for an idle key runs at once and gets its result', async () => {
  await using lanes = new KeyedQueue<string>(LIMITS, new FakeClock())

  const result = await lanes.request('team', 'a', async () => 'done')

  expect(result).toBe('done')
})

test('a second request waits for the running one, and a third joins the second', async () => {
  await using lanes = new KeyedQueue<string>(LIMITS, new FakeClock())
  const [first, second, third] = [new Pull('first'), new Pull('second'), new Pull('third')]

  const one = lanes.request('team', 'a', first.run)
  await first.begun
  const two = lanes.request('team', 'a', second.run)
  const three = lanes.request('team', 'a', third.run)
  first.end()
  await one
  await second.begun
  second.end()

  expect(await Promise.all([one, two, three])).toEqual(['first', 'second', 'second'])
  expect(three).toBe(two)
  expect(third.signal).toBeUndefined()
})

test('what comes while the second one runs is a new one: it is about a later commit', async () => {
  await using lanes = new KeyedQueue<string>(LIMITS, new FakeClock())
  const [first, second] = [new Pull('first'), new Pull('second')]
  const one = lanes.request('team', 'a', first.run)
  await first.begun
  const two = lanes.request('team', 'a', second.run)
  first.end()
  await one
  await second.begun

  const three = lanes.request('team', 'a', async () => 'third')
  second.end()

  expect(await two).toBe('second')
  expect(await three).toBe('third')
})

test('a run that fails makes way for the one that waits', async () => {
  await using lanes = new KeyedQueue<string>(LIMITS, new FakeClock())
  const pull = new Pull('team')
  const failed = lanes.request('team', 'a', async (signal) => {
    await pull.run(signal)
    throw new SyncError('dns-failed', 'Cannot reach "team": no such host')
  })
  await pull.begun
  const next = lanes.request('team', 'a', async () => 'well')

  pull.end()

  await expect(failed).rejects.toMatchObject({ code: 'dns-failed' })
  expect(await next).toBe('well')
})

test('the limits hold whatever is requested, each request is answered, and no key runs twice at once', async () => {
  const request = fc.record({ key: fc.integer({ min: 0, max: 8 }), turns: fc.integer({ min: 0, max: 6 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 60 }), async (requests) => {
      await using lanes = new KeyedQueue<void>(LIMITS, new FakeClock())
      const seen = new Census()

      const results = requests.map(({ key, turns }) => {
        const host = `host-${key % 3}`
        return lanes.request(`${key}`, host, () => seen.during(`${key}`, host, turns))
      })
      await Promise.all(results)

      expect(seen.mostInAll).toBeLessThanOrEqual(PLACES.concurrency)
      expect(seen.mostOfOneHost).toBeLessThanOrEqual(PLACES.perHost)
      expect(seen.mostOfOneKey).toBeLessThanOrEqual(1)
    }),
  )
})

test('sources that hang keep no other host from its schedule', async () => {
  await using lanes = new KeyedQueue<string>({ ...LIMITS, graceMs: 0 }, new FakeClock())
  const hung = ['x', 'y', 'z'].map((key) => [key, new Pull(key)] as const)
  const stuck = hung.map(([key, pull]) => lanes.request(key, 'slow.example', pull.run).catch(() => 'stopped'))
  await Promise.all([hung[0]![1].begun, hung[1]![1].begun])

  const delays = await Promise.all(
    Array.from({ length: 98 }, async (_, index) => {
      const askedAt = performance.now()
      return lanes.request(`source-${index}`, `host-${index % 10}`, async () => `${performance.now() - askedAt}`)
    }),
  )

  const sorted = delays.map(Number).sort((a, b) => a - b)
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(1_000)
  expect(hung[2]![1].signal).toBeUndefined()
  await lanes[Symbol.asyncDispose]()
  expect(await Promise.all(stuck)).toEqual(['stopped', 'stopped', 'stopped'])
})

test('a run that ignores its signal loses its place when its time is over', async () => {
  const clock = new FakeClock()
  await using lanes = new KeyedQueue<string>({ ...LIMITS, looking: ONE, graceMs: 0 }, clock)
  const deaf = new Pull('deaf')

  const failed = lanes.request('deaf', 'a', deaf.run).catch((error: unknown) => error)
  const other = lanes.request('other', 'a', async () => 'done')
  await clock.advance(60_000)

  const error = await failed
  expect(error).toBeInstanceOf(SyncError)
  expect(error).toMatchObject({
    code: 'source-unreachable',
    message: 'Cannot pull "deaf": it was not done after 60 s',
  })
  expect(deaf.signal?.aborted).toBe(true)
  expect(await other).toBe('done')
})

test('runs that fetch and do not end keep others neither from looking nor, on another host, from fetching', async () => {
  await using lanes = new KeyedQueue<string>({ ...LIMITS, looking: ONE, fetching: PLACES, graceMs: 0 }, new FakeClock())
  const drips = ['x', 'y', 'z'].map((key) => [key, new Pull(key)] as const)
  const stuck = drips.map(([key, pull]) => {
    const run: Run<string> = async (signal, slot) => {
      await slot.fetch()
      return pull.run(signal)
    }
    return lanes.request(key, 'slow', run).catch(() => 'stopped')
  })
  await Promise.all([drips[0]![1].begun, drips[1]![1].begun])

  const looked = await lanes.request('unchanged', 'slow', async () => 'looked')
  const fetched = await lanes.request('team', 'other', async (_, slot) => {
    await slot.fetch()
    return 'fetched'
  })

  expect([looked, fetched]).toEqual(['looked', 'fetched'])
  expect(drips[2]![1].signal).toBeUndefined()
  await lanes[Symbol.asyncDispose]()
  expect(await Promise.all(stuck)).toEqual(['stopped', 'stopped', 'stopped'])
})

test('hosts that hang leave their places to others after a while, and begin among the slow ones until one is quick', async () => {
  const clock = new FakeClock()
  const fetching = { ...PLACES, slow: { concurrency: 4, afterMs: 2_000 } }
  await using lanes = new KeyedQueue<string>({ ...LIMITS, fetching, graceMs: 0 }, clock)
  const fetch = (pull: Pull): Run<string> => {
    return async (signal, slot) => {
      await slot.fetch()
      return pull.run(signal)
    }
  }
  const hung = ['a', 'a', 'b', 'b'].map((host, index) => ({ host, key: `hung-${index}`, pull: new Pull('hung') }))
  const stuck = hung.map(({ key, host, pull }) => lanes.request(key, host, fetch(pull)).catch(() => 'stopped'))
  await Promise.all(hung.map(({ pull }) => pull.begun))
  const good = new Pull('good')

  const first = lanes.request('good', 'c', fetch(good))
  expect(good.signal).toBeUndefined()
  await clock.advance(2_000)
  await good.begun
  good.end()
  expect(await first).toBe('good')

  hung[0]!.pull.end()
  await stuck[0]
  const again = new Pull('again')
  const slow = lanes.request('again', 'a', fetch(again))
  await again.begun
  const fresh = ['d', 'e', 'f', 'g'].map((host) => ({ host, pull: new Pull(host) }))
  const quick = fresh.map(({ host, pull }) => lanes.request(host, host, fetch(pull)))
  // All four ordinary places are free: what began at a slow host has none of them.
  await Promise.all(fresh.map(({ pull }) => pull.begun))
  for (const { pull } of fresh) pull.end()
  await Promise.all(quick)
  again.end()
  expect(await slow).toBe('again')

  await lanes[Symbol.asyncDispose]()
  expect(await Promise.all(stuck)).toEqual(['hung', 'stopped', 'stopped', 'stopped'])
  expect(clock.waiting).toBe(0)
})

test('to wait for a place to fetch takes nothing off the time of a run', async () => {
  const clock = new FakeClock()
  await using lanes = new KeyedQueue<string>({ ...LIMITS, fetching: ONE, graceMs: 0 }, clock)
  const [slow, patient] = [new Pull('slow'), new Pull('patient')]
  const fetch = (pull: Pull): Run<string> => {
    return async (signal, slot) => {
      await slot.fetch()
      return pull.run(signal)
    }
  }
  const first = lanes.request('slow', 'a', fetch(slow)).catch((error: unknown) => error)
  await slow.begun
  const second = lanes.request('patient', 'b', fetch(patient))
  await clock.advance(59_000)
  expect(patient.signal).toBeUndefined()
  await clock.advance(1_000)
  await patient.begun

  await clock.advance(59_000)
  patient.end()

  expect(await first).toMatchObject({ code: 'source-unreachable' })
  expect(await second).toBe('patient')
  expect(clock.waiting).toBe(0)
})

test('a run that was stopped gets no place to fetch any more, and leaves none taken', async () => {
  await using lanes = new KeyedQueue<string>({ ...LIMITS, fetching: ONE, graceMs: 0 }, new FakeClock())
  const late = Promise.withResolvers<unknown>()
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const deaf = lanes.request('deaf', 'a', async (_, slot) => {
    begun.resolve()
    await go.promise
    await slot.fetch().then(late.resolve, late.resolve)
    return 'never'
  })
  const ended = deaf.catch(() => 'stopped')
  await begun.promise
  await lanes.stop('deaf')

  go.resolve()

  expect(await late.promise).toMatchObject({ name: 'AbortError' })
  expect(await ended).toBe('stopped')
  const next = lanes.request('next', 'a', async (_, slot) => slot.fetch().then(() => 'fetched'))
  expect(await next).toBe('fetched')
})

test('a run that released its slot keeps no other from it, and must still end in its time', async () => {
  const clock = new FakeClock()
  await using lanes = new KeyedQueue<string>({ ...LIMITS, looking: ONE, graceMs: 0 }, clock)
  const publishing = new Pull('publishing')
  const first = lanes.request('first', 'a', (signal, slot) => {
    slot.release()
    return publishing.run(signal)
  })
  const failed = first.catch((error: unknown) => error)
  await publishing.begun

  expect(await lanes.request('second', 'a', async () => 'looked')).toBe('looked')
  await clock.advance(60_000)

  expect(await failed).toMatchObject({ code: 'source-unreachable' })
  expect(await lanes.request('third', 'a', async () => 'looked')).toBe('looked')
  expect(clock.waiting).toBe(0)
})

test('after a run that ignored its signal the same key runs again', async () => {
  const clock = new FakeClock()
  await using lanes = new KeyedQueue<string>({ ...LIMITS, graceMs: 0 }, clock)
  const deaf = new Pull('deaf')
  const failed = lanes.request('team', 'a', deaf.run)
  await deaf.begun

  const next = lanes.request('team', 'a', async () => 'again')
  const ends = Promise.allSettled([failed, next])
  await clock.advance(60_000)

  const [first, second] = await ends
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'source-unreachable' } })
  expect(second).toEqual({ status: 'fulfilled', value: 'again' })
  expect(clock.waiting).toBe(0)
})

test('all who wait for a run that loses its place are told by the same error', async () => {
  const clock = new FakeClock()
  await using lanes = new KeyedQueue<string>({ ...LIMITS, graceMs: 0 }, clock)
  const [first, deaf] = [new Pull('first'), new Pull('deaf')]
  const one = lanes.request('team', 'a', first.run)
  await first.begun
  const joined = [1, 2].map(async () => lanes.request('team', 'a', deaf.run).catch((error: unknown) => error))
  first.end()
  await one
  await deaf.begun

  await clock.advance(60_000)

  const [two, three] = await Promise.all(joined)
  expect(two).toBeInstanceOf(SyncError)
  expect(three).toBe(two)
})

test('stopping a key aborts its run, drops the one that waits, and leaves other keys alone', async () => {
  await using lanes = new KeyedQueue<string>(LIMITS, new FakeClock())
  const [pull, other] = [new Pull('team'), new Pull('other')]
  const running = lanes.request('team', 'a', pull.runUntilAborted)
  const beside = lanes.request('other', 'a', other.run)
  await Promise.all([pull.begun, other.begun])
  const waiting = lanes.request('team', 'a', async () => 'never')
  const ends = Promise.allSettled([running, waiting])

  await lanes.stop('team')

  expect(pull.ended).toBe(true)
  expect((await ends).map((end) => end.status === 'rejected' && end.reason.name)).toEqual(['AbortError', 'AbortError'])
  other.end()
  expect(await beside).toBe('other')
})

test('a key that was stopped can be requested again, at once', async () => {
  await using lanes = new KeyedQueue<string>({ ...LIMITS, graceMs: 0 }, new FakeClock())
  const pull = new Pull('team')
  const running = lanes.request('team', 'a', pull.run).catch(() => 'stopped')
  await pull.begun
  const waiting = lanes.request('team', 'a', async () => 'never').catch(() => 'stopped')

  const stopping = lanes.stop('team')
  const next = lanes.request('team', 'a', async () => 'again')

  expect(await Promise.all([running, waiting, next])).toEqual(['stopped', 'stopped', 'again'])
  await stopping
})

test('disposing stops all keys, those included that wait for a place, and refuses what comes after', async () => {
  const lanes = new KeyedQueue<string>({ ...LIMITS, looking: ONE }, new FakeClock())
  const pull = new Pull('team')
  const running = lanes.request('team', 'a', pull.runUntilAborted)
  const placeless = lanes.request('other', 'b', async () => 'never')
  const ends = Promise.allSettled([running, placeless])
  await pull.begun

  await lanes[Symbol.asyncDispose]()

  expect((await ends).map((end) => end.status)).toEqual(['rejected', 'rejected'])
  await expect(lanes.request('team', 'a', async () => 'late')).rejects.toMatchObject({ name: 'AbortError' })
})

/** A run that is in the test's hands. */
class Pull {
  signal: AbortSignal | undefined
  ended = false
  readonly #result: string
  readonly #begun = Promise.withResolvers<void>()
  readonly #end = Promise.withResolvers<string>()

  constructor(result: string) {
    this.#result = result
  }

  get begun(): Promise<void> {
    return this.#begun.promise
  }

  /** Runs until it is told to end, deaf to its signal. */
  readonly run = (signal: AbortSignal): Promise<string> => {
    this.signal = signal
    this.#begun.resolve()
    return this.#end.promise
  }

  readonly runUntilAborted: Run<string> = async (signal) => {
    signal.addEventListener('abort', () => setImmediate(() => this.#end.reject(signal.reason)))
    try {
      return await this.run(signal)
    } finally {
      this.ended = true
    }
  }

  end(): void {
    this.#end.resolve(this.#result)
  }
}

/** Counts who runs at once. */
class Census {
  mostInAll = 0
  mostOfOneHost = 0
  mostOfOneKey = 0
  readonly #running: { readonly key: string; readonly host: string }[] = []

  async during(key: string, host: string, turns: number): Promise<void> {
    const run = { key, host }
    this.#running.push(run)
    this.mostInAll = Math.max(this.mostInAll, this.#running.length)
    this.mostOfOneHost = Math.max(this.mostOfOneHost, this.#running.filter((other) => other.host === host).length)
    this.mostOfOneKey = Math.max(this.mostOfOneKey, this.#running.filter((other) => other.key === key).length)
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
    this.#running.splice(this.#running.indexOf(run), 1)
  }
}
