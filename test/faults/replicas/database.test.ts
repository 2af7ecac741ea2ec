import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

describe.skipIf(obstacle !== undefined)(
  `the database of a hub${obstacle === undefined ? '' : ` (${obstacle})`}`,
  () => {
    test.each(['fast', 'immediate'] as const)('is restarted (%s)', async (mode) => {
      await using hub = await ReplicatedHub.start()

      await hub.postgres.stop(mode)
      for (const each of hub.processes) await hub.away(each, true)
      await hub.postgres.start()
      await hub.leader()
      await hub.generations(2)

      await hub.expectWell()
    })

    test.each(['resets', 'silent'] as const)('is cut off from the leader (%s)', async (state) => {
      await using hub = await ReplicatedHub.start()
      const leader = await hub.leader()

      leader.link.become(state)
      const next = await hub.leader(leader)
      await hub.generations(2)
      await hub.away(leader, true)
      leader.link.become('passes')
      await leader.role(false)
      await hub.away(leader, false)

      expect(next.leads).toBe(true)
      await hub.expectWell()
    })

    test.each(['resets', 'silent'] as const)('is cut off from one that does not lead (%s)', async (state) => {
      await using hub = await ReplicatedHub.start()
      const leader = await hub.leader()
      const other = hub.processes.find((each) => each !== leader)!

      other.link.become(state)
      await hub.away(other, true)
      await hub.generations(3)
      other.link.become('passes')
      await hub.away(other, false)

      expect(leader.leads, 'the leader is not concerned').toBe(true)
      await hub.expectWell()
    })

    test.each(['resets', 'silent'] as const)('is cut off from all (%s)', async (state) => {
      await using hub = await ReplicatedHub.start()

      for (const { link } of hub.processes) link.become(state)
      for (const each of hub.processes) await hub.away(each, true)
      for (const { link } of hub.processes) link.become('passes')
      for (const each of hub.processes) await hub.away(each, false)
      await hub.generations(2)

      await hub.expectWell()
    })

    test.each(['leads', 'does not lead'] as const)('is silent while a process ends that %s', async (role) => {
      await using hub = await ReplicatedHub.start()
      const leader = await hub.leader()
      const ending = role === 'leads' ? leader : hub.processes.find((each) => each !== leader)!

      ending.link.become('silent')
      // Not by the limit of the whole end, which leaves behind what is not written.
      expect(await ending.program.stop()).toMatchObject({ status: 0 })
      ending.link.become('passes')
      await ending.start()

      await hub.expectWell()
    })

    test('has no space left for a while', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('only root can mount a small disk')
      await using hub = await ReplicatedHub.start({ diskBytes: 48 * 2 ** 20 })
      const disk = hub.postgres.disk ?? ''
      const leader = await hub.leader()

      const { bavail, bsize } = await statfs(disk)
      await writeFile(join(disk, 'ballast'), Buffer.alloc(bavail * bsize))
      await hub.commit({ 'still/data.bin': randomBytes(2 ** 20) })
      await leader.program.said((line) => line.includes('No space left on device'))
      await rm(join(disk, 'ballast'))
      await hub.generations(2)

      await hub.expectWell()
    })

    test('is replaced by a copy that lacks the last publications', async () => {
      await using hub = await ReplicatedHub.start()
      const { data } = hub.postgres
      const copy = `${data}.copy`

      await hub.postgres.stop()
      // With the owner of each file.
      await promisify(execFile)('cp', ['-a', data, copy])
      await hub.postgres.start()
      await hub.leader()
      await hub.generations(3)
      await hub.postgres.stop('immediate')
      const lost = hub.record.newest
      await rm(data, { recursive: true })
      await rename(copy, data)
      await hub.postgres.start()
      await hub.generations(2)

      expect(hub.record.newest).toBeGreaterThan(lost)
      await hub.expectWell()
    })
  },
)
