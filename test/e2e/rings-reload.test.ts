import { expect, test } from 'vitest'
import { legacyHttp, modernHttp } from '../support/clients/peer.ts'
import { skill, World } from './world.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'

test('a reload of the rings moves clients, and ends the sessions and streams of those that it moves alone', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await configured(world, 'rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]')
  await world.synced()
  expect(await home.command('promote', '--now')).toMatchObject({ status: 0 })
  const [ada, bob, eve] = await Promise.all(['ada', 'bob', 'eve'].map(async (name) => headersOf(world, name)))
  const daemon = home.start('start', '--port', '0')
  const url = await daemon.line()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  const bodies = async () => Promise.all([ada, bob, eve].map(async (headers) => bodyOf(url, headers)))
  expect(await bodies()).toEqual(['second', 'first', 'first'])
  await using moved = await modernHttp(url, bob)
  await using stays = await modernHttp(url, eve)
  await using session = await legacyHttp(url, '2025-11-25', bob)
  await using stream = await moved.subscribe([ALPHA])
  await using kept = await stays.subscribe([ALPHA])
  await kept.next(({ method }) => method?.endsWith('/acknowledged'))

  await configured(world, 'rings: [{ id: canary, principals: [ada, bob] }, { id: stable, min_age: 3d }]')
  expect(await home.command('reload')).toMatchObject({ status: 0 })

  await expect(stream.next(({ method }) => method === 'never')).rejects.toThrow('The stream ended')
  expect(await bodies()).toEqual(['second', 'second', 'first'])
  expect((await session.call('resources/list')).status).toBe(404)
  expect(await home.command('promote', '--now')).toMatchObject({ status: 0 })
  await kept.next(({ method }) => method === 'notifications/resources/updated')

  await configured(world, '')
  expect(await home.command('reload')).toMatchObject({ status: 0 })

  expect(await bodies()).toEqual(['second', 'second', 'second'])
  await configured(world, 'rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]')
  expect(await home.command('reload')).toMatchObject({ status: 0 })
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') })
  await world.synced()
  expect(await bodies()).toEqual(['third', 'second', 'second'])
})

async function configured({ home, git, repository }: World, rings: string): Promise<void> {
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, rings === '' ? [] : [rings])
}

async function headersOf({ home }: World, name: string): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await home.command('hub', 'token', 'add', name, '--scope', 'skills')
  return { authorization: `Bearer ${stdout.trim()}` }
}

async function bodyOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  await using peer = await modernHttp(url, headers)
  const { result } = await peer.call('resources/read', { uri: ALPHA })
  return result?.contents[0].text.split('---\n').at(-1).trim() ?? ''
}
