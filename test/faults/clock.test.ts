import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SourceStatus } from '../../src/daemon/status/status.ts'
import { Store } from '../../src/sync/store/store.ts'
import { Scene } from './scene.ts'
import { FAKETIME, HOUR_MS, WallClock } from './wall-clock.ts'

describe.skipIf(FAKETIME === undefined)(
  `with a wall clock of its own${FAKETIME === undefined ? ', but there is no libfaketime: install the package libfaketime' : ''}`,
  () => {
    test('a wall clock that jumps two days back and forth stops no poll, ages nothing wrongly and removes nothing that is served', async () => {
      await using scene = await Scene.set()
      const clock = new WallClock(scene.home)
      await clock.jump(0)
      await scene.play()

      for (const hours of [-48, 48, 0]) {
        const said = scene.fromNow()
        await clock.jump(hours)
        const commit = await scene.commit()
        const line = await said((told) => told.includes('"source-updated"') && told.includes(commit))

        expectNear(JSON.parse(line).time, clock)
        const looks = scene.looks
        await expect.poll(() => scene.looks).toBeGreaterThan(looks + 2)
        await expectSaneAges(scene, clock)
        await expectServedIsKept(scene, commit)
        await scene.witness.looksAgain()
      }

      await scene.recovers()
      await scene.expectWell()
    })

    test('a look that began by a clock that was ahead has not lasted for less than no time', async () => {
      await using scene = await Scene.set()
      await new WallClock(scene.home).jump(48)
      await scene.play()

      scene.git.fault = { kind: 'hang-before' }

      // It is asked here, where the clock is behind that of the daemon.
      const told = async (): Promise<string> => (await scene.home.command('status')).stdout
      await expect.poll(told).toContain('  fetching (0 s)')
    })
  },
)

async function expectSaneAges(scene: Scene, clock: WallClock): Promise<void> {
  const { lastAttempt, lastSuccess, nextPoll, upstream } = await statusOf(scene)
  for (const time of [lastAttempt, lastSuccess, nextPoll, upstream?.at]) expectNear(time, clock)
  for (const time of [lastAttempt, lastSuccess, upstream?.at])
    expect(Date.parse(time ?? ''), 'not in the future').toBeLessThanOrEqual(clock.now)
  const { stdout } = await scene.home.run('status')
  expect(stdout).toContain('up to date')
  expect(stdout).not.toMatch(/ -\d/)
  expect(stdout).not.toMatch(/ in \d+ (?:h|days)\b/)
  const metrics = await fetch(new URL('/metrics', await scene.daemon.line()))
  expect(await metrics.text()).not.toMatch(/^[^#\n]* -\d/m)
}

async function expectServedIsKept({ home }: Scene, commit: string): Promise<void> {
  const store = (await Store.openExisting(home.state))!
  const generation = (await store.generations.current())!
  expect(await readFile(join(home.state, 'current'), 'utf8')).toBe(`${generation.number}\n`)
  const [held] = generation.sources
  expect((await store.snapshots.read(held!.snapshot)).revision.commit).toBe(commit)
}

async function statusOf({ home }: Scene): Promise<SourceStatus> {
  const { sources }: { readonly sources: readonly SourceStatus[] } = JSON.parse(
    (await home.command('status', '--json')).stdout,
  )
  return sources[0]!
}

/** Within the hours that a busy machine never takes. */
function expectNear(time: string | undefined, clock: WallClock): void {
  expect(Math.abs(Date.parse(time ?? '') - clock.now)).toBeLessThan(HOUR_MS)
}
