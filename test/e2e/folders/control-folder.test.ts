import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { lockHolderOf } from '../../../src/daemon/control/daemon-lock.ts'
import type { Home } from '../../support/process/program.ts'
import { World } from '../world.ts'

const IS_ROOT = process.getuid?.() === 0
const NEEDS_ROOT = IS_ROOT ? '' : ' (needs root, to be another user)'
const OTHER = 65_534

test('a folder that another user made first stops neither the daemon nor what is asked of it', async () => {
  await using world = await withoutRuntime()
  const { home } = world
  const planted = `skillsyncd-${process.getuid?.()}`
  await mkdir(join(home.path, 'tmp', planted), { mode: 0o755 })

  expect(await home.run('sync')).toMatchObject({ status: 0 })
  const daemon = home.start('start')
  await daemon.line()
  for (const command of [
    ['hub', 'token', 'add', 'ada'],
    ['hub', 'token', 'revoke', 'ada'],
    ['disable', 'team/alpha'],
    ['reload'],
    ['doctor'],
  ])
    expect(await home.command(...command), command[0]).toMatchObject({ status: 0 })

  expect(JSON.parse((await home.command('status', '--json')).stdout)).toMatchObject({ daemon: { pid: daemon.pid } })
  expect(await daemon.stop()).toMatchObject({ status: 0 })
  expect(await readdir(join(home.path, 'tmp'))).toEqual([planted])
})

test('the folder of a daemon that was killed is removed by the one that follows it', async () => {
  await using world = await withoutRuntime()
  const { home } = world
  const { daemon: killed, socket: left } = await started(home)
  await killed.kill()

  const next = home.start('start')
  await next.line()

  expect(existsSync(dirname(left))).toBe(false)
  expect(await next.stop()).toMatchObject({ status: 0 })
  expect(await readdir(join(home.path, 'tmp'))).toEqual([])
})

test('a swept folder is not made again by its name, which others have read: the daemon listens in another', async () => {
  await using world = await withoutRuntime()
  const { home } = world
  await world.synced()
  const { daemon, socket: before } = await started(home)
  await rm(dirname(before), { recursive: true })

  await daemon.said((line) => line.includes('"control-socket-made-again"'))

  const { socket: after } = (await lockHolderOf(home.state))!
  expect(dirname(after)).not.toBe(dirname(before))
  expect(await home.command('disable', 'team/alpha')).toMatchObject({ status: 0 })
  expect(await daemon.stop()).toMatchObject({ status: 0 })
  expect(await readdir(join(home.path, 'tmp'))).toEqual([])
})

test.skipIf(!IS_ROOT)(
  `a user that takes the folder's name is asked nothing, and the daemon moves${NEEDS_ROOT}`,
  async () => {
    await using world = await withoutRuntime()
    const { home } = world
    await world.synced()
    const { daemon, socket: before } = await started(home)
    daemon.process.kill('SIGSTOP')
    await using impostor = await Impostor.at(before)

    const kept = await home.command('disable', 'team/alpha')
    daemon.process.kill('SIGCONT')
    await daemon.said((line) => line.includes('"control-socket-made-again"'))

    expect(kept).toMatchObject({ status: 1, stderr: expect.stringContaining(`process ${daemon.pid}`) })
    expect((await lockHolderOf(home.state))!.socket).not.toBe(before)
    expect(await home.command('disable', 'team/alpha')).toMatchObject({ status: 0 })
    expect(await daemon.stop()).toMatchObject({ status: 0 })
    expect(impostor.asked).toBe(0)
  },
)

test.skipIf(!IS_ROOT)(
  `a user that listens in place of a killed daemon does not keep its lock${NEEDS_ROOT}`,
  async () => {
    await using world = await withoutRuntime()
    const { home } = world
    await world.synced()
    const killed = home.start('start')
    await killed.line()
    const { socket } = (await lockHolderOf(home.state))!
    await killed.kill()
    await using impostor = await Impostor.at(socket)

    const next = home.start('start')
    await next.line()

    expect(await home.command('disable', 'team/alpha')).toMatchObject({ status: 0 })
    expect(impostor.asked).toBe(0)
  },
)

test.skipIf(!IS_ROOT)(
  `the runtime folder of another user is left alone, and named with what helps${NEEDS_ROOT}`,
  async () => {
    await using world = await withoutRuntime()
    const { home } = world
    const runtime = join(home.path, 'run')
    home.env['XDG_RUNTIME_DIR'] = runtime
    await chown(runtime, OTHER, OTHER)

    for (const command of ['start', 'sync']) {
      const end = await home.run(command)

      expect(end, command).toMatchObject({ status: 1, stdout: '' })
      expect(end.stderr, command).toContain(`"${runtime}": it is of user ${OTHER}, and this is user 0`)
      expect(end.stderr, command).toContain('Set XDG_RUNTIME_DIR to a folder of this user alone, or unset it')
      expect(end.stderr, command).not.toContain('state folder')
    }
    expect(await readdir(runtime)).toEqual([])
    delete home.env['XDG_RUNTIME_DIR']
    expect(await home.run('sync')).toMatchObject({ status: 0 })
  },
)

test('what is in the way in the runtime folder is named with what helps', async () => {
  await using world = await withoutRuntime()
  const { home } = world
  home.env['XDG_RUNTIME_DIR'] = join(home.path, 'run')
  await mkdir(join(home.path, 'run', 'skillsyncd'), { mode: 0o755 })

  const end = await home.run('sync')

  expect(end.stderr).toContain('it is not a folder of this user alone')
  expect(end.stderr).toContain('Set XDG_RUNTIME_DIR to a folder of this user alone, or unset it')
  expect((await home.command('doctor')).stdout).toContain('it is not a folder of this user alone')
})

/** Another user's folder and socket, in the place of those of the daemon. */
class Impostor implements AsyncDisposable {
  readonly #server = createServer((socket) => {
    socket.on('error', () => {})
    this.asked += 1
    socket.destroy()
  })
  asked = 0

  static async at(socket: string): Promise<Impostor> {
    const impostor = new Impostor()
    await rm(dirname(socket), { recursive: true })
    await mkdir(dirname(socket), { mode: 0o755 })
    await once(impostor.#server.listen(socket), 'listening')
    for (const path of [dirname(socket), socket]) await chown(path, OTHER, OTHER)
    return impostor
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** A daemon that listens, and its socket as its lock names it. */
async function started(home: Home) {
  const daemon = home.start('start')
  await daemon.line()
  return { daemon, socket: (await lockHolderOf(home.state))!.socket }
}

/** A world whose home has no runtime folder. */
async function withoutRuntime(): Promise<World> {
  const world = await World.create()
  delete world.home.env['XDG_RUNTIME_DIR']
  return world
}
