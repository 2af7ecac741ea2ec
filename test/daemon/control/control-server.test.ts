import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { askDaemon, type ControlAnswer } from '../../../src/daemon/control/control-client.ts'
import {
  isFresh,
  removeSocketFolder,
  socketPathOf,
  unlockedSocketOf,
} from '../../../src/daemon/control/control-path.ts'
import { redactHandlers } from '../../../src/daemon/control/control-redaction.ts'
import { serveControl, type ControlHandlers } from '../../../src/daemon/control/control-server.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { OperatorError } from '../../../src/daemon/runtime/operator-error.ts'
import { mendOf, SyncError } from '../../../src/sync/model/sync-error.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('a method is asked for with its parameters and answers with its result', async () => {
  await using daemon = await running({ double: async (params) => ({ twice: Number(params) * 2 }) })

  const answer = await ask(daemon.path, 'double', 21)

  expect(answer).toEqual({ kind: 'answered', result: { twice: 42 } })
})

test('events come before the result, in the order they were sent', async () => {
  await using daemon = await running({
    sync: async (_params, send) => {
      for (const source of ['one', 'two', undefined]) send(source)
      return undefined
    },
  })
  const events: unknown[] = []

  const answer = await ask(daemon.path, 'sync', undefined, { onEvent: (event) => events.push(event) })

  expect(events).toEqual(['one', 'two', null])
  expect(answer).toEqual({ kind: 'answered', result: null })
})

test('nobody listens where there is no socket, and where one was left by a process that is gone', async () => {
  await using folder = await temporaryFolder()
  const left = join(folder.path, 'left.sock')
  await leaveSocket(left)

  expect(await ask(join(folder.path, 'none.sock'), 'status')).toEqual({ kind: 'no-daemon' })
  expect(await ask(left, 'status')).toEqual({ kind: 'no-daemon' })
})

test('an expected failure is told with its code', async () => {
  await using daemon = await running({
    sync: () => Promise.reject(new SyncError('dns-failed', 'Cannot reach "team": no such host')),
    reload: () => Promise.reject(new OperatorError('bad-config', 'Cannot read the configuration', { fix: 'Read it' })),
  })

  await expect(ask(daemon.path, 'sync')).rejects.toThrow(
    new OperatorError('dns-failed', 'Cannot reach "team": no such host', { fix: mendOf({ code: 'dns-failed' }) }),
  )
  await expect(ask(daemon.path, 'reload')).rejects.toMatchObject({
    name: 'OperatorError',
    code: 'bad-config',
    fix: 'Read it',
  })
})

test('the key that the next step of a failure concerns is told with it', async () => {
  const limit = new SyncError('limit-exceeded', 'Cannot fetch', { place: 'limits.disk.bytes' })
  const operator = new OperatorError('limit-exceeded', 'Cannot fetch', { place: 'limits.disk.bytes' })
  const handlers = { sync: () => Promise.reject(limit), reload: () => Promise.reject(operator) }
  await using daemon = await running(redactHandlers(handlers, new Redactor()))

  for (const method of ['sync', 'reload'])
    await expect(ask(daemon.path, method)).rejects.toMatchObject({ place: 'limits.disk.bytes' })
})

test('a method that there is not is refused, one that every object has included', async () => {
  await using daemon = await running({})

  for (const method of ['status', 'toString', '__proto__']) {
    await expect(ask(daemon.path, method)).rejects.toMatchObject({ code: 'unknown-method' })
  }
})

test('what was stopped is told as such, and the daemon goes on', async () => {
  const stopped = new DOMException('The pull of "team" was stopped', 'AbortError')
  await using daemon = await running({ sync: () => Promise.reject(stopped), ping: async () => 'pong' })

  await expect(ask(daemon.path, 'sync')).rejects.toThrow(new OperatorError('stopped', stopped.message))

  expect(await ask(daemon.path, 'ping')).toEqual({ kind: 'answered', result: 'pong' })
})

test('a method with a name of almost 1 MiB is refused like any other', async () => {
  await using daemon = await running({})

  await expect(ask(daemon.path, '"'.repeat(2 ** 18))).rejects.toMatchObject({ code: 'unknown-method' })
})

test('the code of a daemon of a newer version is in the message', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'control.sock')
  const newer = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(`${JSON.stringify({ error: { code: 'from-next-year', message: 'Cannot sync: ask next year' } })}\n`)
  })
  await once(newer.listen(path), 'listening')

  const error = await ask(path, 'sync').catch((error: unknown) => error)

  newer.close()
  expect(error).toMatchObject({ code: 'internal', message: 'Cannot sync: ask next year (from-next-year)' })
})

test('a failure that nobody expects is told without its words, and ends the process', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'control.sock')
  const url = new URL('../../../dist/daemon/control/control-server.js', import.meta.url)
  const program = `
    import { serveControl } from ${JSON.stringify(url.href)}
    await serveControl(${JSON.stringify(path)}, { status: async () => { throw new TypeError('secret') } })
    console.log('listening')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const exit = once(child, 'exit')

  const error = await ask(path, 'status').catch((error: unknown) => error)

  expect(error).toMatchObject({ code: 'internal', message: 'The daemon failed in a way it did not expect' })
  expect(await exit).toEqual([1, null])
})

test.each(['not json\n', '[]\n', '7\n', '{"params": {}}\n', '{"method": 7}\n'])('%j is no request', async (request) => {
  await using daemon = await running({})

  const reply = await send(daemon.path, request)

  expect(reply).toMatchObject({ error: { code: 'bad-request' } })
})

test('a request over 1 MiB is refused by both ends', async () => {
  await using daemon = await running({ status: async () => 'never' })
  const large = 'x'.repeat(2 ** 20)

  await expect(ask(daemon.path, 'status', large)).rejects.toMatchObject({ code: 'limit-exceeded' })
  const reply = await send(daemon.path, large.slice(0, 2 ** 20 - 1) + 'yz')

  expect(reply).toEqual({ error: { code: 'limit-exceeded', message: 'The request is over 1048576 bytes' } })
})

test('an answer over 1 MiB is an error, not a line', async () => {
  await using daemon = await running({ list: async () => 'x'.repeat(2 ** 20) })

  await expect(ask(daemon.path, 'list')).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test('a line that comes in pieces is read whole, whatever its letters', async () => {
  await using daemon = await running({ echo: async (params) => params })
  const request = Buffer.from('{"method": "echo", "params": "grün 🦀"}\n')
  const socket = connect(daemon.path)
  socket.setNoDelay()

  for (const byte of request) await new Promise<void>((resolve) => socket.write(Buffer.of(byte), () => resolve()))

  expect(JSON.parse(await text(socket))).toEqual({ result: 'grün 🦀' })
})

test('who hangs up aborts what was asked for', async () => {
  const begun = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  await using daemon = await running({
    sync: async (_params, _send, signal) => {
      signal.addEventListener('abort', () => aborted.resolve())
      begun.resolve()
      await aborted.promise
      signal.throwIfAborted()
    },
  })
  const stop = new AbortController()
  const asked = ask(daemon.path, 'sync', undefined, { signal: stop.signal })
  await begun.promise

  stop.abort()

  await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
  await aborted.promise
})

test('who asks with a signal that is aborted already gets no further', async () => {
  await using daemon = await running({})

  await expect(ask(daemon.path, 'status', undefined, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
})

test('a daemon that takes the request and says nothing is given up on', async () => {
  await using daemon = await running({ status: (_params, _send, signal) => once(signal, 'abort') })

  await expect(ask(daemon.path, 'status', undefined, { timeoutMs: 20 })).rejects.toMatchObject({ code: 'timed-out' })
})

test('a daemon that goes away while it is asked is told from one that is not there', async () => {
  const begun = Promise.withResolvers<void>()
  await using daemon = await running({
    status: (_params, _send, signal) => {
      begun.resolve()
      return once(signal, 'abort')
    },
  })
  const asked = ask(daemon.path, 'status').catch((error: unknown) => error)
  await begun.promise

  await daemon.stop()

  expect(await asked).toMatchObject({ name: 'OperatorError', code: 'connection-lost' })
  expect(await ask(daemon.path, 'status')).toEqual({ kind: 'no-daemon' })
})

test('an answer that is none is refused', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'other.sock')
  await using server = createServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('220 mail.example ESMTP\n'),
  )
  await once(server.listen(path), 'listening')

  await expect(ask(path, 'status')).rejects.toMatchObject({ code: 'bad-answer' })
})

test('one who does not read what he asked for is hung up on', async () => {
  const hungUp = Promise.withResolvers<number>()
  await using daemon = await running({
    flood: async (_params, send, signal) => {
      const line = 'x'.repeat(2 ** 19)
      let lines = 0
      for (; !signal.aborted; lines += 1) {
        send(line)
        await new Promise((resolve) => setImmediate(resolve))
      }
      hungUp.resolve(lines)
    },
  })
  const socket = connect(daemon.path).on('error', () => {})
  socket.pause()

  socket.write('{"method": "flood"}\n')

  expect(await hungUp.promise).toBeLessThan(64)
  socket.destroy()
})

test('the socket is for its user alone', async () => {
  await using daemon = await running({})

  expect((await stat(daemon.path)).mode & 0o777).toBe(0o600)
})

test('the folder of the socket is made for its user alone, and gone from use if it is not', async () => {
  await using folder = await temporaryFolder()
  const made = join(folder.path, 'made')
  const open = join(folder.path, 'open')
  const linked = join(folder.path, 'linked')
  await mkdir(open)
  await chmod(open, 0o755)
  await symlink(folder.path, linked)

  await using _server = await serveControl(join(made, 'control.sock'), {})

  expect((await stat(made)).mode & 0o777).toBe(0o700)
  await expect(serveControl(join(open, 'control.sock'), {})).rejects.toThrow(`Cannot listen in "${open}"`)
  await expect(serveControl(join(linked, 'control.sock'), {})).rejects.toThrow(`Cannot listen in "${linked}"`)
  expect(await readdir(open)).toEqual([])
})

test('a socket that nobody answers on is replaced', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'control.sock')
  await leaveSocket(path)

  await using _server = await serveControl(path, { ping: async () => 'pong' })

  expect(await ask(path, 'ping')).toEqual({ kind: 'answered', result: 'pong' })
})

test('a socket that is answered on stays with who answers', async () => {
  await using daemon = await running({ ping: async () => 'first' })

  await expect(serveControl(daemon.path, {})).rejects.toMatchObject({ name: 'SyncError', code: 'socket-failed' })

  expect(await ask(daemon.path, 'ping')).toEqual({ kind: 'answered', result: 'first' })
})

test('a file in place of the socket is left alone', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'control.sock')
  await writeFile(path, 'mine')

  await expect(serveControl(path, {})).rejects.toMatchObject({ code: 'socket-failed' })

  expect(await readdir(folder.path)).toEqual(['control.sock'])
})

test('a server that is disposed leaves no socket behind', async () => {
  await using daemon = await running({})

  await daemon.stop()

  expect(await readdir(daemon.folder)).toEqual([])
})

test('a state folder has one socket, by whatever path it is reached', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'state'))
  await symlink(join(folder.path, 'state'), join(folder.path, 'alias'))

  const path = socketPathOf(join(folder.path, 'state'), '/run/user/1000')

  expect(path).toMatch(/^\/run\/user\/1000\/skillsyncd\/[0-9a-f]{16}\.sock$/)
  expect(socketPathOf(join(folder.path, 'alias'), '/run/user/1000')).toBe(path)
  expect(socketPathOf(folder.path, '/run/user/1000')).not.toBe(path)
})

test('without a runtime folder each socket has a fresh folder below the temporary one, gone with it', async () => {
  const [path, other] = [socketPathOf('/absent/state', undefined), socketPathOf('/absent/state', undefined)]

  const server = await serveControl(path, { ping: async () => 'pong' })
  const { mode } = await stat(dirname(path))
  const answer = await ask(path, 'ping')
  await server[Symbol.asyncDispose]()

  expect([dirname(dirname(path)), isFresh(path), path === other]).toEqual([tmpdir(), true, false])
  expect(mode & 0o777).toBe(0o700)
  expect(answer).toEqual({ kind: 'answered', result: 'pong' })
  expect(existsSync(dirname(path))).toBe(false)
})

test.each([undefined, '/run/absent'])(
  'a daemon without a lock is found below the temporary folder, by a client with runtime folder %s',
  async (runtime) => {
    await using folder = await temporaryFolder()
    const path = socketPathOf(folder.path, undefined)
    const left = socketPathOf(folder.path, undefined)
    await mkdir(dirname(left), { mode: 0o700 })
    await leaveSocket(left)
    await using _other = await serveControl(socketPathOf(join(folder.path, 'other'), undefined), {})
    await using _server = await serveControl(path, {})

    const found = await unlockedSocketOf(folder.path, runtime)
    await chmod(dirname(path), 0o755)
    const unsafe = await unlockedSocketOf(folder.path, runtime)

    await removeSocketFolder(left)
    expect([found, unsafe]).toEqual([path, undefined])
  },
)

test('an unusable runtime or temporary folder does not hide a daemon below the other', async () => {
  await using folder = await temporaryFolder()
  await using known = await serveControl(socketPathOf(folder.path, folder.path), {})
  await using fresh = await serveControl(socketPathOf(folder.path, undefined), {})

  const belowTemporary = await unlockedSocketOf(folder.path, 'x'.repeat(200))
  vi.stubEnv('TMPDIR', '/absent')
  const inRuntime = await unlockedSocketOf(folder.path, folder.path)
  vi.unstubAllEnvs()

  expect([belowTemporary, inRuntime]).toEqual([fresh.path, known.path])
})

test('a socket in a runtime folder that other users can enter is not asked', async () => {
  await using folder = await temporaryFolder()
  await using known = await serveControl(socketPathOf(folder.path, folder.path), {})
  await chmod(dirname(known.path), 0o777)

  const found = await unlockedSocketOf(folder.path, folder.path)

  expect(found).toBeUndefined()
})

test('a path that cannot be bound is refused with the limit, and the longest that can be is bound', async () => {
  await using folder = await temporaryFolder()
  const limit = process.platform === 'darwin' ? 103 : 107
  const spare = limit - Buffer.byteLength(socketPathOf('/absent', `${folder.path}/x`)) + 1
  const runtime = join(folder.path, 'x'.repeat(spare))
  await mkdir(runtime)

  const longest = socketPathOf('/absent', runtime)

  await using _server = await serveControl(longest, { ping: async () => 'pong' })
  expect(Buffer.byteLength(longest)).toBe(limit)
  expect(await ask(longest, 'ping')).toEqual({ kind: 'answered', result: 'pong' })
  expect(() => socketPathOf('/absent', `${runtime}x`)).toThrow(`it has ${limit + 1} bytes`)
})

interface Running extends AsyncDisposable {
  readonly path: string
  readonly folder: string
  readonly stop: () => Promise<void>
}

async function running(handlers: ControlHandlers): Promise<Running> {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'control.sock')
  const server = await serveControl(path, handlers)
  const stop = (): Promise<void> => server[Symbol.asyncDispose]()
  return {
    path,
    folder: folder.path,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
      await folder[Symbol.asyncDispose]()
    },
  }
}

interface Asking {
  readonly onEvent?: (event: unknown) => void
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

async function ask(path: string, method: string, params?: unknown, asking: Asking = {}): Promise<ControlAnswer> {
  const { onEvent = () => {}, signal = new AbortController().signal, timeoutMs = 10_000 } = asking
  return askDaemon(path, method, params, { onEvent, signal, timeoutMs })
}

/** Sends bytes as they are, and reads the one line that comes back. */
async function send(path: string, request: string): Promise<unknown> {
  const socket = connect(path)
  socket.write(request)
  return JSON.parse(await text(socket))
}

/** A socket as a killed process leaves it. */
async function leaveSocket(path: string): Promise<void> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  await once(spawn(process.execPath, ['-e', program]), 'exit')
}
