import { expect, test } from 'vitest'
import { HostileServer } from '../support/hostile/hostile-server.ts'
import { pullNow } from '../support/pull-now.ts'
import { Hub, skill } from './hub.ts'

const MINUTE_MS = 60_000
/** By how much time moves on while a machine catches up: what is told apart is finer than the minutes that are left to chance. */
const STEP_MS = 1_000

test('while its hub is down a machine serves what it has and says so, and each catches up once, not all at one time', async () => {
  await using server = await HostileServer.start()
  server.skills.set('skill://refunds/SKILL.md', { 'SKILL.md': skill('refunds') })
  const caughtUp: string[] = []
  for (let machine = 0; machine < 8; machine += 1) {
    server.door = undefined
    await using follower = await Hub.start({ hub: [`mcp: ${server.url}`, 'approval: none', 'every: 30m'] })
    await pullNow(follower.daemon)
    follower.daemon.poll()
    server.door = () => ({ raw: '', status: 503 })

    await follower.pass(200 * MINUTE_MS)
    const down = follower.source('hub')
    server.door = undefined
    const before = server.of('skills/list').length
    while (follower.source('hub').problem !== undefined) await follower.pass(STEP_MS)
    const up = follower.source('hub')

    expect(down).toMatchObject({ problem: { code: 'source-unreachable' }, tally: { served: 1 } })
    expect(follower.daemon.registry.catalog.listed).toHaveLength(1)
    // The look, and one more once it listens again: nobody told of what came between the two.
    expect(server.of('skills/list').length - before).toBeLessThanOrEqual(2)
    caughtUp.push(up.lastSuccess!)
  }

  expect(new Set(caughtUp).size).toBeGreaterThan(4)
})
