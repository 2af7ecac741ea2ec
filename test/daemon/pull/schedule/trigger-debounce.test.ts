import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TriggerDebounce } from '../../../../src/daemon/pull/schedule/trigger-debounce.ts'
import { isSourceId } from '../../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const GAP = 1_000
const TEAM = idOf('team')

test('a source is pulled at once when it is nudged', async () => {
  const desk = new Desk()

  desk.nudges.nudge(TEAM)
  await desk.clock.advance(0)

  expect(desk.pulls).toEqual([{ id: TEAM, at: 0 }])
})

test('thousands of nudges at once are one pull, and one more after the gap', async () => {
  const desk = new Desk()

  for (let number = 0; number < 5_000; number += 1) desk.nudges.nudge(TEAM)
  await desk.clock.advance(0)
  for (let number = 0; number < 5_000; number += 1) desk.nudges.nudge(TEAM)
  await desk.clock.advance(10 * GAP)

  expect(desk.pulls).toEqual([
    { id: TEAM, at: 0 },
    { id: TEAM, at: GAP },
  ])
  expect(desk.clock.waiting).toBe(0)
})

test('the messages of one change that come a moment apart are one pull', async () => {
  const desk = new Desk()

  desk.nudges.nudge(TEAM)
  await turn()
  desk.nudges.nudge(TEAM)
  await desk.clock.advance(10 * GAP)

  expect(desk.pulls).toEqual([{ id: TEAM, at: 0 }])
})

test('what is told when a pull has begun is one more pull, however soon it comes', async () => {
  const desk = new Desk()
  desk.onPull = () => desk.nudges.nudge(TEAM)
  desk.nudges.nudge(TEAM)

  await desk.clock.advance(10 * GAP)

  expect(desk.pulls.map(({ at }) => at)).toEqual([0, GAP])
})

test('what is told during a pull is one more pull after it', async () => {
  const desk = new Desk()
  desk.pullMs = 60_000
  desk.nudges.nudge(TEAM)
  await desk.clock.advance(30_000)
  desk.nudges.nudge(TEAM)

  await desk.clock.advance(200_000)

  expect(desk.pulls.map(({ at }) => at)).toEqual([0, 60_000 + GAP])
})

test('each source has a gap of its own', async () => {
  const desk = new Desk()

  for (const id of ['team', 'more', 'far']) desk.nudges.nudge(idOf(id))
  await desk.clock.advance(0)

  expect(desk.pulls.map(({ at }) => at)).toEqual([0, 0, 0])
})

test('a source whose host is to be left alone is pulled once, when the pause is over', async () => {
  const desk = new Desk()
  desk.closedUntilMs = 60_000

  for (let seconds = 0; seconds < 50; seconds += 1) {
    desk.nudges.nudge(TEAM)
    await desk.clock.advance(1_000)
  }
  await desk.clock.advance(60_000)

  expect(desk.pulls).toEqual([{ id: TEAM, at: 60_000 }])
})

test('nothing is pulled after the end, and nothing is waited for', async () => {
  const desk = new Desk()
  desk.nudges.nudge(TEAM)
  await desk.clock.advance(1)
  desk.nudges.nudge(TEAM)

  desk.nudges[Symbol.dispose]()
  desk.nudges.nudge(TEAM)
  await desk.clock.advance(10 * GAP)

  expect(desk.pulls).toHaveLength(1)
  expect(desk.clock.waiting).toBe(0)
})

test('a pull that is stopped is no error, and the source can be nudged again', async () => {
  const desk = new Desk()
  desk.failure = new DOMException('The pull was stopped', 'AbortError')
  desk.nudges.nudge(TEAM)
  await desk.clock.advance(1)
  desk.failure = undefined

  desk.nudges.nudge(TEAM)
  await desk.clock.advance(1)

  expect(desk.pulls).toHaveLength(2)
})

test('whenever nudges come and however long pulls take, pulls are a gap apart and none begins before the last nudge', async () => {
  const times = fc.array(fc.nat(3_000), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(times, fc.nat(2_500), async (waits, pullMs) => {
      const desk = new Desk()
      desk.pullMs = pullMs
      for (const ms of waits) {
        await desk.clock.advance(ms)
        desk.nudges.nudge(TEAM)
      }
      const lastMs = desk.clock.monotonicMs()
      await desk.clock.advance(20_000)

      const starts = desk.pulls.map(({ at }) => at)
      expect(starts.at(-1)).toBeGreaterThanOrEqual(lastMs)
      for (const [index, at] of starts.slice(1).entries()) expect(at - starts[index]!).toBeGreaterThanOrEqual(GAP)
      expect(starts.length).toBeLessThanOrEqual(waits.length)
    }),
    { numRuns: 50 },
  )
})

/** Nudges on a clock that is moved by hand, and the pulls that they set off. */
class Desk {
  readonly clock = new FakeClock()
  readonly pulls: { readonly id: SourceId; readonly at: number }[] = []
  readonly nudges: TriggerDebounce
  pullMs = 0
  closedUntilMs = 0
  failure: Error | undefined
  /** Once, when a pull has begun. */
  onPull: (() => void) | undefined

  constructor() {
    this.nudges = new TriggerDebounce({
      clock: this.clock,
      closedMs: () => Math.max(0, this.closedUntilMs - this.clock.monotonicMs()),
      pull: async (id) => {
        this.pulls.push({ id, at: this.clock.monotonicMs() })
        const { onPull } = this
        this.onPull = undefined
        onPull?.()
        await this.clock.wait(this.pullMs, new AbortController().signal)
        if (this.failure !== undefined) throw this.failure
      },
    })
  }
}

function idOf(text: string): SourceId {
  if (!isSourceId(text)) throw new Error(`"${text}" is no source id`)
  return text
}
