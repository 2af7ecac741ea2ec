import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeSocketFolder, socketPathOf } from '../../../src/daemon/control/control-path.ts'
import { serveControl } from '../../../src/daemon/control/control-server.ts'
import { acquireLock, DaemonLock } from '../../../src/daemon/control/daemon-lock.ts'
import { Home } from '../../support/process/program.ts'

test('a command that finds a daemon with its lock and without a socket waits for the socket, and asks there', async () => {
  await using daemon = await StartingDaemon.create()
  daemon.home.env['NODE_OPTIONS'] = STILL_CLOCK
  const command = daemon.home.start('hold', 'team', '--no-poll')
  await daemon.foundBusy()

  await using _control = await daemon.listen()
  const end = await command.ended()

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(daemon.decided).toMatchObject([{ source: 'team', verb: 'hold' }])
})

test('a command beside a daemon whose socket never appears names the holder of the lock', async () => {
  await using daemon = await StartingDaemon.create()

  const end = await daemon.home.run('hold', 'team', '--no-poll')

  expect(end.status).toBe(1)
  expect(end.stderr).toContain(
    `Cannot write "${daemon.home.state}": process ${process.pid} (skillsyncd start) writes it; stop it first`,
  )
})

test('a command that is answered by another one, which has just begun to write, waits for its end and asks it nothing', async () => {
  await using home = await Home.create()
  await home.configure({ team: ['url: https://git.example.com/team.git'] })
  await mkdir(home.state, { recursive: true, mode: 0o700 })
  await writeFile(join(home.state, 'format'), '4\n')
  await using other = await BeginningCommand.create(home)
  const command = home.start('hold', 'team', '--no-poll')
  await other.found()

  await other.end()
  const end = await command.ended()

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(other.asked).toEqual([])
})

test('a command that is answered by one that ends before it is asked does its work by itself', async () => {
  await using home = await Home.create()
  await home.configure({ team: ['url: https://git.example.com/team.git'] })
  const path = socketPathOf(home.state, home.env['XDG_RUNTIME_DIR'])
  await makeSocketFolder(dirname(path))
  let answers = 0
  const ending = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      answers += 1
      ending.close()
      socket.end('{"result":{"locked":false,"offline":false}}\n')
    })
  })
  await once(ending.listen(path), 'listening')

  const end = await home.run('hold', 'team', '--no-poll')

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(answers).toBe(1)
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
    await writeFile(join(home.state, 'format'), '4\n')
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
        return {}
      },
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock.release()
    await this.home[Symbol.asyncDispose]()
  }
}

/** A command, of this process, that takes the lock of a state folder when it is first asked who is there. */
class BeginningCommand implements AsyncDisposable {
  /** The requests on the socket that its lock names. */
  readonly asked: string[] = []
  readonly #own = createServer((socket) => this.#take(socket))
  readonly #found = Promise.withResolvers<void>()
  #known: AsyncDisposable | undefined
  #lock: DaemonLock | undefined

  static async create(home: Home): Promise<BeginningCommand> {
    const command = new BeginningCommand()
    const own = join(home.path, 'own-socket')
    await once(command.#own.listen(own), 'listening')
    command.#known = await serveControl(socketPathOf(home.state, home.env['XDG_RUNTIME_DIR']), {
      hello: async () => {
        const lock = await acquireLock(home.state, { pid: process.pid, socket: own, command: 'sync' })
        if (lock instanceof DaemonLock) command.#lock = lock
        return { locked: false, offline: false }
      },
    })
    return command
  }

  /** Resolves when another command has connected to the socket that the lock names. */
  async found(): Promise<void> {
    await this.#found.promise
  }

  async end(): Promise<void> {
    await this.#lock?.release()
    await this.#known?.[Symbol.asyncDispose]()
    this.#own.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  #take(socket: Socket): void {
    this.#found.resolve()
    socket.on('error', () => {})
    socket.on('data', (request) => {
      this.asked.push(String(request))
      socket.end('{"result":null}\n')
    })
  }
}
