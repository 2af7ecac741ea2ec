import { createHash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ObjectFormat, ObjectId } from '../../../src/sync/model/revision.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { applyDelta } from '../../../src/sync/upstream/delta.ts'
import type { GitObject } from '../../../src/sync/upstream/git-object.ts'
import { Malformed } from '../../../src/sync/upstream/malformed.ts'
import { PackReader } from '../../../src/sync/upstream/pack-reader.ts'
import { spoolPack } from '../../../src/sync/upstream/pack-spool.ts'
import { cpuSeconds } from '../../support/effort.ts'
import { Repository, runGit } from '../../support/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { objectId } from './reached.ts'
import { hashOf } from './sample.ts'

const LIMITS = { objects: 10_000, objectBytes: 1_000_000 }
const FORMATS = ['sha1', 'sha256'] as const

test.each(
  FORMATS.flatMap((format) => [
    { format, how: 'with bases by offset', options: ['--delta-base-offset'] },
    { format, how: 'with bases by id', options: [] },
    { format, how: 'without deltas', options: ['--window=0'] },
  ]),
)('a pack of git $how has all of its objects, each once ($format)', async ({ format, options }) => {
  await using repository = await sample(format)
  await using folder = await temporaryFolder()
  const pack = await packOf(repository, options)
  const found = new Map<ObjectId, GitObject>()
  const file = await written(folder.path, pack)

  using reader = await PackReader.open(file, format, LIMITS, (id, object) => found.set(id, object))

  expect([...found.keys()].sort()).toEqual(await idsOf(repository))
  for (const [id, object] of found) {
    expect(hashOf(object.type, object.bytes, format)).toBe(id)
    expect(reader.read(id)).toEqual(object)
  }
})

test('an object can be read again after everything has fallen out of the cache', async () => {
  await using repository = await Repository.create()
  const base = Buffer.from(Array.from({ length: 60_000 }, (_, n) => Math.sin(n)).join())
  const files = Array.from({ length: 40 }, (_, n) => [`f${n}`, Buffer.concat([base, Buffer.from([n])])])
  await repository.commit(Object.fromEntries(files))
  await using folder = await temporaryFolder()
  const ids: string[] = []
  const pack = await packOf(repository, ['--delta-base-offset'])
  const limits = { ...LIMITS, objectBytes: 2 ** 24 }

  using reader = await PackReader.open(await written(folder.path, pack), 'sha1', limits, (id) => ids.push(id))

  const first = await idsOf(repository)
  const again = first.map((id) => reader.read(id)!)
  expect(again.map(({ type, bytes }) => hashOf(type, bytes, 'sha1'))).toEqual(first)
})

test.each(FORMATS)('an object that is too large is passed over and told, whole or as a delta (%s)', async (format) => {
  await using repository = await Repository.create({ objectFormat: format })
  const large = Array.from({ length: 3000 }, (_, n) => `line ${n * 7919}\n`).join('')
  await repository.commit({ large, larger: `${large}more`, small: 'small' })
  await using folder = await temporaryFolder()
  const [a, b, small] = (await repository.git('rev-parse', 'main:large', 'main:larger', 'main:small'))
    .split('\n')
    .map(objectId)

  const file = await written(folder.path, await packOf(repository, ['--delta-base-offset']))

  using reader = await PackReader.open(file, format, { ...LIMITS, objectBytes: 1000 })

  expect([a!, b!].map((id) => [reader.read(id), reader.isTooLarge(id)])).toEqual([
    [undefined, true],
    [undefined, true],
  ])
  expect(reader.read(small!)?.bytes.toString()).toBe('small')
  expect(reader.isTooLarge(small!)).toBe(false)
})

test('a few bytes that unfold to a quarter of a gigabyte are passed over in little memory', async () => {
  await using folder = await temporaryFolder()
  const size = 2 ** 28
  const file = await written(folder.path, packWith([{ type: 3, size, packed: zeros(size) }]))
  const before = process.memoryUsage().rss

  using reader = await PackReader.open(file, 'sha1', LIMITS)

  expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26)
  expect(reader.isTooLarge(await zerosId(size))).toBe(true)
})

test.each([
  ['is smaller than it unfolds to', { type: 3, size: 4, packed: deflateSync('hello') }],
  ['is larger than it unfolds to', { type: 3, size: 6, packed: deflateSync('hello') }],
  ['is of type 0', { type: 0, size: 5, packed: deflateSync('hello') }],
  ['is of type 5', { type: 5, size: 5, packed: deflateSync('hello') }],
  ['has its base before the pack', { type: 6, size: 5, packed: Buffer.from([0x7f, ...deflateSync('hello')]) }],
  ['has itself as its base', { type: 6, size: 5, packed: Buffer.from([0, ...deflateSync('hello')]) }],
  [
    'has a base that is not there',
    { type: 7, size: 5, packed: Buffer.concat([Buffer.alloc(20, 1), deflateSync('hello')]) },
  ],
  ['is not packed', { type: 3, size: 5, packed: Buffer.from('hello') }],
  ['hides a megabyte in five bytes', { type: 3, size: 5, packed: zeros(2 ** 20) }],
])('an object that %s makes the pack a damaged one', async (_, object) => {
  await using folder = await temporaryFolder()

  const opening = PackReader.open(await written(folder.path, packWith([object])), 'sha1', LIMITS)

  await expect(opening).rejects.toMatchObject({ code: 'source-unreachable' })
})

test('deltas whose bases come after them, the last first, are read once each', async () => {
  await using folder = await temporaryFolder()
  const texts = Array.from({ length: 4000 }, (_, n) => Buffer.from(`object ${n}`))
  const deltas = texts.slice(1).map((text, n) => {
    const delta = Buffer.from([texts[n]!.length, text.length, text.length, ...text])
    const base = Buffer.from(hashOf('blob', texts[n]!, 'sha1'), 'hex')
    return { type: 7, size: delta.length, packed: Buffer.concat([base, deflateSync(delta)]) }
  })
  const whole = { type: 3, size: texts[0]!.length, packed: deflateSync(texts[0]!) }
  const file = await written(folder.path, packWith([...deltas.toReversed(), whole]))
  const since = process.cpuUsage()

  using reader = await PackReader.open(file, 'sha1', LIMITS)

  expect(reader.read(objectId(hashOf('blob', texts.at(-1)!, 'sha1')))?.bytes).toEqual(texts.at(-1))
  expect(cpuSeconds(since)).toBeLessThan(10)
})

test('a pack of more objects than the limit is refused unread', async () => {
  await using folder = await temporaryFolder()
  const object = { type: 3, size: 5, packed: deflateSync('hello') }

  const file = await written(folder.path, packWith([object, object]))

  const opening = PackReader.open(file, 'sha1', { ...LIMITS, objects: 1 })

  await expect(opening).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test.each(FORMATS)(
  'a pack with any byte changed gives an error of ours, or objects that are what their ids say (%s)',
  async (format) => {
    await using repository = await sample(format)
    await using folder = await temporaryFolder()
    const pack = await packOf(repository, ['--delta-base-offset'])
    const checksum = Buffer.from(hashOf('blob', Buffer.alloc(0), format), 'hex').length
    let damaged = 0

    await fc.assert(
      fc.asyncProperty(fc.nat(pack.length - checksum - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const changed = Buffer.from(pack)
        changed[at]! ^= mask
        const file = await written(folder.path, changed)
        const ids: ObjectId[] = []

        const outcome = await PackReader.open(file, format, LIMITS, (id) => ids.push(id)).catch(
          (error: unknown) => error,
        )

        await rm(file)
        if (!(outcome instanceof PackReader)) {
          damaged += 1
          return outcome instanceof SyncError
        }
        // Some bytes say nothing (the last bits of a compressed stream) or another thing (the type of an object), and no
        // checksum inside of the pack covers them. Then it reads well, but never under the id of something else.
        using reader = outcome
        return ids.every((id) => {
          const object = reader.read(id)
          return object !== undefined && hashOf(object.type, object.bytes, format) === id
        })
      }),
      {
        numRuns: 200,
        examples: [
          [0, 1],
          [11, 1],
          [12, 64],
        ],
      },
    )

    expect(damaged).toBeGreaterThan(130)
  },
)

test.each(FORMATS)(
  'a pack that does not end with its checksum is refused when it is written down (%s)',
  async (format) => {
    await using repository = await sample(format)
    await using folder = await temporaryFolder()
    const pack = await packOf(repository, [])
    const spool = async (bytes: Buffer, size: number, name: string) =>
      spoolPack(cut(bytes, size), join(folder.path, name), format)

    await expect(spool(pack, 7, 'whole')).resolves.toBeUndefined()
    await expect(spool(pack.subarray(0, -1), 7, 'cut')).rejects.toMatchObject({ code: 'source-unreachable' })
    await expect(spool(Buffer.alloc(0), 1, 'empty')).rejects.toMatchObject({ code: 'source-unreachable' })
  },
)

test('a delta that does not fit is malformed, whatever its bytes', () => {
  const law = fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 20 }), (delta, base) => {
    try {
      const result = applyDelta(Buffer.from(delta), Buffer.from(base), 1000)
      return result === undefined || result.length <= 1000
    } catch (error) {
      return error instanceof Malformed
    }
  })

  expect(fc.check(law, { numRuns: 5000 }).failed).toBe(false)
})

test('a delta copies from its base and inserts bytes of its own', () => {
  const base = Buffer.from('hello world')
  const delta = Buffer.from([11, 13, 0x91, 6, 5, 2, 0x2c, 0x20, 0x90, 5, 1, 0x21])

  expect(applyDelta(delta, base, 100)?.toString()).toBe('world, hello!')
  expect(applyDelta(delta, base, 12)).toBeUndefined()
})

interface Packed {
  readonly type: number
  readonly size: number
  readonly packed: Buffer
}

async function sample(objectFormat: ObjectFormat): Promise<Repository> {
  const repository = await Repository.create({ objectFormat })
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n * 7919}\n`)
  const files = Array.from({ length: 12 }, (_, n) => [`d${n % 3}/f${n}`, lines.toSpliced(n * 9, 2, `${n}\n`).join('')])
  await repository.commit(Object.fromEntries(files))
  await repository.tag('v1', { annotated: true })
  return repository
}

async function packOf(repository: Repository, options: readonly string[]): Promise<Buffer> {
  const args = ['--git-dir', repository.folder, 'pack-objects', '--all', '--stdout', '--quiet', ...options]
  return runGit(args, { input: '' })
}

async function idsOf(repository: Repository): Promise<ObjectId[]> {
  const listed = await repository.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)')
  return listed.split('\n').sort().map(objectId)
}

let files = 0

async function written(folder: string, bytes: Buffer): Promise<string> {
  const file = join(folder, `${(files += 1)}.pack`)
  await writeFile(file, bytes)
  return file
}

function packWith(objects: readonly Packed[]): Buffer {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(objects.length)
  const parts = objects.flatMap(({ type, size, packed }) => [header(type, size), packed])
  const body = Buffer.concat([Buffer.from('PACK\0\0\0\u0002', 'latin1'), count, ...parts])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

function header(type: number, size: number): Buffer {
  const bytes: number[] = []
  let low = (type << 4) | (size & 15)
  for (let left = Math.floor(size / 16); left > 0; left = Math.floor(left / 128)) {
    bytes.push(low | 128)
    low = left & 127
  }
  return Buffer.from([...bytes, low])
}

function zeros(size: number): Buffer {
  return deflateSync(Buffer.alloc(size))
}

async function zerosId(size: number): Promise<ObjectId> {
  const hash = createHash('sha1').update(`blob ${size}\0`)
  const piece = Buffer.alloc(2 ** 20)
  for (let at = 0; at < size; at += piece.length) hash.update(piece)
  return objectId(hash.digest('hex'))
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
