import { once } from 'node:events'
import { chmod, chown, lchown, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Ended, Home } from '../../support/process/program.ts'
import { World } from '../world.ts'

const IS_ROOT = process.getuid?.() === 0
const NEEDS_ROOT = IS_ROOT ? '' : ' (needs root)'
const OTHER = 65_534
const AS_OTHER = `run it as that user (sudo -u '#${OTHER}' skillsyncd …)`

test.each(['state folder', 'folder of the layout', 'file'])(
  'a %s that others can write to is refused by each command, with the command that mends it',
  async (kind) => {
    await using world = await pulled()
    const { home } = world
    const path = { file: join(home.state, 'format'), 'folder of the layout': join(home.state, 'sources') }[kind]
    const refused = `others can write to "${path ?? home.state}"`
    await chmod(path ?? home.state, 0o777)

    for (const command of [
      ['sync'],
      ['start'],
      ['mcp'],
      ['list'],
      ['hub', 'token', 'add', 'ada'],
      ['disable', 'team/alpha'],
    ]) {
      const end = await ended(home, ...command)

      expect(end, command[0]).toMatchObject({ status: 1, stdout: '' })
      expect(end.stderr, command[0]).toContain(refused)
      expect(end.stderr, command[0]).toContain(`chmod -R go-w "${home.state}"`)
    }
    const { stdout: examined } = await home.command('doctor')
    expect(examined).toContain(refused)
    expect(examined).toContain('Another user could change what is served')

    await chmod(path ?? home.state, 0o755)
    expect(await home.command('sync')).toMatchObject({ status: 0 })
  },
)

test.skipIf(!IS_ROOT)(`tokens that another user planted open nothing${NEEDS_ROOT}`, async () => {
  await using world = await pulled()
  const { home } = world
  const planted = join(home.state, 'tokens.json')
  await writeFile(planted, '{"tokens":[]}', { mode: 0o600 })
  await chown(planted, OTHER, OTHER)

  for (const command of ['sync', 'start', 'mcp', 'list']) {
    const end = await ended(home, command)

    expect(end, command).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr, command).toContain(`the owner of "${planted}" is user ${OTHER}`)
  }
  expect((await home.command('doctor')).stdout).toContain(planted)

  await rm(planted)
  expect(await home.command('sync')).toMatchObject({ status: 0 })
})

test.skipIf(!IS_ROOT)(`root reads the state of a service${NEEDS_ROOT}, and neither serves nor writes it`, async () => {
  await using world = await pulled()
  const { home } = world
  await give(home.state)

  const listed = await home.command('list')

  expect(listed).toMatchObject({ status: 0, stdout: expect.stringContaining('alpha') })
  for (const command of ['sync', 'start', 'mcp']) {
    const end = await ended(home, command)

    expect(end, command).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr, command).toContain(`its owner is user ${OTHER}, and this is user 0; ${AS_OTHER}`)
  }
})

test.skipIf(!IS_ROOT)(
  `root asks the daemon of a service, and links nothing that the daemon could not switch${NEEDS_ROOT}`,
  async () => {
    await using world = await pulled()
    const { home } = world
    for (const folder of [home.state, join(home.path, 'run'), join(home.path, 'tmp')]) await give(folder)
    for (const folder of [home.path, dirname(home.state)]) await chmod(folder, 0o755)
    home.under = ['setpriv', `--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups', '--']
    const daemon = home.start('start')
    await daemon.line()
    home.under = []

    const disabled = await home.command('disable', 'team/alpha')
    const linked = await home.command('link', '--once', 'claude-code')

    expect(disabled).toMatchObject({ status: 0, stderr: '' })
    expect(linked).toMatchObject({ status: 1, stdout: '' })
    expect(linked.stderr).toContain(AS_OTHER)
    expect(await daemon.stop()).toMatchObject({ status: 0 })
  },
)

test('a lock put into a folder that others can write to has its socket asked nothing', async () => {
  await using world = await pulled()
  const { home } = world
  const socket = join(home.path, 'planted')
  let asked = 0
  await using server = createServer((taken) => {
    taken.on('error', () => {})
    asked += 1
    taken.destroy()
  })
  await once(server.listen(socket), 'listening')
  const planted = { pid: process.pid, socket, command: 'start', nonce: '0'.repeat(16) }
  await writeFile(join(home.state, 'daemon.lock'), JSON.stringify(planted))
  await chmod(home.state, 0o777)

  for (const command of [['hub', 'token', 'add', 'ada'], ['disable', 'team/alpha'], ['reload']]) {
    const end = await home.command(...command)

    expect(end, command[0]).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr, command[0]).toContain(`others can write to "${home.state}"`)
  }
  expect(asked).toBe(0)
})

test.each(['000', '002', '077'])('what is written under umask %s is opened again', async (umask) => {
  await using world = await pulled()
  const { home } = world
  home.under = ['sh', '-c', `umask ${umask} && exec "$@"`, 'sh']
  await rm(home.state, { recursive: true })

  expect(await home.run('hub', 'token', 'add', 'ada')).toMatchObject({ status: 0 })
  expect(await home.run('sync')).toMatchObject({ status: 0 })
  expect(await home.run('disable', 'team/alpha')).toMatchObject({ status: 0 })
  const daemon = home.start('start')
  await daemon.line()
  await daemon.stop()

  expect(await home.run('sync')).toMatchObject({ status: 0 })
  expect(await home.run('list')).toMatchObject({ status: 0 })
})

test('folders of an earlier version, which all can read, and one that the disk made are no reason to refuse', async () => {
  await using world = await pulled()
  const { home } = world
  for (const name of ['', 'sources', 'tmp']) await chmod(join(home.state, name), 0o755)
  await mkdir(join(home.state, 'lost+found'))
  await chmod(join(home.state, 'lost+found'), 0o2770)

  expect(await home.command('sync')).toMatchObject({ status: 0 })
})

/** A world that has pulled once. */
async function pulled(): Promise<World> {
  const world = await World.create()
  await world.synced()
  return world
}

async function give(folder: string): Promise<void> {
  const below = await readdir(folder, { recursive: true })
  for (const path of ['', ...below]) await lchown(join(folder, path), OTHER, OTHER)
}

/** The end of a command: of `start` and `mcp` as a process of its own, of others in this one. */
async function ended(home: Home, ...command: readonly string[]): Promise<Ended> {
  return command[0] === 'start' || command[0] === 'mcp' ? home.run(...command) : home.command(...command)
}
