import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { backoffMs, Reaction } from '../../../src/daemon/runtime/reaction.ts'
import type { ReactionOptions } from '../../../src/daemon/runtime/reaction.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('each change begins a run, but not before the work that made the change has ended', async () => {
  const { reaction, runs } = started({})

  reaction.trigger()
  expect(runs).toEqual([])
  await reaction.settled()
  reaction.trigger()
  await reaction.settled()

  expect(runs).toEqual(['change', 'change'])
})

test('any number of changes during a run lead to exactly one more, which begins after it', async () => {
  const open = Promise.withResolvers<void>()
  const { reaction, runs, clock } = started({ during: () => open.promise })
  reaction.trigger()
  await clock.advance(0)

  for (let change = 0; change < 5; change += 1) reaction.trigger()
  await clock.advance(0)
  expect(runs).toEqual(['change'])
  open.resolve()
  await reaction.settled()

  expect(runs).toEqual(['change', 'change'])
})

test('it follows what it subscribed to from its start, once, until it is disposed', async () => {
  const listeners = new Set<() => void>()
  const on = (changed: () => void): Disposable => {
    listeners.add(changed)
    return { [Symbol.dispose]: () => void listeners.delete(changed) }
  }
  const { reaction, runs } = started({ on })
  expect(listeners.size).toBe(0)

  reaction.start()
  reaction.start()
  for (const changed of listeners) changed()
  await reaction.settled()

  expect([runs, listeners.size]).toEqual([['change'], 1])
  await reaction[Symbol.asyncDispose]()
  expect(listeners.size).toBe(0)
})

test('the first run comes at once or after a time, and the others each after the end of the one before', async () => {
  const { reaction, runs, clock } = started({ againMs: () => 60_000 })

  reaction.start(1_000)
  await clock.advance(999)
  expect(runs).toEqual([])
  await clock.advance(1)
  expect(runs).toEqual(['time'])
  await clock.advance(59_999)
  expect(runs).toEqual(['time'])
  await clock.advance(1)
  expect(runs).toEqual(['time', 'time'])
})

test('a run that a change begins replaces the time that was set', async () => {
  const { reaction, runs, clock } = started({ againMs: () => 60_000 })
  reaction.start(0)
  await clock.advance(50_000)

  reaction.trigger()
  await clock.advance(59_999)
  expect(runs).toEqual(['change', 'change'])
  await clock.advance(1)
  expect(runs).toEqual(['change', 'change', 'time'])
})

test('many calls within a time lead to one run at its end', async () => {
  const { reaction, runs, clock } = started({})

  reaction.runWithin(2_000)
  await clock.advance(1_500)
  reaction.runWithin(2_000)
  await clock.advance(499)
  expect(runs).toEqual([])
  await clock.advance(1)
  await clock.advance(10_000)

  expect(runs).toEqual(['time'])
})

test('a time that is set replaces the one before, and none takes it back', async () => {
  const { reaction, runs, clock } = started({})
  reaction.runAfter(1_000)
  reaction.runAfter(5_000)
  await clock.advance(4_999)
  expect([runs, clock.waiting]).toEqual([[], 1])

  reaction.runAfter(undefined)
  await clock.advance(5_000)

  expect([runs, clock.waiting]).toEqual([[], 0])
})

test('a failure keeps the time of the next run, and a pause doubles with each up to the longest', async () => {
  const { reaction, runs, clock } = started({ againMs: () => 1_000, during: async () => failIf(true) })
  reaction.start(0)
  await clock.advance(2_000)

  expect(runs).toEqual(['change', 'time', 'time'])
  const backoff = { firstMs: 10_000, longestMs: 30_000 }
  expect([1, 2, 3, 4].map((failures) => backoffMs(backoff, failures))).toEqual([10_000, 20_000, 30_000, 30_000])
})

test('it logs when it begins to fail, and when it recovers, and nothing in between', async () => {
  const ends = [false, true, true, false, false]
  const { reaction, lines } = started({ during: async () => failIf(ends.shift() ?? false) })

  while (ends.length > 0) {
    reaction.trigger()
    await reaction.settled()
  }

  expect(lines()).toEqual([
    ['warn', 'not-done', { source: '', code: 'store-failed', message: 'Cannot write' }],
    ['info', 'recovered', { source: '', from: 'not-done', code: 'store-failed', repeated: 1 }],
  ])
})

test('other work never goes on beside a run', async () => {
  const open = Promise.withResolvers<void>()
  const { reaction, runs } = started({})
  const work = reaction.inTurn(async () => {
    await open.promise
    return [...runs]
  })

  reaction.trigger()
  open.resolve()

  expect(await work).toEqual([])
  await reaction.settled()
  expect(runs).toEqual(['change'])
})

test('work that fails in its turn fails for its caller alone', async () => {
  const { reaction, runs, lines } = started({})

  const work = reaction.inTurn(async () => failIf(true))
  reaction.trigger()

  await expect(work).rejects.toThrow('Cannot write')
  await reaction.settled()
  expect([runs, lines()]).toEqual([['change'], []])
})

test('one that is disposed has its run aborted and waits for its end, and runs no more', async () => {
  let isEnded = false
  const { reaction, runs, clock, lines } = started({
    againMs: () => 1_000,
    during: async (signal) => {
      await clock.wait(3_600_000, signal).finally(() => (isEnded = true))
    },
  })
  reaction.start(0)
  await clock.advance(0)
  reaction.trigger()

  await reaction[Symbol.asyncDispose]()
  reaction.trigger()
  reaction.runAfter(1)
  await clock.advance(3_600_000)

  expect([isEnded, runs, lines(), clock.waiting]).toEqual([true, ['change'], [], 0])
})

interface Started {
  readonly reaction: Reaction
  readonly clock: FakeClock
  /** The cause of each run. */
  readonly runs: readonly string[]
  /** The level, the event and the fields of each line. */
  readonly lines: () => readonly (readonly [string, string, object])[]
}

interface Part extends Partial<ReactionOptions> {
  readonly during?: (signal: AbortSignal) => Promise<void>
}

function started({ during, ...options }: Part): Started {
  const clock = new FakeClock()
  const runs: string[] = []
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text) }
  const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  const run = async (signal: AbortSignal, isTimed: boolean): Promise<void> => {
    runs.push(isTimed ? 'time' : 'change')
    await during?.(signal)
  }
  const failures = { log, level: 'warn', event: 'not-done' } as const
  const reaction = new Reaction({ clock, run, failures, ...options })
  onTestFinished(() => reaction[Symbol.asyncDispose]())
  return { reaction, clock, runs, lines: () => written.map(lineOf) }
}

function lineOf(text: string): readonly [string, string, object] {
  const { level, event, time: _, ...fields } = JSON.parse(text)
  return [level, event, fields]
}

function failIf(isFailing: boolean): void {
  if (isFailing) throw new SyncError('store-failed', 'Cannot write')
}
