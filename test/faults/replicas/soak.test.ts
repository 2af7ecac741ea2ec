import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../support/random.ts'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

/** A long run: `SOAK_MINUTES=60`. */
const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 0.5)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)

describe.skipIf(obstacle !== undefined)(`a hub in use${obstacle === undefined ? '' : ` (${obstacle})`}`, () => {
  test(
    `serves 200 clients of 30 sources for ${MINUTES} minutes, while its processes are killed (SEED=${SEED})`,
    {
      timeout: (MINUTES + 15) * 60_000,
    },
    async () => {
      await using hub = await ReplicatedHub.start({ processes: 3, sources: 30, followers: 100 })
      const random = randomFrom(SEED)
      const endMs = performance.now() + MINUTES * 60_000
      let kills = 0

      while (performance.now() < endMs) {
        await wait(random() * 10_000)
        const process = hub.processes[Math.floor(random() * hub.processes.length)]!
        await hub.kill(process)
        await wait(random() * 10_000)
        await process.start()
        kills += 1
      }

      await hub.expectWell()
      expect(kills).toBeGreaterThan(0)
    },
  )
})
