import { randomUUID } from 'node:crypto'
import { CronTime } from 'cron'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { HostBackoff } from '../../../../src/daemon/pull/schedule/host-backoff.ts'
import { lastPeriod, nextAt } from '../../../../src/daemon/pull/schedule/poll-times.ts'
import { Poller, type PollEnd, type Polled } from '../../../../src/daemon/pull/schedule/poller.ts'
import { isSourceId, type SourceId } from '../../../../src/sync/model/source-id.ts'
import type { Schedule } from '../../../../src/sync/model/source.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

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

describe('the last period', () => {
  test.each([
    ['*/5 * * * *', '2026-06-15T12:01:07', 5 * MINUTE],
    ['* * * * * *', '2026-06-15T12:01:07', SECOND],
    ['0 9 * * 1-5', '2026-06-15T09:00:00', 3 * DAY],
    ['0 9 * * 1-5', '2026-06-15T08:59:59', DAY],
    ['0 0 1 1 *', '2026-06-15T12:00:00', 365 * DAY],
  ])('of %s at %s', (expression, at, periodMs) => {
    expect(lastPeriod(expression, new Date(at)).ms).toBe(periodMs)
  })

  test('is without end where there were no two times', () => {
    expect(lastPeriod('0 0 30 2 *', AT).ms).toBe(Number.POSITIVE_INFINITY)
  })

  test('is what went by between the two times before the next one', () => {
    const crons = fc.constantFrom('*/5 * * * *', '7-9 * * * * *', '0 9,10,17 * * *', '0 12 * * 1', '0 0 1,30 * *')
    fc.assert(
      fc.property(times, crons, (start, expression) => {
        const before = sharpAfter(expression, start)
        const last = sharpAfter(expression, before)
        const next = sharpAfter(expression, last)

        for (const now of [last, new Date(next.getTime() - 1)])
          expect(lastPeriod(expression, now)).toEqual({
            ms: last.getTime() - before.getTime(),
            untilMs: next.getTime(),
          })
      }),
    )
  })
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

test('after hours of suspend there is one poll to catch up, not one for each that was missed', async () => {
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

test('a poll that hangs delays no other source', async () => {
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

test('a source that is down for a week is asked about as often as one that is well', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: 'source-unreachable' }
  const random = chance()
  await using _poller = new Poller([source('team')], { ...polls.options, random })

  await clock.advance(7 * DAY)

  const healthy = (7 * DAY) / (5 * MINUTE)
  expect(polls.ids.length).toBeGreaterThan(0.9 * healthy)
  expect(polls.ids.length).toBeLessThan(1.25 * healthy)
})

test('the delay after failures lies below a bound that doubles, and never above two periods or an hour', async () => {
  const delays = fc.record({
    failures: fc.integer({ min: 1, max: 30 }),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    periodMs: fc.constantFrom(SECOND, MINUTE, 5 * MINUTE, DAY),
  })
  await fc.assert(
    fc.asyncProperty(delays, async ({ failures, random, periodMs }) => {
      const clock = new FakeClock()
      const polls = new Polls(clock)
      polls.end = { failed: 'dns-failed' }
      await using poller = new Poller([source('team', every(periodMs))], { ...polls.options, random: () => random })
      const next = (): number => poller.nextPolls().get(idOf('team'))!.getTime() - clock.now().getTime()

      for (let failure = 0; failure < failures; failure += 1) await clock.advance(next())

      expect(next()).toBeGreaterThanOrEqual(SECOND)
      expect(next()).toBeLessThanOrEqual(Math.min(HOUR, 2 * periodMs, 5 * SECOND * 2 ** failures))
    }),
    { numRuns: 60 },
  )
})

test('recovery: whenever a fault goes away, the next poll comes within two periods', async () => {
  const schedules = fc.constantFrom(every(SECOND), every(5 * MINUTE), every(30 * MINUTE), cron('*/5 * * * *'))
  const faults = fc.record({ schedule: schedules, lastsMs: fc.integer({ min: 1, max: 6 * HOUR }), seed: fc.nat() })
  await fc.assert(
    fc.asyncProperty(faults, async ({ schedule, lastsMs, seed }) => {
      const clock = new FakeClock()
      const polls = new Polls(clock)
      polls.end = { failed: 'source-unreachable' }
      await using _poller = new Poller([source('team', schedule)], { ...polls.options, random: chance(seed) })
      const periodMs = schedule.kind === 'every' ? schedule.periodMs : 5 * MINUTE
      await clock.advance(Math.min(lastsMs, 100 * periodMs))
      polls.end = { failed: undefined }
      polls.forget()

      await clock.advance(2 * periodMs)

      expect(polls.ids.length).toBeGreaterThan(0)
    }),
    { numRuns: 40 },
  )
})

test('what needs a person is looked at on the regular schedule, and never sooner', async () => {
  for (const failed of ['credentials-rejected', 'repository-not-found', 'revision-unverified'] as const) {
    const clock = new FakeClock()
    const polls = new Polls(clock)
    await using _poller = new Poller([source('team')], { ...polls.options, random: () => 0 })
    await clock.advance(30 * SECOND)
    polls.end = { failed }

    await clock.advance(DAY)

    const gaps = polls.timesMs.slice(1).map((ms, index) => ms - polls.timesMs[index]!)
    const regularMs = nextAt(every(5 * MINUTE), { id: idOf('team'), machine: 'here' }, AT).getTime() - AT.getTime()
    expect(new Set(gaps)).toEqual(new Set([regularMs]))
  }
})

test('a source by cron that fails is asked again before its next time, and within an hour of each failure', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: 'source-unreachable' }
  const nightly = source('team', cron('30 2 * * *'))
  await using _poller = new Poller([{ ...nightly, isNew: true }], { ...polls.options, random: () => 0.999 })

  await clock.advance(12 * HOUR)

  const gaps = polls.timesMs.slice(1).map((ms, index) => ms - polls.timesMs[index]!)
  expect(gaps.length).toBeGreaterThan(11)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(HOUR)
})

test('one success ends the growth of the delay', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: 'source-unreachable' }
  await using poller = new Poller([source('team')], { ...polls.options, random: () => 0.999 })
  await clock.advance(4 * HOUR)

  polls.end = { failed: undefined }
  await clock.advance(HOUR)

  expect(poller.nextPolls().get(idOf('team'))!.getTime() - clock.now().getTime()).toBeLessThanOrEqual(5 * MINUTE)
})

test('all sources of a host that requested a pause leave it alone as long as it asked, and others do not', async () => {
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
  const told = poller.nextPolls().get(idOf('two'))!.getTime()
  await clock.advance(HOUR - 1)

  expect(new Set(polls.ids)).toEqual(new Set(['far']))
  expect(told).toBeGreaterThan(clock.now().getTime())
  expect(poller.nextPolls().get(idOf('two'))!.getTime()).toBe(told)
  await clock.advance(6 * SECOND)
  expect(new Set(polls.ids)).toEqual(new Set(['far', 'one', 'two']))
})

test('after a pause the sources of a host come a little apart', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const sources = Array.from({ length: 100 }, (_, index) => source(`s-${index}`, every(5 * MINUTE), 'a'))
  await using _poller = new Poller(sources, polls.options)
  polls.options.hosts.close('a', HOUR)
  await clock.advance(HOUR - 1)
  expect(polls.ids).toEqual([])

  await clock.advance(30 * SECOND)

  expect(new Set(polls.ids).size).toBe(100)
  const seconds = Map.groupBy(polls.timesMs, (ms) => Math.floor(ms / SECOND))
  expect(seconds.size).toBeGreaterThan(25)
  expect(Math.max(...[...seconds.values()].map(({ length }) => length))).toBeLessThan(15)
})

test('of 1000 sources on one machine, and of one source on 1000 machines, the first polls are spread evenly', () => {
  const onOne = firstPolls(Array.from({ length: 1000 }, (_, index) => ['here', `s-${index}`]))
  const onMany = firstPolls(Array.from({ length: 1000 }, (_, index) => [`machine-${index}`, 'team']))

  for (const delays of [onOne, onMany]) {
    const seconds = Map.groupBy(delays, (ms) => Math.floor(ms / SECOND))
    expect(Math.max(...delays)).toBeLessThanOrEqual(30 * SECOND)
    expect(seconds.size).toBe(30)
    // Of a thousand in thirty parts, by chance: 33 each, with a deviation of 6.
    expect(Math.max(...[...seconds.values()].map(({ length }) => length))).toBeLessThan(66)
  }
})

test('those of a group are polled in the same moment, however long each takes and whatever fails', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  const sources = ['a', 'b', 'c'].map((id) => grouped(id, id === 'c'))
  const poll = async (id: SourceId): Promise<PollEnd> => {
    const end = await polls.options.poll(id)
    if (id === 'b') await clock.wait(20 * SECOND, new AbortController().signal)
    return end
  }
  await using _poller = new Poller(sources, { ...polls.options, poll, random: chance() })
  await clock.advance(HOUR)
  polls.end = { failed: 'source-unreachable' }
  await clock.advance(HOUR)
  polls.end = { failed: undefined }
  await clock.advance(HOUR)
  polls.forget()

  await clock.advance(HOUR)

  const rounds = Map.groupBy(polls.ids, (_, index) => polls.timesMs[index])
  expect(rounds.size).toBeGreaterThanOrEqual(12)
  for (const ids of rounds.values()) expect(ids.toSorted()).toEqual(['a', 'b', 'c'])
})

test('those of a group that fail alike are tried again together', async () => {
  const clock = new FakeClock()
  const polls = new Polls(clock)
  polls.end = { failed: 'source-unreachable' }
  const sources = ['a', 'b', 'c'].map((id) => grouped(id))
  await using _poller = new Poller(sources, { ...polls.options, random: chance() })

  await clock.advance(3 * HOUR)

  for (const ids of Map.groupBy(polls.ids, (_, index) => polls.timesMs[index]).values()) expect(ids).toHaveLength(3)
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
  end: PollEnd = { failed: undefined }
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
    this.options = { clock, hosts: new HostBackoff(clock), machine: 'here', random: () => 0.5, poll }
  }

  forget(): void {
    this.ids = []
    this.timesMs = []
  }
}

function source(id: string, schedule: Schedule = every(5 * MINUTE), host: string = randomUUID()): Polled {
  return { id: idOf(id), host, group: id, schedule, isNew: false }
}

function cron(expression: string): Schedule {
  return { kind: 'cron', expression }
}

/** Chance that is the same each time. */
function chance(seed = 1): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** How long after the start each of these machines polls its source first. */
function firstPolls(places: readonly (readonly [machine: string, id: string])[]): number[] {
  return [...Map.groupBy(places, ([machine]) => machine)].flatMap(([machine, pairs]) => {
    const clock = new FakeClock()
    const sources = pairs.map(([, id]) => source(id))
    const poller = new Poller(sources, { ...new Polls(clock).options, machine })
    const delays = [...poller.nextPolls().values()].map((at) => at.getTime() - clock.now().getTime())
    void poller[Symbol.asyncDispose]()
    return delays
  })
}

function grouped(id: string, isNew = false): Polled {
  return { ...source(id), group: 'one', isNew }
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
