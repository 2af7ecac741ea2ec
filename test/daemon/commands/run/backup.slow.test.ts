import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'

/** A world with two generations, a disabled skill, a held source and a token. */
async function usedWorld(): Promise<World> {
  const world = await World.create()
  await world.synced()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'b') })
  await world.synced()
  for (const args of [
    ['disable', 'beta'],
    ['hold', 'team'],
    ['hub', 'token', 'add', 'ci', '--expires', 'never'],
  ])
    expect(await world.home.command(...args)).toMatchObject({ status: 0 })
  return world
}

/** What commands tell of a state folder. */
async function toldOf({ home }: World, state: string): Promise<unknown> {
  const told: unknown[] = []
  for (const args of [
    ['list'],
    ['list', '--disabled'],
    ['log'],
    ['hub', 'token', 'list'],
    ['verify', '--deep', '--offline'],
  ]) {
    const { status, stdout } = await home.command(...args, '--json', '--state', state)
    told.push([args, status, stdout])
  }
  return told
}

test('a restored folder tells the same: skills, history, decisions, tokens; and goes on with the next generation', async () => {
  await using world = await usedWorld()
  const { home } = world
  const [file, other] = [join(home.path, 'backup'), join(home.path, 'other')]

  const backed = await home.command('store', 'backup', file, '--json')
  const restored = await home.command('store', 'restore', file, '--state', other, '--json')

  const contents = JSON.parse(backed.stdout)
  expect(backed.status).toBe(0)
  expect(contents).toEqual({ path: file, generation: 2, objects: contents.objects, bytes: contents.bytes })
  expect(restored).toMatchObject({ status: 0 })
  expect(JSON.parse(restored.stdout)).toEqual({ ...contents, path: other })
  expect(await toldOf(world, other)).toEqual(await toldOf(world, home.state))
  await world.repository.commit({ 'gamma/SKILL.md': skill('gamma', 'c') })
  await home.command('release', 'team', '--state', other)
  expect(await home.command('sync', '--state', other)).toMatchObject({ status: 0 })
  expect(JSON.parse((await home.command('log', '--state', other, '--json')).stdout).generations[0].generation).toBe(3)
})

test('a backup is made while a daemon runs, into no file that is there, and of no folder that is not', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const file = join(home.path, 'backup')
  const daemon = home.start('start')
  await daemon.line()

  const end = await home.command('store', 'backup', file)
  const again = await home.command('store', 'backup', file)
  const nothing = await home.command('store', 'backup', join(home.path, 'none'), '--state', join(home.path, 'other'))
  const unnamed = await home.command('store', 'backup')

  expect(end).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^.*backup: generation 1, \d+ objects, \d+ bytes\n$/),
  })
  expect(again).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('it is there already; name another, or remove it'),
  })
  expect(nothing).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(
      'nothing is published there yet\n  Run skillsyncd sync first, or name the state folder of the daemon with --state\n',
    ),
  })
  expect(unnamed).toMatchObject({ status: 2, stderr: expect.stringContaining('Name the file of the backup') })
  expect((await readdir(home.path)).filter((name) => name.startsWith('.tmp-'))).toEqual([])
})

test('nothing is restored into a folder that a daemon writes, or that a generation is in', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const file = join(home.path, 'backup')
  await home.command('store', 'backup', file)
  const daemon = home.start('start')
  await daemon.line()

  const running = await home.command('store', 'restore', file)
  await daemon.stop()
  const used = await home.command('store', 'restore', file)
  const absent = await home.command('store', 'restore', join(home.path, 'none'))
  const database = await home.command(
    'store',
    'restore',
    join(home.state, 'store.db'),
    '--state',
    join(home.path, 'other'),
  )

  expect(running).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/process \d+ \(skillsyncd start\) writes it; stop it first/),
  })
  expect(used).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('generation 1 is in it; move the folder away first'),
  })
  expect(absent).toMatchObject({ status: 2, stderr: expect.stringContaining('There is no "') })
  expect(database).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('it is not a backup; skillsyncd store backup FILE writes one'),
  })
  expect(existsSync(join(home.path, 'other'))).toBe(false)
  expect(await home.command('verify')).toMatchObject({ status: 0 })
})

test('of a damaged backup nothing is restored, and no folder is made', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const file = join(home.path, 'backup')
  await home.command('store', 'backup', file)
  {
    using database = new DatabaseSync(file)
    database.exec('UPDATE object SET bytes = zeroblob(size) WHERE id = 1')
  }

  const end = await home.command('store', 'restore', file, '--state', join(home.path, 'other'))

  expect(end).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining(`Cannot use the backup "${file}": an object is damaged`),
  })
  expect(await readdir(home.path)).not.toContain('other')
})

test('a folder in which a restore was killed serves nothing, and the next restore makes it whole', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const [file, other] = [join(home.path, 'backup'), join(home.path, 'other')]
  await home.command('store', 'backup', file)
  await mkdir(other, { mode: 0o700 })
  await writeFile(join(other, 'format'), 'restore\n')

  const refused = [await home.command('list', '--state', other), await home.command('sync', '--state', other)]
  const restored = await home.command('store', 'restore', file, '--state', other)

  for (const end of refused)
    expect(end).toMatchObject({ status: 1, stderr: expect.stringContaining('run skillsyncd store restore again') })
  expect(restored).toMatchObject({ status: 0 })
  expect(await toldOf(world, other)).toEqual(await toldOf(world, home.state))
})
