import { existsSync, watch } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serveControl } from '../../../src/daemon/control/control.ts'
import { acquireLock, DaemonLock } from '../../../src/daemon/control/daemon-lock.ts'
import { Home } from '../../support/process/program.ts'

test('a command that finds a daemon with its lock and without a socket waits for the socket, and asks there', async () => {
  await using daemon = await StartingDaemon.create()
  daemon.home.env['NODE_OPTIONS'] = STILL_CLOCK
  const command = daemon.home.start('pause', 'team')
  await daemon.foundBusy()

  await using _control = await daemon.listen()
  const end = await command.ended()

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(daemon.decided).toMatchObject([{ source: 'team', verb: 'pause' }])
})

test('a command beside a daemon whose socket never appears names the holder of the lock', async () => {
  await using daemon = await StartingDaemon.create()

  const end = await daemon.home.run('pause', 'team')

  expect(end.status).toBe(1)
  expect(end.stderr).toContain(
    `Cannot write "${daemon.home.state}": process ${process.pid} (skillsyncd start) does; stop it first`,
  )
})

/** The monotonic clock of a process stands still: how long it waits at most does not depend on the machine. */
const STILL_CLOCK = '--import=data:text/javascript,performance.now=()=>0'

/** A daemon, of this process, that has taken the lock of a state folder and has not opened its socket yet. */
class StartingDaemon implements AsyncDisposable {
  readonly home: Home
  /** The decisions that it was asked to store. */
  readonly decided: unknown[] = []
  readonly #lock: DaemonLock

  private constructor(home: Home, lock: DaemonLock) {
    this.home = home
    this.#lock = lock
  }

  static async create(): Promise<StartingDaemon> {
    const home = await Home.create()
    await home.configure({ team: ['url: https://git.example.com/team.git'] })
    await mkdir(home.state, { recursive: true, mode: 0o700 })
    await writeFile(join(home.state, 'format'), '2\n')
    const socket = join(home.path, 'run', 'skillsyncd', 'socket')
    const lock = await acquireLock(home.state, { pid: process.pid, socket, command: 'start' })
    if (!(lock instanceof DaemonLock)) throw new Error('The lock of a new folder is held')
    return new StartingDaemon(home, lock)
  }

  /**
   * Resolves when a command has found no socket and is about to find the lock held: it makes the folders of the state
   * before it takes the lock.
   */
  async foundBusy(): Promise<void> {
    const { state } = this.home
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = (): void => void (existsSync(join(state, 'tmp')) && resolve())
    const watcher = watch(state, look)
    look()
    await promise
    watcher.close()
  }

  async listen(): Promise<AsyncDisposable> {
    return serveControl(this.#lock.holder.socket, {
      hello: async () => ({ locked: false, offline: false }),
      decide: async (params) => {
        this.decided.push(params)
        return null
      },
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock.release()
    await this.home[Symbol.asyncDispose]()
  }
}
