import { expect, test } from 'vitest'
import { World } from '../e2e/world.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { Hub, idOf, skill } from './hub.ts'

const HOUR_MS = 3_600_000

/** A hub with one source, and what its host does. */
async function hubOf(lines: readonly string[]) {
  const git = await GitServer.start()
  const repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha') })
  const hub = await Hub.start({ team: [`url: ${git.serve('team', repository)}`, ...lines] })
  return {
    hub,
    git,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]()
      await git[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

test('a hub is ready from its first generation on, and stays it without the sources that nobody requires', async () => {
  await using world = await hubOf(['every: 1h'])
  const before = world.hub.daemon.parts.status.unready
  await pullNow(world.hub.daemon)
  world.git.fault = { kind: 'status', status: 500 }
  world.hub.daemon.poll()

  await world.hub.pass(100 * HOUR_MS)

  expect(before).toEqual([{ why: 'nothing-served' }])
  expect(world.hub.daemon.parts.status.unready).toEqual([])
})

test('a required source that was never pulled is named, beside others that are served', async () => {
  await using world = await hubOf(['every: 1h', 'required: true'])
  world.git.fault = { kind: 'status', status: 500 }

  await pullNow(world.hub.daemon)

  expect(world.hub.daemon.parts.status.unready).toEqual([
    { why: 'nothing-served' },
    { source: 'team', why: 'nothing-served' },
  ])
})

test('a required source is too old once its last answer is older than max_age, and no longer once it answers', async () => {
  await using world = await hubOf(['every: 1h', 'required: true', 'max_age: 5h'])
  await pullNow(world.hub.daemon)
  world.hub.daemon.poll()
  world.git.fault = { kind: 'status', status: 500 }

  await world.hub.pass(5 * HOUR_MS)
  const young = world.hub.daemon.parts.status.unready
  await world.hub.pass(HOUR_MS)
  const old = world.hub.daemon.parts.status.unready
  world.git.fault = { kind: 'none' }
  await world.hub.pass(2 * HOUR_MS)

  expect(young).toEqual([])
  expect(old).toEqual([{ source: 'team', why: 'too-old', age: 6 * 3600, limit: 5 * 3600 }])
  expect(world.hub.daemon.parts.status.unready).toEqual([])
})

test.each([
  ['every: 1h', 24],
  ['every: 12h', 48],
  [`every: '0 0 * * *'`, 96],
  [`every: '0 0 1 1 *'`, 4 * 365 * 24],
])('without max_age, a source with %s may be %i hours old', async (schedule, hours) => {
  await using world = await hubOf([schedule, 'required: true'])
  await pullNow(world.hub.daemon)

  await world.hub.clock.advance(hours * HOUR_MS)
  const young = world.hub.daemon.parts.status.unready
  await world.hub.clock.advance(25 * HOUR_MS)

  expect(young).toEqual([])
  expect(world.hub.daemon.parts.status.unready).toMatchObject([{ source: 'team', why: 'too-old', limit: hours * 3600 }])
})

test('a required source that somebody holds without polls is as old as was wanted', async () => {
  await using world = await hubOf(['every: 1h', 'required: true', 'max_age: 5h'])
  await pullNow(world.hub.daemon)
  await world.hub.daemon.parts.decisions.decide(idOf('team'), 'hold', { hold: { noPoll: true } })

  await world.hub.clock.advance(100 * HOUR_MS)

  expect(world.hub.daemon.parts.status.unready).toEqual([])
})

test('a clock that was set back makes no source too old', async () => {
  await using world = await hubOf(['every: 1h', 'required: true', 'max_age: 5h'])
  await pullNow(world.hub.daemon)

  world.hub.clock.setWall(new Date(world.hub.clock.now().getTime() - 100 * HOUR_MS))

  expect(world.hub.daemon.parts.status.unready).toEqual([])
})

test('/readyz of a running daemon names the required source that holds it back, and lets requests come once it answers', async () => {
  await using world = await World.create(['every: 1h'])
  await world.synced()
  const url = world.git.serve('team', world.repository)
  await world.home.configure({
    team: [`url: ${url}`, 'every: 1h'],
    other: [`url: ${url}`, 'ref: missing', 'every: 1s', 'required: true'],
  })
  const daemon = world.home.start('start')
  const { origin } = new URL(await daemon.line())
  await daemon.said((line) => line.includes('"pull-failed"'))

  const refused = await fetch(`${origin}/readyz`)
  await world.repository.setRef('refs/heads/missing', 'HEAD')
  await daemon.said((line) => line.includes('"source-updated"') && line.includes('"other"'))
  const ready = await fetch(`${origin}/readyz`)

  expect(refused.status).toBe(503)
  expect(await refused.json()).toEqual({
    status: 'not ready',
    reasons: [{ source: 'other', why: 'nothing-served' }],
  })
  expect([ready.status, await ready.text()]).toEqual([200, '{"status":"ready"}'])
})

test('where clients need a token, /readyz names no source', async () => {
  await using world = await World.create(['every: 1h', 'required: true'])
  world.git.fault = { kind: 'status', status: 500 }
  await world.home.command('hub', 'token', 'add', 'reader')
  const daemon = world.home.start('start', '--host', '0.0.0.0')
  const { port } = new URL(await daemon.line())

  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)

  expect([answer.status, await answer.text()]).toEqual([503, '{"status":"not ready"}'])
})
