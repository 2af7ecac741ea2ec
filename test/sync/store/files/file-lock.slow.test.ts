import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { FileLock } from '../../../../src/sync/store/files/file-lock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const CHILD = fileURLToPath(new URL('turn-child.mjs', import.meta.url))
const signal = new AbortController().signal

let folder: string
let path: string

beforeEach(async () => {
  const made = await temporaryFolder()
  onTestFinished(() => made[Symbol.asyncDispose]())
  folder = made.path
  path = join(folder, 'turn')
})

test('of many that wait for what one left that was killed, two never have the turn', async () => {
  let [inside, most] = [0, 0]
  const passThrough = async (): Promise<void> => {
    await using turn = await FileLock.take(path, Date.now, signal)
    most = Math.max(most, (inside += 1))
    for (let steps = 0; steps < 3; steps += 1) await setImmediate()
    inside -= 1
    expect(await turn.isOurs()).toBe(true)
  }

  for (let round = 0; round < 40; round += 1) {
    await leftBehind(new Date(0))
    await Promise.all(Array.from({ length: 6 }, passThrough))
  }

  expect(most).toBe(1)
  expect(await readdir(folder)).toEqual([])
})

test('of several processes, some of which are killed, two never have the turn', async () => {
  const ends = Array.from({ length: 5 }, async () => {
    const child = spawn(process.execPath, [CHILD, path, '60'], { stdio: 'inherit' })
    return (await once(child, 'close'))[0]
  })

  expect(await Promise.all(ends)).toEqual([0, 0, 0, 0, 0])
  expect((await readdir(folder)).filter((name) => name !== basename(path))).toEqual([])
})

test('a file that is from the future, by a clock that was set back, is as old as one from the past', async () => {
  await leftBehind(new Date(Date.now() + 3_600_000))

  await using turn = await FileLock.take(path, Date.now, signal)

  expect(await turn.isOurs()).toBe(true)
})

test('who waits stops waiting when it is told to', async () => {
  await leftBehind(new Date())
  const stop = new AbortController()

  const looking = (): number => {
    stop.abort()
    return Date.now()
  }

  const waiting = FileLock.take(path, looking, stop.signal)

  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
})

test('who was stopped while it had the turn finds it taken away, and leaves that of another alone', async () => {
  const stopped = await FileLock.takeIfFree(path, Date.now)
  await utimes(path, new Date(0), new Date(0))

  const second = await FileLock.takeIfFree(path, Date.now)
  const third = await FileLock.takeIfFree(path, Date.now)

  expect([await stopped?.isOurs(), await second?.isOurs(), third]).toEqual([false, true, undefined])
  await stopped?.[Symbol.asyncDispose]()
  expect(await second?.isOurs()).toBe(true)
  await second?.[Symbol.asyncDispose]()
  expect(await readdir(folder)).toEqual([])
})

test.each([true, false])(
  'while one takes a turn away nobody else does, and what it leaves when it is killed goes later (file there: %j)',
  async (isThere) => {
    if (isThere) await leftBehind(new Date(0))
    await mkdir(`${path}.broken`)
    await writeFile(join(`${path}.broken`, 'turn'), '')

    const during = await FileLock.takeIfFree(path, Date.now)
    await during?.[Symbol.asyncDispose]()
    await utimes(`${path}.broken`, new Date(0), new Date(0))
    const after = await FileLock.takeIfFree(path, Date.now)
    await after?.[Symbol.asyncDispose]()

    expect([during === undefined, after === undefined]).toEqual([isThere, false])
    expect(await readdir(folder)).toEqual([])
  },
)

test("what is no file is nobody's turn: it is neither waited for nor removed", async () => {
  await mkdir(path)
  await utimes(path, new Date(0), new Date(0))

  const taken = FileLock.take(path, Date.now, signal)

  await expect(taken).rejects.toMatchObject({ code: 'store-failed' })
  expect(await readdir(folder)).toEqual([basename(path)])
})

async function leftBehind(time: Date): Promise<void> {
  await writeFile(path, '')
  await utimes(path, time, time)
}
