import { expect, test } from 'vitest'
import { Hub, idOf, skill } from '../../scenarios/hub.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'

test('a change whose triggered pull failed is taken within ten seconds, long before the next poll', async () => {
  await using git = await GitServer.start()
  await using repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': skill('a') })
  await using hub = await Hub.start({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', HOOK] })
  await hub.daemon.sync()
  hub.daemon.poll()
  await hub.pass(untilPollMs(hub))
  const change = await repository.commit({ 'a/SKILL.md': skill('a', 'changed') })
  git.fault = { kind: 'status', status: 500 }

  hub.daemon.webhooks.get(idOf('team'))?.look()
  // The gap after a triggered pull is waited for when its failure was heard.
  while (hub.source('team').condition === undefined) await hub.clock.waited
  git.fault = { kind: 'none' }
  await hub.pass(10_000)

  expect(hub.source('team')).toMatchObject({ served: { commit: change }, condition: undefined })
  expect(untilPollMs(hub)).toBeGreaterThan(600_000)
})

const HOOK = 'webhook: { provider: github, secret: { file: /secret } }'

/** The time until the next poll of the source. */
function untilPollMs(hub: Hub): number {
  return Date.parse(hub.source('team').nextPoll ?? '') - hub.clock.now().getTime()
}
