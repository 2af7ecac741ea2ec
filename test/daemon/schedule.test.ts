import { randomUUID } from 'node:crypto'
import { CronTime } from 'cron'
import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/daemon/clock.ts'
import { Hosts } from '../../src/daemon/hosts.ts'
import { nextAt, Poller, type PollEnd, type Polled } from '../../src/daemon/schedule.ts'
import type { Schedule } from '../../src/sync/model/source.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { FakeClock } from '../support/fake-clock.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const AT = new Date(Date.UTC(2026, 5, 15, 12, 1, 7))

const ids = fc.stringMatching(/^[a-z0-9]{1,20}$/).map(idOf)
const keys = fc.record({ id: ids, machine: fc.string() })
const times = fc.date({ min: new Date(Date.UTC(2026, 0)), max: new Date(Date.UTC(2028, 0)), noInvalidDate: true })

test('a period is never exceeded, nor cut by more than a tenth and a minute', () => {
  fc.assert(
    fc.property(keys, times, fc.integer({ min: SECOND, max: 7 * DAY }), (key, after, periodMs) => {
      const waitMs = nextAt({ kind: 'every', periodMs }, key, after).getTime() - after.getTime()

      expect(waitMs).toBeLessThanOrEqual(periodMs)
      expect(waitMs).toBeGreaterThanOrEqual(periodMs - Math.min(periodMs / 10, MINUTE))
    }),
  )
})

test('a poll by cron comes after its time, by less than a tenth of the gap to the next one and than a minute', () => {
  const crons = fc.constantFrom('*/5 * * * *', '0 * * * *', '* * * * * *', '30 2 * * *', '0 0 * * 1', '@daily')
  fc.assert(
    fc.property(keys, times, crons, (key, after, expression) => {
      const sharp = sharpAfter(expression, after)
      const gapMs = sharpAfter(expression, sharp).getTime() - sharp.getTime()

      const lateMs = nextAt({ kind: 'cron', expression }, key, after).getTime() - sharp.getTime()

      expect(sharp.getTime()).toBeGreaterThan(after.getTime())
      expect(lateMs).toBeGreaterThanOrEqual(0)
      expect(lateMs).toBeLessThan(Math.min(gapMs / 10, MINUTE))
    }),
  )
})

test('a cron expression means the time of the machine', () => {
  const zone = process.env['TZ']
  process.env['TZ'] = 'Asia/Kolkata'
  onTestFinished(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })

  const at = nextAt({ kind: 'cron', expression: '30 6 * * *' }, { id: idOf('team'), machine: 'here' }, AT)

  expect(at.toISOString()).toMatch(/^2026-06-16T01:00:/)
})

test('an expression whose next time but one is more than 8 years off still has a next one', () => {
  const leapDay = { kind: 'cron', expression: '0 0 29 2 *' } as const
  const first = nextAt(leapDay, { id: idOf('team'), machine: 'here' }, AT)

  const second = nextAt(leapDay, { id: idOf('team'), machine: 'here' }, first)

  expect([first.getUTCFullYear(), second.getUTCFullYear()]).toEqual([2028, 2032])
})

test('an expression that names no time is an error', () => {
  const never = { kind: 'cron', expression: '0 0 30 2 *' } as const

  expect(() => nextAt(never, { id: idOf('team'), machine: 'here' }, AT)).toThrow('No execution date')
})

test('a source has the same place each time, and sources and machines have places of their own', () => {
  const places = (machine: string): number[] =>
    Array.from({ length: 200 }, (_, index) =>
      nextAt(every(5 * MINUTE), { id: idOf(`s-${index}`), machine }, AT).getTime(),
    )

  const [here, again, there] = [places('here'), places('here'), places('there')]

  expect(again).toEqual(here)
  expect(there).not.toEqual(here)
  expect(new Set(here).size).toBeGreaterThan(190)
  const parts = new Set(here.map((ms) => Math.floor((AT.getTime() + 5 * MINUTE - ms) / (7.5 * SECOND))))
  expect(parts).toEqual(new Set([0, 1, 2, 3]))
})

test('the first polls come within a tenth of the period, not all at once', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const sources = Array.from({ length: 50 }, (_, index) => source(`s-${index}`))
  await using _poller = new Poller(sources, polls.options)

  await clock.advance(30 * SECOND)

  expect(new Set(polls.ids)).toEqual(new Set(sources.map(({ id }) => id)))
  expect(polls.ids).toHaveLength(50)
  expect(new Set(polls.timesMs).size).toBeGreaterThan(40)
})

test('a source of which nothing is served yet is polled at once', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const sources = Array.from({ length: 20 }, (_, index) => ({ ...source(`s-${index}`), isNew: index < 10 }))
  await using _poller = new Poller(sources, polls.options)

  await clock.advance(1)

  expect(polls.ids.toSorted()).toEqual(
    sources
      .slice(0, 10)
      .map(({ id }) => id)
      .toSorted(),
  )
})

test('a source is polled once a period, whatever time goes by', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  await using poller = new Poller([source('team')], polls.options)
  await clock.advance(30 * SECOND)

  await clock.advance(HOUR)

  expect(polls.ids.length).toBeGreaterThanOrEqual(13)
  expect(polls.ids.length).toBeLessThanOrEqual(14)
  expect(poller.nextPolls().get(idOf('team'))?.getTime()).toBeGreaterThan(clock.now().getTime())
})

test('45: after hours of suspend there is one poll to catch up, not one for each that was missed', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  await using _poller = new Poller(
    [source('team'), source('cron', { kind: 'cron', expression: '* * * * *' })],
    polls.options,
  )
  await clock.advance(30 * SECOND)
  polls.forget()

  await clock.suspend(8 * HOUR)

  expect(polls.ids.toSorted()).toEqual(['cron', 'team'])
  await clock.advance(20 * SECOND)
  expect(polls.ids).toHaveLength(2)
})

test('a wall clock that is set back does not stop the polls', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  await using _poller = new Poller([source('team')], polls.options)
  await clock.advance(30 * SECOND)
  polls.forget()

  clock.setWall(new Date(clock.now().getTime() - 2 * DAY))
  await clock.advance(10 * MINUTE)

  expect(polls.ids).toEqual(['team', 'team'])
})

test('22: a poll that hangs delays no other source', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.hung.add(idOf('s-0'))
  const sources = Array.from({ length: 100 }, (_, index) => source(`s-${index}`))
  await using _poller = new Poller(sources, polls.options)

  await clock.advance(HOUR)

  const counts = Map.groupBy(polls.ids, (id) => id)
  expect(counts.get(idOf('s-0'))).toHaveLength(1)
  expect(Math.min(...sources.slice(1).map(({ id }) => counts.get(id)?.length ?? 0))).toBeGreaterThanOrEqual(12)
})

test('23: a host that is down for a week is asked ever less often, and never less than once an hour', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: true }
  await using _poller = new Poller([source('team')], { ...polls.options, random: () => 0.999 })

  await clock.advance(7 * DAY)

  expect(polls.ids.length).toBeLessThan(7 * 24 + 10)
  expect(polls.ids.length).toBeGreaterThanOrEqual(7 * 24)
  const gaps = polls.timesMs.slice(1).map((ms, index) => ms - polls.timesMs[index]!)
  expect(gaps).toEqual(gaps.toSorted((a, b) => a - b))
})

test('the delay after failures lies between the regular one and a bound that doubles', async () => {
  const delays = fc.record({
    failures: fc.integer({ min: 1, max: 30 }),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })
  await fc.assert(
    fc.asyncProperty(delays, async ({ failures, random }) => {
      const clock = new FakeClock()
      const polls = new Polls(clock)
      polls.end = { failed: true }
      await using poller = new Poller([source('team')], { ...polls.options, random: () => random })
      const next = (): number => poller.nextPolls().get(idOf('team'))!.getTime() - clock.now().getTime()

      for (let failure = 0; failure < failures; failure += 1) await clock.advance(next())

      const regularMs = nextAt(every(5 * MINUTE), { id: idOf('team'), machine: 'here' }, AT).getTime() - AT.getTime()
      expect(next()).toBeGreaterThanOrEqual(regularMs)
      expect(next()).toBeLessThanOrEqual(Math.min(HOUR, regularMs * 2 ** failures))
    }),
    { numRuns: 30 },
  )
})

test('one success ends the growth of the delay', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: true }
  await using poller = new Poller([source('team')], { ...polls.options, random: () => 0.999 })
  await clock.advance(4 * HOUR)

  polls.end = { failed: false }
  await clock.advance(HOUR)

  expect(poller.nextPolls().get(idOf('team'))!.getTime() - clock.now().getTime()).toBeLessThanOrEqual(5 * MINUTE)
})

test('all sources of a host that asked for a pause leave it alone as long as it asked, and others do not', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const sources = [
    source('one', every(MINUTE), 'a'),
    source('two', every(MINUTE), 'a'),
    source('far', every(MINUTE), 'b'),
  ]
  await using poller = new Poller(sources, polls.options)
  await clock.advance(6 * SECOND)
  polls.forget()

  polls.options.hosts.close('a', HOUR)
  await clock.advance(HOUR - 1)

  expect(new Set(polls.ids)).toEqual(new Set(['far']))
  expect(poller.nextPolls().get(idOf('two'))?.getTime()).toBe(clock.now().getTime() + 1)
  await clock.advance(1)
  expect(new Set(polls.ids)).toEqual(new Set(['far', 'one', 'two']))
})

test('a poll that was stopped is no failure', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const stopped = (): Promise<PollEnd> => Promise.reject(new DOMException('The pull was stopped', 'AbortError'))
  await using poller = new Poller([source('team')], { ...polls.options, poll: stopped, random: () => 0.999 })

  await clock.advance(HOUR)

  expect(poller.nextPolls().get(idOf('team'))!.getTime() - clock.now().getTime()).toBeLessThanOrEqual(5 * MINUTE)
})

test('a poller that is disposed polls no more and leaves no timer behind', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const poller = new Poller([source('one'), source('two')], polls.options)
  await clock.advance(30 * SECOND)
  polls.forget()

  await poller[Symbol.asyncDispose]()
  await clock.advance(DAY)

  expect(polls.ids).toEqual([])
  expect(clock.waiting).toBe(0)
})

test('a wait that is longer than a timer can be is not over at once', async () => {
  const stop = new AbortController()
  let over = false
  const long = systemClock.wait(2 ** 33, stop.signal).then(() => (over = true))

  await systemClock.wait(20, stop.signal)

  expect(over).toBe(false)
  stop.abort()
  await expect(long).rejects.toMatchObject({ name: 'AbortError' })
})

test('a wait lasts as long as it was asked to', async () => {
  const before = systemClock.monotonicMs()

  await systemClock.wait(20.5, new AbortController().signal)

  expect(systemClock.monotonicMs() - before).toBeGreaterThanOrEqual(20.5)
})

/** Takes down who is polled and when, and answers as it is told. */
class Polls {
  end: PollEnd = { failed: false }
  /** Their polls do not end. */
  readonly hung = new Set<SourceId>()
  ids: SourceId[] = []
  timesMs: number[] = []
  readonly options

  constructor(clock: FakeClock) {
    const poll = async (id: SourceId): Promise<PollEnd> => {
      this.ids.push(id)
      this.timesMs.push(clock.monotonicMs())
      if (this.hung.has(id)) await new Promise(() => {})
      return this.end
    }
    this.options = { clock, hosts: new Hosts(clock), machine: 'here', random: () => 0.5, poll }
  }

  forget(): void {
    this.ids = []
    this.timesMs = []
  }
}

function source(id: string, schedule: Schedule = every(5 * MINUTE), host: string = randomUUID()): Polled {
  return { id: idOf(id), host, schedule, isNew: false }
}

function every(periodMs: number): Schedule {
  return { kind: 'every', periodMs }
}

function idOf(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(`"${text}" is no source id`)
  return text
}

/** When cron itself would run, without what sets sources apart. */
function sharpAfter(expression: string, after: Date): Date {
  return new CronTime(expression).getNextDateFrom(after).toJSDate()
}
