import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Environment } from '../../src/daemon/config/environment.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../src/daemon/configuration.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import type { ControlHandlers } from '../../src/daemon/control/control-server.ts'
import { acquireLock, lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { helloRequest } from '../../src/daemon/control/process-requests.ts'
import { askRunning } from '../../src/daemon/control/running-daemon.ts'
import { HeldByOther } from '../../src/daemon/control/write-lock.ts'
import { openFollower } from '../../src/daemon/open-follower.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { becomeWriter, Writer } from '../../src/daemon/writer.ts'
import type { WriterCandidate } from '../../src/daemon/writer.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('a writer has the lock, answers on its socket, and leaves neither behind', async () => {
  await using desk = await Desk.open()
  const writer = await opened(desk.candidate('start'))

  const holder = await lockHolderOf(desk.config.state)
  const answer = await askRunning(desk.config, helloRequest, {}, { signal: desk.signal })
  await writer[Symbol.asyncDispose]()

  expect(holder).toMatchObject({ pid: process.pid, command: 'start' })
  expect(answer).toEqual({ answer: { locked: false, offline: false } })
  expect(existsSync(holder!.socket)).toBe(false)
  expect(await lockHolderOf(desk.config.state)).toBeUndefined()
})

test('a second writer is told who has the lock', async () => {
  await using desk = await Desk.open()
  await using _first = await opened(desk.candidate('start'))

  const second = await Writer.open(desk.candidate('mcp'), desk.signal)

  expect(second).toMatchObject({ heldBy: { pid: process.pid, command: 'start' } })
})

test('a writer begins by taking away what a killed one left half done', async () => {
  await using desk = await Desk.open()
  await mkdir(join(desk.config.state, 'tmp', '.tmp-left'), { recursive: true })
  await writeFile(join(desk.config.state, 'format'), '4\n')
  await writeFile(join(desk.config.state, 'tmp', '.tmp-left', 'pack'), 'half')

  await using _writer = await opened(desk.candidate('start'))

  expect(await readdir(join(desk.config.state, 'tmp'))).toEqual([])
})

test('a writer that cannot listen gives the lock back', async () => {
  await using desk = await Desk.open()
  await writeFile(join(desk.environment.runtime!, 'skillsyncd'), 'in the way')

  await expect(Writer.open(desk.candidate('start'), desk.signal)).rejects.toMatchObject({ code: 'socket-failed' })

  expect(await lockHolderOf(desk.config.state)).toBeUndefined()
})

test('an mcp that writes is asked to hand over, and who asked writes when it has', async () => {
  await using desk = await Desk.open()
  const asked = Promise.withResolvers<void>()
  const handover = async (): Promise<null> => {
    asked.resolve()
    return null
  }
  const mcp = await opened(desk.candidate('mcp', { handover }))
  const becoming = becomeWriter(desk.candidate('start'), desk.signal)
  await asked.promise

  await mcp[Symbol.asyncDispose]()

  await using _writer = await becoming
  expect(await lockHolderOf(desk.config.state)).toMatchObject({ command: 'start' })
})

test.each(['start', 'sync'])('a %s that writes is not asked to hand over: it is named', async (command) => {
  await using desk = await Desk.open()
  await using _first = await opened(desk.candidate(command))

  const error = await becomeWriter(desk.candidate('start'), desk.signal).catch((error: unknown) => error)

  expect(error).toBeInstanceOf(HeldByOther)
  expect(error).toMatchObject({ code: 'state-in-use' })
  expect(String(error)).toContain(`process ${process.pid} (skillsyncd ${command})`)
})

test('who waits for a handover and is stopped waits no longer', async () => {
  await using desk = await Desk.open()
  const stop = new AbortController()
  const handover = async (): Promise<null> => {
    stop.abort()
    return null
  }
  await using _mcp = await opened(desk.candidate('mcp', { handover }))

  await expect(becomeWriter(desk.candidate('start'), stop.signal)).rejects.toMatchObject({ name: 'AbortError' })
})

test('a follower of a damaged database waits for the process that has the lock, and names it in the end', async () => {
  await using desk = await Desk.open()
  const { state } = desk.config
  await mkdir(state)
  await acquireLock(state, { pid: process.pid, socket: join(state, 'none'), command: 'start' })
  await writeFile(join(state, 'format'), '4\n')
  await writeFile(join(state, 'store.db'), 'no database '.repeat(1_000))
  const clock = new FakeClock()
  const ended: unknown[] = []
  const opening = openFollower(desk.candidate('mcp'), clock, desk.signal).catch((error: unknown) => ended.push(error))
  await expect.poll(() => clock.waiting).toBe(1)

  await clock.advance(29_000)
  const early = [...ended]
  await clock.advance(2_000)
  await opening

  expect(early).toEqual([])
  expect(String(ended[0])).toMatch(/store\.db.*not a database/)
  expect(String(ended[0])).toContain(`process ${process.pid} (skillsyncd start) has the lock`)
})

/** A state folder and a runtime folder for those who want to write. */
class Desk implements AsyncDisposable {
  readonly config: WholeConfig
  readonly environment: Environment
  readonly signal = new AbortController().signal
  readonly #folder: AsyncDisposable

  private constructor(config: WholeConfig, environment: Environment, folder: AsyncDisposable) {
    this.config = config
    this.environment = environment
    this.#folder = folder
  }

  static async open(): Promise<Desk> {
    const folder = await temporaryFolder()
    const environment = environmentOf({ XDG_RUNTIME_DIR: join(folder.path, 'run') }, folder.path)
    await mkdir(join(folder.path, 'run'))
    const yaml = `sources:\n  - id: team\n    url: https://git.example.com/x.git\nstate: ${folder.path}/state\n`
    const config = parseConfig(yaml, 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    return new Desk(config, environment, folder)
  }

  candidate(command: string, handlers: ControlHandlers = {}): WriterCandidate {
    const { config, environment } = this
    const redactor = new Redactor()
    const stream = { write: () => {} }
    const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock: new FakeClock(), redactor })
    return { config, environment, log, redactor, command, handlers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}

async function opened(candidate: WriterCandidate): Promise<Writer> {
  const writer = await Writer.open(candidate, new AbortController().signal)
  if ('heldBy' in writer) throw new Error(`Held by ${writer.heldBy.command}`)
  return writer
}
