import { expect, test } from 'vitest'
import { CraftedChannel, KEY, skillNamed, startFileServer } from '../../../features/channel/follow/site.ts'
import { Hub, idOf, skill } from '../../../scenarios/hub.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { pullNow } from '../../../support/pull-now.ts'

test('a change whose triggered pull failed is taken within ten seconds, long before the next poll', async () => {
  await using git = await GitServer.start()
  await using repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': skill('a') })
  await using hub = await Hub.start({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', HOOK] })
  await pullNow(hub.daemon)
  hub.daemon.poll()
  await hub.pass(untilPollMs(hub))
  const change = await repository.commit({ 'a/SKILL.md': skill('a', 'changed') })
  git.fault = { kind: 'status', status: 500 }

  hub.daemon.parts.webhooks.get(idOf('team'))?.look()
  // The gap after a triggered pull is waited for when its failure was heard.
  while (hub.source('team').problem === undefined) await hub.clock.waited
  git.fault = { kind: 'none' }
  await hub.pass(10_000)

  expect(hub.source('team')).toMatchObject({ served: { commit: change }, problem: undefined })
  expect(untilPollMs(hub)).toBeGreaterThan(600_000)
})

test.each(['checkpoint', 'object/', 'tile/'])(
  'a hub that asks for a pause in place of its %s gets no request until it is over, from any channel',
  async (place) => {
    const channel = new CraftedChannel()
    await using server = await startFileServer(channel.read)
    await channel.publish(skillNamed('one'))
    const follow = [`follow: { url: "${server.url}", key: "${KEY}" }`]
    await using hub = await Hub.start({ first: follow, second: [...follow, 'include: [team/one]'] })
    server.meddle = (_, response, path) => {
      if (!path.startsWith(place)) return false
      response.writeHead(429, { 'retry-after': '600' }).end()
      return true
    }

    await pullNow(hub.daemon, [idOf('first')])
    expect(hub.source('first').problem?.code).toBe('rate-limited')
    server.meddle = () => false
    const requests = server.requests.length
    await pullNow(hub.daemon)
    await hub.clock.advance(599_999)
    expect((await pullNow(hub.daemon)).get(idOf('second'))).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringContaining('its host requested a pause, and 1 s of it are left') },
    })
    expect(server.requests.length).toBe(requests)

    await hub.clock.advance(1)
    await pullNow(hub.daemon)
    expect(hub.daemon.registry.catalog.listed.map(({ name }) => name)).toEqual(['one', 'one'])
    expect([hub.source('first').problem, hub.source('second').problem]).toEqual([undefined, undefined])
  },
)

const HOOK = 'webhook: { provider: github, secret: { file: /secret } }'

/** The time until the next poll of the source. */
function untilPollMs(hub: Hub): number {
  return Date.parse(hub.source('team').nextPoll ?? '') - hub.clock.now().getTime()
}
