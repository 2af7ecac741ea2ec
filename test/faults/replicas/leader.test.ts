import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../support/random.ts'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

/** Each takes some ten seconds, half of them the lease. A long run: `KILLS=50`. */
const KILLS = Number(process.env['KILLS'] ?? 10)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)

describe.skipIf(obstacle !== undefined)(`the leader of a hub${obstacle === undefined ? '' : ` (${obstacle})`}`, () => {
  test(`is killed ${KILLS} times, and another one leads each time (SEED=${SEED})`, { timeout: 1_800_000 }, async () => {
    await using hub = await ReplicatedHub.start()
    const random = randomFrom(SEED)

    for (let kill = 0; kill < KILLS; kill += 1) {
      const leader = await hub.leader()
      // At any point of a pull, which begins each second.
      await wait(random() * 1_500)
      await hub.kill(leader)
      const before = await hub.lease()
      await leader.start()
      await hub.leader()
      const after = await hub.lease()
      expect(after.since.getTime(), 'one leads after the other').toBeGreaterThanOrEqual(before.until.getTime())
    }

    await hub.expectWell()
    const all = Array.from({ length: hub.record.newest }, (_, index) => index + 1)
    expect(await hub.record.takeDatabase(hub.database), 'no generation is lost').toEqual(all)
  })

  test('is frozen for twice its lease, and leads no more when it goes on', async () => {
    await using hub = await ReplicatedHub.start()
    const leader = await hub.leader()
    const said = leader.program.stderr.length

    leader.program.process.kill('SIGSTOP')
    await hub.leader(leader)
    await wait(2 * LEASE_MS)
    leader.program.process.kill('SIGCONT')
    await leader.role(false, said)

    await hub.expectWell()
  })

  test('stops, and another one leads at once', async () => {
    await using hub = await ReplicatedHub.start()
    const leader = await hub.leader()
    const id = leader.id
    let until = 0
    const over = new AbortController()
    const watching = (async () => {
      while (!over.signal.aborted) {
        const lease = await hub.lease()
        if (lease.holder === id) until = lease.until.getTime()
      }
    })()

    await leader.program.stop()
    await hub.leader()
    over.abort()
    await watching

    const { holder, since } = await hub.lease()
    expect(holder).not.toBe(id)
    expect(since.getTime(), 'the end of the lease is not waited for').toBeLessThan(until)
    await leader.start()
    await hub.expectWell()
  })
})

const LEASE_MS = 5_000
