import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../e2e/world.ts'
import { modernHttp } from '../support/clients/peer.ts'

test('the first start after an upgrade tells once, in log and status, that the lock is followed now and what that does', async () => {
  await using world = await World.create()
  const locked = await asLeftByEarlierVersion(world)

  await world.home.command('sync')
  const before = await told(world)
  const daemon = world.home.start('start')
  await using _peer = await modernHttp(await daemon.line())
  await daemon.said((line) => line.includes('"behaviour-changed"'))
  const during = await told(world)
  const first = await daemon.stop()
  const after = await told(world)
  const again = world.home.start('start')
  await using _other = await modernHttp(await again.line())
  const later = await told(world)
  const second = await again.stop()

  const said = `"team" stays at ${locked.slice(0, 12)}; "lock: ignore" in the configuration keeps the old behaviour`
  for (const { text, json } of [before, during]) {
    expect(text).toContain(said)
    expect(json.notices).toMatchObject([{ change: 'lock-followed', message: expect.stringContaining(said) }])
  }
  for (const { text, json } of [after, later]) {
    expect(text).not.toContain('old behaviour')
    expect(json.notices).toEqual([])
  }
  expect(first.stderr.match(/"behaviour-changed"/g)).toHaveLength(1)
  expect(second.stderr).not.toContain('"behaviour-changed"')
})

test('an upgrade has nothing to tell where the lock is ignored, was followed, or is not there', async () => {
  await using world = await World.create()
  await asLeftByEarlierVersion(world)
  const url = `url: ${world.git.origin}/team.git`

  await world.home.configure({ team: [url] }, ['lock: ignore'])
  const ignored = await told(world)
  await world.home.configure({ team: [url, 'update: locked'] })
  const followed = await told(world)
  await world.home.configure({ team: [url] })
  await rm(join(world.home.configFile, '..', 'skills.lock'))
  const without = await told(world)

  for (const { json } of [ignored, followed, without]) expect(json.notices).toEqual([])
})

test('a new installation with a lock is told of no change, at its first start and later', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  await rm(world.home.state, { recursive: true })

  await world.synced()
  const daemon = world.home.start('start')
  await using _peer = await modernHttp(await daemon.line())
  const { json } = await told(world)
  const { stderr } = await daemon.stop()

  expect(json.notices).toEqual([])
  expect(stderr).not.toContain('"behaviour-changed"')
})

/** A state folder that remembers no change, which serves what is newer than the lock beside the configuration. */
async function asLeftByEarlierVersion(world: World): Promise<string> {
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const locked = await world.repository.git('rev-parse', 'main')
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const url = `url: ${world.git.origin}/team.git`
  await world.home.configure({ team: [url] }, ['lock: ignore'])
  await world.synced()
  await world.home.configure({ team: [url] })
  await rm(join(world.home.state, 'changes'))
  return locked
}

async function told(world: World): Promise<{ readonly json: any; readonly text: string }> {
  const json = JSON.parse((await world.home.command('status', '--json')).stdout)
  return { json, text: (await world.home.command('status')).stdout }
}
