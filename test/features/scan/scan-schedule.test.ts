import { expect, test } from 'vitest'
import { ScanSchedule } from '../../../src/features/scan/scan-schedule.ts'
import type { Schedule } from '../../../src/sync/model/source.ts'
import type { SkillScan } from '../../../src/sync/store/scan-records.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const DAY_MS = 86_400_000

test('nothing is due while each content has a scan by the present scanner', async () => {
  await using scene = sceneOf({ scans: [scanBy('one')] })

  await scene.clock.advance(DAY_MS)

  expect(scene.due).toEqual([])
  expect(scene.schedule.next).toBeUndefined()
})

test('a changed scanner is noticed ten minutes later', async () => {
  await using scene = sceneOf({ scans: [scanBy('one')] })
  await scene.clock.advance(60_000)

  scene.by = 'two'
  await scene.clock.advance(600_000)

  expect(scene.due).toEqual([false])
})

test('content that was never scanned is due soon', async () => {
  await using scene = sceneOf({ scans: [scanBy('one'), undefined] })

  await scene.clock.advance(10_000)

  expect(scene.due).toEqual([false])
})

test('a set time counts from the oldest scan, also after a restart', async () => {
  const scans = [scanBy('one', DAY_MS - 30_000), scanBy('one', 0)]
  await using scene = sceneOf({ scans, schedule: { kind: 'every', periodMs: DAY_MS } })

  const next = scene.schedule.next
  await scene.clock.advance(30_000)

  expect(next).toEqual(new Date(NOW_MS + 30_000))
  expect(scene.due).toEqual([true])
})

test('a set time that passed while the daemon was down is due soon', async () => {
  const scans = [scanBy('one', 2 * DAY_MS)]
  await using scene = sceneOf({ scans, schedule: { kind: 'every', periodMs: DAY_MS } })

  await scene.clock.advance(1)

  expect(scene.due).toEqual([true])
})

test('a cron expression names the times', async () => {
  await using scene = sceneOf({ scans: [scanBy('one')], schedule: { kind: 'cron', expression: '0 0 3 * * *' } })

  const { next } = scene.schedule

  expect([next?.getHours(), next?.getMinutes(), next?.getSeconds()]).toEqual([3, 0, 0])
})

test('a scanner that does not answer is asked again after a pause, and keeps its set time', async () => {
  await using scene = sceneOf({ scans: [scanBy('one')], schedule: { kind: 'every', periodMs: 60_000 } })

  scene.fails = true
  await scene.clock.advance(10_000)
  const failures = scene.failures
  await scene.clock.advance(599_999)
  const still = scene.failures
  scene.fails = false
  await scene.clock.advance(1)

  expect([failures, still]).toEqual([1, 1])
  expect(scene.due).toEqual([true])
})

test('content without an answer waits for the next set time if no version is known, and else for ten minutes', async () => {
  await using unknown = sceneOf({ by: undefined, scans: [undefined] })
  await using known = sceneOf({ scans: [undefined] })

  for (const { clock } of [unknown, known]) await clock.advance(10_000)
  for (const { clock } of [unknown, known]) await clock.advance(1_200_000)

  expect(unknown.due).toEqual([false])
  expect(known.due).toEqual([false, false, false])
})

const NOW_MS = new FakeClock().now().getTime()

function scanBy(by: string, ageMs = 0): SkillScan {
  const counts = { error: 0, warning: 0, note: 0, none: 0 }
  return { by, at: new Date(NOW_MS - ageMs).toISOString(), counts, findings: [] }
}

interface Options {
  readonly scans: readonly (SkillScan | undefined)[]
  readonly schedule?: Schedule
  readonly by?: string | undefined
}

/** A schedule whose runs change nothing. */
function sceneOf({ scans, schedule, ...rest }: Options) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const scene = {
    clock,
    by: 'by' in rest ? rest.by : 'one',
    fails: false,
    failures: 0,
    due: new Array<boolean>(),
    schedule: new ScanSchedule(schedule, { clock, contents: () => scans }),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await over
    },
  }
  const identity = async (): Promise<string | undefined> => {
    if (scene.fails) throw new Error('no answer')
    return scene.by
  }
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await clock.wait(scene.schedule.waitMs, stop.signal)
        const due = await scene.schedule.check(identity)
        if (due === undefined) continue
        scene.due.push(due)
        scene.schedule.ended()
      } catch {
        scene.failures += 1
      }
    }
  }
  const over = run()
  return scene
}
