import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { TinyDisk } from '../../support/process/tiny-disk.ts'
import { randomFrom } from '../../support/random.ts'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

const noDisk = await TinyDisk.obstacle()

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

  test.skipIf(noDisk !== undefined)('cannot write to its disk, and another one leads meanwhile', async () => {
    await using hub = await ReplicatedHub.start({ processDiskBytes: 64 * 2 ** 20, rest: UNRECORDED })
    const leader = await hub.leader()

    await leader.disk?.fill()
    const next = await hub.leader(leader)
    await leader.role(false)
    await hub.generations(2)
    expect(next.leads).toBe(true)
    await leader.disk?.free()

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

/** The record of who read what would fill the disk. */
const UNRECORDED = ['audit: { enabled: false }', 'usage: { enabled: false }']
