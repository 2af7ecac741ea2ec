import { mkdir, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { Journal, readJournal } from '../../../../src/sync/store/files/journal.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const MINUTE = 60_000

test('what was appended is read again in order, and by nobody else', async () => {
  await using scene = await openScene()
  await using journal = scene.open()

  for (const line of ['one', 'ein Wort für zwei', '{"three":3}']) await journal.append(line)

  expect(await readJournal(scene.path)).toEqual({
    lines: ['one', 'ein Wort für zwei', '{"three":3}'],
    isDamaged: false,
  })
  expect((await stat(scene.path)).mode & 0o777).toBe(0o600)
})

test('there is nothing to read where nothing was written', async () => {
  await using scene = await openScene()

  expect(await readJournal(scene.path)).toEqual({ lines: [], isDamaged: false })
})

test('a thousand lines that are appended at once are written together', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  await journal.append('first')
  scene.ends.length = 0

  await Promise.all(Array.from({ length: 1_000 }, (_, index) => journal.append(`line ${index}`)))

  expect((await readJournal(scene.path)).lines).toHaveLength(1_001)
  expect(scene.ends.length).toBeLessThan(4)
})

test('cut at any byte, what was on the disk is there up to some line, and every line that was whole', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  for (let index = 0; index < 20; index += 1) await journal.append(`line ${index} ${'ü'.repeat(index)}`)
  const bytes = await readFile(scene.path)
  const cut = `${scene.path}-cut`

  for (let length = 0; length <= bytes.length; length += 1) {
    await writeFile(cut, bytes.subarray(0, length))
    const whole = bytes.subarray(0, length).toString('latin1').split('\n').length - 1

    expect(await readJournal(cut)).toEqual({ lines: scene.lines.slice(0, whole), isDamaged: false })
  }
})

test('one byte that is another ends what can be read before its line', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  for (let index = 0; index < 10; index += 1) await journal.append(`line ${index}`)
  const bytes = await readFile(scene.path)

  const law = fc.asyncProperty(fc.nat(bytes.length - 2), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= flip
    await writeFile(`${scene.path}-damaged`, damaged)
    const before = bytes.subarray(0, at).toString('latin1').split('\n').length - 1

    const read = await readJournal(`${scene.path}-damaged`)

    expect(read).toEqual({ lines: scene.lines.slice(0, before), isDamaged: true })
  })
  await fc.assert(law)
})

test('a file that has grown to twice what there is to say is written anew, and loses nothing', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  const long = 'x'.repeat(10_000)
  let most = 0

  for (let index = 0; index < 400; index += 1) {
    scene.lines.length = 0
    await journal.append(`line ${index} ${long}`)
    most = Math.max(most, (await stat(scene.path)).size)
  }

  expect(most).toBeGreaterThan(1_000_000)
  expect(most).toBeLessThan(2 ** 20 + 1)
  expect((await readJournal(scene.path)).lines.at(-1)).toBe(`line 399 ${long}`)
})

test('what counts for that is bytes, not characters', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  let most = 0

  for (let index = 0; index < 110; index += 1) {
    scene.lines.length = 0
    await journal.append('ü'.repeat(5_000))
    most = Math.max(most, (await stat(scene.path)).size)
  }

  expect(most).toBeGreaterThan(1_000_000)
  expect(most).toBeLessThan(2 ** 20 + 1)
})

test('a file that no text can hold is read up to the damage, and one that is larger than any of ours not at all', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  await journal.append('first')
  await journal[Symbol.asyncDispose]()
  await endAt(scene.path, 600 * 2 ** 20)

  const long = await readJournal(scene.path)
  await truncate(scene.path, 2 ** 30 + 1)

  expect(long).toEqual({ lines: ['first'], isDamaged: true })
  await expect(readJournal(scene.path)).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('it is damaged, with over 1073741824 bytes'),
  })
})

test('a disk that refuses is told of, and is not tried again for a while; then everything is there', async () => {
  await using scene = await openScene()
  await using journal = scene.open()
  await mkdir(scene.path)

  await journal.append('while it refuses')
  const first = scene.ends.splice(0)
  await journal.append('soon after')
  const second = scene.ends.splice(0)
  await rm(scene.path, { recursive: true })
  scene.now += MINUTE
  await journal.append('when it takes them')

  expect(first).toMatchObject([{ code: 'store-failed' }])
  expect(second).toEqual([])
  expect(scene.ends).toEqual([undefined])
  expect((await readJournal(scene.path)).lines).toEqual(['while it refuses', 'soon after', 'when it takes them'])
})

test('what a disk refused is there after the end, where it takes it then', async () => {
  await using scene = await openScene()
  const journal = scene.open()
  await mkdir(scene.path)
  await journal.append('while it refuses')
  await rm(scene.path, { recursive: true })

  await journal[Symbol.asyncDispose]()

  expect((await readJournal(scene.path)).lines).toEqual(['while it refuses'])
})

test('after its end nothing is written any more', async () => {
  await using scene = await openScene()
  const journal = scene.open()
  await journal.append('before')
  await journal[Symbol.asyncDispose]()

  await journal.append('after')

  expect((await readJournal(scene.path)).lines).toEqual(['before'])
})

/** Zeros that take no place on the disk, and a line break. */
async function endAt(path: string, bytes: number): Promise<void> {
  await using handle = await open(path, 'r+')
  await handle.write('\n', bytes - 1)
}

/** A journal whose lines are all to be remembered. */
async function openScene() {
  const folder = await temporaryFolder()
  const scene = {
    path: join(folder.path, 'a.journal'),
    now: 0,
    /** Everything that was appended. */
    lines: [] as string[],
    /** How each write ended. */
    ends: [] as (SyncError | undefined)[],
    open() {
      const journal = new Journal(scene.path, {
        all: () => scene.lines,
        monotonicMs: () => scene.now,
        onEnd: (failure) => scene.ends.push(failure),
      })
      return {
        async append(line: string): Promise<void> {
          scene.lines.push(line)
          await journal.append(line)
        },
        [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
      }
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
  return scene
}
