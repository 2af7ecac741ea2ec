import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { World, skill } from '../e2e/world.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'

test('a daemon with --locked says so, and never that a commit is upstream which it was not shown there', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)

  const daemon = world.home.start('start', '--locked')
  await using _peer = await modernHttp(await daemon.line())
  await daemon.said((line) => line.includes('"source-updated"'))
  const before = await told(world.home)
  const synced = await world.home.command('sync')
  const after = await told(world.home)

  expect(before.json.sources[0]).not.toHaveProperty('upstream')
  expect(before.text).toContain(
    `serves the locked commit ${locked.slice(0, 12)} of refs/heads/main; upstream was not queried yet`,
  )
  expect(before.text).not.toContain('up to date')
  expect(before.json.items).toMatchObject([{ kind: 'source', id: 'team', state: 'served', urgency: 'well' }])
  expect(synced.stdout).toBe(
    `team: unchanged, refs/heads/main at ${locked.slice(0, 12)} (locked); upstream is at ${newest.slice(0, 12)}\n`,
  )
  expect(after.text).toContain(`behind: upstream was at ${newest.slice(0, 12)}`)
  for (const { json, text } of [before, after]) {
    expect(json.daemon).toMatchObject({ locked: true, offline: false })
    expect(json.lock).toMatchObject({ file: world.home.lockFile, isThere: true, followed: 1 })
    expect(json.sources[0].lock).toEqual({ state: 'followed', by: '--locked', commit: locked })
    expect(text).toMatch(/^skillsyncd .*: daemon \d+, started .* with --locked;/)
    expect(text).toContain(`lock: followed (--locked), at ${locked.slice(0, 12)}`)
  }
})

test('why tells that the daemon runs with --locked, and that nothing but the lock moves the source', async () => {
  await using world = await World.create()
  const { locked } = await moved(world)
  const daemon = world.home.start('start', '--locked')
  await using _peer = await modernHttp(await daemon.line())
  await daemon.said((line) => line.includes('"source-updated"'))

  const { stdout } = await world.home.command('why', 'alpha')
  const json = JSON.parse((await world.home.command('why', 'alpha', '--json')).stdout)

  expect(stdout).toContain('update  auto, but the daemon runs with --locked: only the lock moves it')
  expect(stdout).toContain(`at ${locked}, and its source serves only that`)
  expect(stdout).not.toContain('which its source does not follow')
  expect(json.lock).toMatchObject({ follows: true, source: { state: 'followed', by: '--locked', commit: locked } })
})

test('a machine that fetches the locked commit says where upstream is, as it saw it', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  await using fresh = await Home.create()
  await fresh.configure({ team: [`url: ${world.git.origin}/team.git`, 'update: locked'] })
  await writeFile(fresh.lockFile, await readFile(world.home.lockFile))

  const synced = JSON.parse((await fresh.command('sync', '--json')).stdout).sources[0]
  const { json, text } = await told(fresh)

  expect(synced).toMatchObject({ commit: locked, upstream: { ref: 'refs/heads/main', commit: newest } })
  expect(synced.lock).toEqual({ state: 'followed', by: 'update: locked', commit: locked })
  expect(json.sources[0]).toMatchObject({ served: { commit: locked }, upstream: { commit: newest } })
  expect(text).toContain(`behind: upstream was at ${newest.slice(0, 12)}`)
})

test('a held commit that is taken without a look at the ref is not told as where upstream is', async () => {
  await using world = await World.create()
  const { locked, newest } = await moved(world)
  const before = await told(world.home)

  await world.home.command('hold', 'team', locked)
  const taken = await told(world.home)
  await world.home.command('sync')
  const seen = await told(world.home)

  expect(before.json.sources[0].upstream).toMatchObject({ commit: newest })
  expect(taken.json.sources[0]).toMatchObject({ served: { commit: locked }, upstream: before.json.sources[0].upstream })
  expect(seen.json.sources[0]).toMatchObject({ served: { commit: locked }, upstream: { commit: newest } })
})

test('a source whose ref is a commit id is never told as up to date: upstream is not asked', async () => {
  await using world = await World.create()
  const commit = await world.repository.git('rev-parse', 'main')
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, `ref: ${commit}`] })

  await world.synced()
  await world.synced()
  const { json, text } = await told(world.home)

  expect(json.sources[0]).toMatchObject({ served: { commit } })
  expect(json.sources[0]).not.toHaveProperty('upstream')
  expect(text).toContain('the configuration pins this commit, and upstream is not queried for another')
  expect(text).not.toContain('up to date')
})

test('with --offline sync says that upstream was not asked, and status when it last was', async () => {
  await using world = await World.create()
  await world.synced()
  const commit = await world.repository.git('rev-parse', 'main')
  const daemon = world.home.start('start', '--offline')
  await using _peer = await modernHttp(await daemon.line())

  const { stdout } = await world.home.command('sync')
  const { json, text } = await told(world.home)

  expect(stdout).toBe(`team: unchanged, refs/heads/main at ${commit.slice(0, 12)}; upstream was not queried\n`)
  expect(json.daemon).toMatchObject({ locked: false, offline: true })
  expect(text).toContain(' with --offline;')
})

/** A lock of the first commit, while the second is upstream and was served before. */
async function moved(world: World): Promise<{ readonly locked: string; readonly newest: string }> {
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const locked = await world.repository.git('rev-parse', 'main')
  const newest = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] }, ['lock: ignore'])
  await world.synced()
  return { locked, newest }
}

async function told(home: Home): Promise<{ readonly json: any; readonly text: string }> {
  const json = JSON.parse((await home.command('status', '--json')).stdout)
  return { json, text: (await home.command('status')).stdout }
}
