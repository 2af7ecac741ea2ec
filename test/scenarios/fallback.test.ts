import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { World, skill } from '../e2e/world.ts'
import { Home } from '../support/process/program.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'

const RUN = { 'alpha/run.sh': { executable: '#!/bin/sh\n' } }

test('a new machine with the lock gets a commit that its host lost from a hub, serves it, and verify says so', async () => {
  await using lost = await lostWorld()
  await using home = await newMachine(lost)

  const end = await home.command('sync', 'team')

  // That the branch was rewritten is told all the same.
  expect(end.status).toBe(3)
  expect(end.stdout).toContain('history-rewritten')
  const { skills } = JSON.parse((await home.command('list', '--served', '--json')).stdout)
  const uris = skills.map(({ uri }: { readonly uri: string }) => uri)
  expect(uris).toContain('skill://team/alpha/SKILL.md')
  const checked = JSON.parse((await home.command('verify', '--deep', '--offline', '--json')).stdout)
  expect(checked.checks.filter(({ verdict }: { readonly verdict: string }) => verdict === 'fail')).toEqual([])
  expect(checked.checks).toContainEqual(
    expect.objectContaining({
      check: 'proof-missing',
      verdict: 'unknown',
      message: expect.stringContaining('"hub"'),
    }),
  )
})

test('a new machine gets what is locked also where the repository itself is gone, and is told that it is', async () => {
  await using lost = await lostWorld()
  lost.world.git.fault = { kind: 'status', status: 404 }
  await using home = await newMachine(lost)

  const first = await home.command('sync', 'team')
  const second = await home.command('sync', 'team')
  const status = await home.command('status')
  const why = await home.command('why', 'team/alpha')

  expect(first.status).toBe(0)
  expect(second.status).toBe(1)
  expect(second.stdout).toContain('repository-not-found')
  expect(status.stdout).toContain('its skills are those of hub with the locked digests')
  expect(status.stdout).toContain('! repository-not-found')
  expect(why.stdout).toContain('from    hub, by the locked digest')
})

test('where neither the repository nor the skills are to be had, both are told', async () => {
  await using lost = await lostWorld()
  lost.world.git.fault = { kind: 'status', status: 404 }
  await lost.world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), ...RUN }, { orphan: true })
  await lost.hub.sync()
  await using home = await newMachine(lost)

  const end = await home.command('sync', 'team')

  expect(end.status).toBe(1)
  expect(end.stdout).toMatch(
    /\(repository-not-found\): .*, and its fallback "hub" lists nothing with the digest of "alpha"/,
  )
})

test('where the hub has something else by now, the skill that is lost is named, and the hub', async () => {
  await using lost = await lostWorld()
  await lost.world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), ...RUN }, { orphan: true })
  await lost.hub.sync()
  await using home = await newMachine(lost)

  const end = await home.command('sync', 'team')

  expect(end.status).toBe(1)
  expect(end.stdout).toMatch(/its fallback "hub" lists nothing with the digest of "alpha"/)
})

/** A lock of a commit that its host collected, and a hub that has it still. */
interface LostWorld extends AsyncDisposable {
  readonly world: World
  readonly hub: Served
  readonly lock: string
}

async function lostWorld(): Promise<LostWorld> {
  const world = await World.create()
  const { repository, home } = world
  await repository.commit(RUN)
  const hub = await serve(repository, { id: 'team' })
  await home.configure({ team: [`url: ${world.git.origin}/team.git`, 'update: locked'] })
  expect(await home.command('lock')).toMatchObject({ status: 0 })
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'other') }, { orphan: true })
  await repository.git('reflog', 'expire', '--expire=now', '--all')
  await repository.git('gc', '--quiet', '--prune=now')
  const lock = await readFile(home.lockFile, 'utf8')
  return {
    world,
    hub,
    lock,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** With the configuration and the lock, and nothing else. */
async function newMachine({ world, hub, lock }: LostWorld): Promise<Home> {
  const home = await Home.create()
  await home.configure({
    hub: [`mcp: ${hub.url}`],
    team: [`url: ${world.git.origin}/team.git`, 'update: locked', 'fallback: hub'],
  })
  await writeFile(home.lockFile, lock)
  return home
}
