import { expect, test } from 'vitest'
import { skill, World } from './e2e/world.ts'
import { modernHttp } from './support/clients/peer.ts'

test('the program, as a user starts it, serves a commit, notifies of the next one, and shows it in its status', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  const daemon = home.start('start')
  await using peer = await modernHttp(await daemon.line())
  const heard = await peer.subscribe([], { list: true })
  const names = async (): Promise<string[]> =>
    (await peer.call('skills/list', {})).result.skills.map(({ frontmatter }: any) => frontmatter.name)
  expect(await names()).toEqual(['alpha'])

  const commit = await repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')

  expect(await names()).toEqual(['alpha', 'beta'])
  expect(JSON.parse((await home.command('status', '--json')).stdout)).toMatchObject({
    sources: [{ id: 'team', served: { commit } }],
  })
  expect(await daemon.stop()).toMatchObject({ status: 0 })
})
