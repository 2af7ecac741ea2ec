import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Home } from '../support/process/program.ts'
import { World } from './world.ts'

/** The commands that only look, each with the words of its result. */
const LOOKS = [
  [['status'], '1 skill served'],
  [['list'], 'team/alpha'],
  [['show', 'alpha'], 'alpha (served)'],
  [['why', 'alpha'], 'alpha (served)'],
  [['log'], 'added    alpha'],
] as const

test('an error in the file keeps no person from looking at what the daemon serves, nor from stopping it', async () => {
  await using world = await World.create()
  const daemon = await started(world)
  await edit(world.home, (text) => text.replace('every', 'evry'))

  for (const [command, shown] of LOOKS) {
    const end = await world.home.command(...command)

    expect(end, command[0]).toMatchObject({ status: 0, stdout: expect.stringContaining(shown) })
    expect(end.stderr, command[0]).toMatch(
      /^skillsyncd: the daemon serves the configuration that it read .*: .*skillsyncd\.yaml:4:5: sources\[0\]\.evry: is not a key .*; skillsyncd reload applies it once it is right\n$/,
    )
  }
  await stopsHarm(world.home)
  expect(await world.home.command('stop')).toMatchObject({ status: 0 })
  expect(await daemon.ended()).toMatchObject({ status: 0 })
})

test('an edit that is not applied is told in one line, and the daemon is asked with what it has', async () => {
  await using world = await World.create()
  await started(world)
  await edit(world.home, (text) => text.replace('every: 1h', 'every: 2h'))
  const told = `skillsyncd: "${world.home.configFile}" was edited since the daemon read it (`

  for (const [command, shown] of LOOKS) {
    const end = await world.home.command(...command)

    expect(end, command[0]).toMatchObject({ status: 0, stdout: expect.stringContaining(shown) })
    expect(end.stderr, command[0]).toContain(told)
    expect(end.stderr, command[0]).toContain('; skillsyncd reload applies it\n')
  }
  await stopsHarm(world.home)

  expect(await world.home.command('reload')).toMatchObject({ status: 0, stdout: 'changed team\n' })
  expect(await world.home.command('status')).toMatchObject({ status: 0, stderr: '' })
  await edit(world.home, (text) => text.replace('every: 2h', 'every: 3h'))
  expect((await world.home.command('status')).stderr).toContain(told)
})

test('a comment is no edit of the configuration', async () => {
  await using world = await World.create()
  await started(world)
  await edit(world.home, (text) => `# of the team\n${text}`)

  expect(await world.home.command('status')).toMatchObject({ status: 0, stderr: '' })
})

test('what depends on the file is refused with its cause and its step, by the command and by the doctor', async () => {
  await using world = await World.create()
  await started(world)
  await edit(world.home, (text) => text.replace('every: 1h', 'every: 2h'))
  const cause = `"${world.home.configFile}" was edited since the daemon read it`

  for (const command of ['lock', 'sync', 'update'])
    expect(await world.home.command(command), command).toMatchObject({
      status: 2,
      stderr: `skillsyncd: ${cause}\n  skillsyncd reload applies it\n`,
    })
  const { stdout } = await world.home.command('doctor', '--offline')

  expect(stdout).toContain(`fail  writer: ${cause}\n        → skillsyncd reload applies it\n`)
})

test('another file than that of the daemon is refused, also where it has an error', async () => {
  await using world = await World.create()
  await started(world)
  const { configFile, path, state } = world.home
  const other = join(path, 'other.yaml')
  await writeFile(other, `${await readFile(configFile, 'utf8')}state: ${state}\n`.replace('every: 1h', 'evry: 1h'))

  for (const command of [['disable', 'alpha'], ['status'], ['status', '--state', state]]) {
    const end = await world.home.command(...command, '--config', other)

    expect(end, command[0]).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('other.yaml:4:5') })
  }
  expect(await world.home.command('list', '--served')).toMatchObject({ stdout: expect.stringContaining('alpha') })
})

test('a file that is gone, and a link to the file, are that of the daemon', async () => {
  await using world = await World.create()
  await started(world)
  const { configFile, path } = world.home
  const link = join(path, 'link.yaml')
  await symlink(configFile, link)
  await edit(world.home, (text) => text.replace('every: 1h', 'every: 2h'))

  expect(await world.home.command('status', '--config', link)).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('was edited since the daemon read it'),
  })
  await rm(configFile)

  const gone = await world.home.command('status', '--config', configFile)

  expect(gone).toMatchObject({ status: 0, stderr: expect.stringContaining('no such file') })
  expect(await world.home.command('status')).toMatchObject({ status: 0, stderr: gone.stderr })
})

async function started(world: World) {
  const daemon = world.home.start('start')
  await daemon.line()
  await expect.poll(async () => (await world.home.command('list')).stdout).toContain('team/alpha')
  return daemon
}

async function edit({ configFile }: Home, change: (text: string) => string): Promise<void> {
  await writeFile(configFile, change(await readFile(configFile, 'utf8')))
}

/** Takes a skill out of service and back, and holds and releases its source. */
async function stopsHarm(home: Home): Promise<void> {
  expect(await home.command('disable', 'alpha')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('disabled'),
  })
  expect((await home.command('list')).stdout).toContain('disabled')
  expect(await home.command('enable', 'alpha')).toMatchObject({ status: 0 })
  expect(await home.command('hold', 'team', '--state', home.state)).toMatchObject({ status: 0 })
  expect(await home.command('release', 'team')).toMatchObject({ status: 0 })
}
