import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../src/daemon/status/status.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { damageFreePages } from '../support/damage.ts'
import { GitServer } from '../support/git/git-server.ts'
import type { GitRequest } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { SKILLS, versionsServed, written } from './versions.ts'
import { skill, World } from './world.ts'

test('with the git server down, a restarted daemon serves the last generation without waiting for it, and says how old it is and what is wrong', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1s'] })
  const before = Date.now()
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  const after = Date.now()

  // Whoever waited for an answer would wait as long as this server does. What a restart takes is a figure of the benchmark.
  git.fault = { kind: 'hang-before' }
  const waiting = home.start('start')
  expect(await versionsServed(await waiting.line())).toEqual({ team: 1 })
  await waiting.kill()

  git.fault = { kind: 'status', status: 503 }
  const daemon = home.start('start')
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"pull-failed"'))
  expect(await versionsServed(url)).toEqual({ team: 1 })
  const [source] = (await statusOf(home)).sources
  expect(source).toMatchObject({ problem: { code: 'source-unreachable' } })
  expect(source?.served?.commit).toBe(source?.upstream?.commit)
  expect(Date.parse(source!.upstream!.at)).toBeGreaterThanOrEqual(before)
  expect(Date.parse(source!.upstream!.at)).toBeLessThanOrEqual(after)
  expect(Date.parse(source!.lastAttempt!)).toBeGreaterThan(after)
  const { stdout } = await home.command('status')
  expect(stdout).toMatch(/; upstream was at [0-9a-f]{12} \d+ (?:s|min) ago, last tried /)
  expect(stdout).toContain('! source-unreachable')
  expect(stdout).not.toContain('up to date')
})

test('when the git server comes back the source recovers without a person, within two polls', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1s'] })
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  git.fault = { kind: 'status', status: 503 }
  const daemon = home.start('start')
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"pull-failed"'))
  await using peer = await modernHttp(url)
  const uri = 'skill://team/skill-1/SKILL.md'
  const heard = await peer.subscribe([uri])
  await heard.next(({ method }) => method === 'notifications/subscriptions/acknowledged')

  await repository.commit(written(2))
  const seen = git.requests.length
  git.fault = { kind: 'none' }

  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri)
  expect(polls(git, seen)).toBeLessThanOrEqual(2)
  expect(await versionsServed(url)).toEqual({ team: 2 })
  await daemon.said((line) => line.includes('"recovered"'))
  expect((await statusOf(home)).sources[0]?.problem).toBeUndefined()
})

test('a sync of the command line that is killed leaves nothing that keeps the next one from its work', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] })
  git.fault = { kind: 'hang', at: 2000, on: 'fetch' }
  const killed = home.start('sync')
  await git.requested(({ body }) => /^.{4}command=fetch/.test(body.toString('latin1', 0, 64)))
  await killed.kill()
  git.fault = { kind: 'none' }

  const next = await home.command('sync', '--json')

  expect(next.status).toBe(0)
  expect(JSON.parse(next.stdout).sources).toMatchObject([{ outcome: 'updated', tally: { served: SKILLS } }])
  expect(await readdir(join(home.state, 'tmp'))).toEqual([])
})

async function statusOf(home: Home): Promise<Status> {
  const { status, stdout } = await home.command('status', '--json')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

/** Each poll that reaches the refs is one such request. */
function isPoll({ body }: GitRequest): boolean {
  return /^.{4}command=ls-refs/.test(body.toString('latin1', 0, 64))
}

/** How many polls the server has seen since that request. */
function polls(git: GitServer, since: number): number {
  return git.requests.slice(since).filter(isPoll).length
}

test.each([[['-wal']], [['-shm']], [['-wal', '-shm']]])(
  'a daemon of which %j of the database is removed finds it before the next pull, and every command reads on',
  async (suffixes) => {
    await using world = await World.create()
    const daemon = world.home.start('start')
    await daemon.said((line) => line.includes('"source-updated"'))
    const made = daemon.said((line) => line.includes('"store-log-made-again"'))
    for (const suffix of suffixes) await rm(join(world.home.state, `store.db${suffix}`))

    // A reader makes an empty one in its place.
    await world.home.command('verify')
    await made

    for (const command of [['status'], ['verify'], ['show', 'alpha']])
      expect(await world.home.command(...command), command[0]).toMatchObject({ status: 0 })
    expect(await daemon.stop()).toMatchObject({ status: 0 })
  },
)

test('a database in which only the writes of a fetch meet damage is replaced by the next pull, and has everything again', async () => {
  await using world = await World.create()
  await world.synced()
  await damageFreePages(world.home.state)
  await world.repository.commit({ 'alpha/large.bin': 'large'.repeat(50_000), 'beta/SKILL.md': skill('beta', 'b') })
  const daemon = world.home.start('start')
  const failed = await daemon.said((line) => line.includes('"pull-failed"'))

  await world.synced()

  expect(failed).toContain('Cannot store objects: database disk image is malformed')
  await daemon.said((line) => line.includes('"store-replaced"'))
  expect((await world.home.command('list')).stdout).toMatch(/alpha[^]*beta/)
  expect(await world.home.command('verify', '--deep')).toMatchObject({ status: 0 })
})
