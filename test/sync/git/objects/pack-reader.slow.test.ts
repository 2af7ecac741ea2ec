import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Malformed } from '../../../../src/base/malformed.ts'
import { applyDelta } from '../../../../src/sync/git/objects/pack-objects.ts'
import {
  LargeInPack,
  PackReader,
  type ObjectSink,
  type PackLimits,
} from '../../../../src/sync/git/objects/pack-reader.ts'
import type { ObjectFormat, ObjectId } from '../../../../src/sync/model/revision.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import type { GitObject } from '../../../../src/sync/upstream/objects/git-object.ts'
import { cpuSeconds } from '../../../support/effort.ts'
import { Repository, runGit } from '../../../support/git/repository.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { objectId } from '../../upstream/reached.ts'
import { hashOf } from '../../upstream/sample.ts'

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

  using reader = await received(folder.path, pack, format, LIMITS, (id, object) => found.set(id, object))

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

  using reader = await received(folder.path, pack, 'sha1', limits, (id) => ids.push(id))

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

  const pack = await packOf(repository, ['--delta-base-offset'])

  using reader = await received(folder.path, pack, format, { ...LIMITS, objectBytes: 1000 })

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
  const pack = packWith([{ type: 3, size, packed: zeros(size) }])
  const before = process.memoryUsage().rss

  using reader = await received(folder.path, pack, 'sha1', LIMITS)

  expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26)
  expect(reader.isTooLarge(await zerosId(size))).toBe(true)
})

test('a pack is given up at the header of a file that is too large, before the rest of it is asked for', async () => {
  await using folder = await temporaryFolder()
  const [small, large] = [Buffer.from('small'), randomBytes(2 ** 22)]
  const objects = [small, large].map((bytes) => ({ type: 3, size: bytes.length, packed: deflateSync(bytes) }))
  const found: string[] = []
  let asked = 0
  async function* counted() {
    for await (const piece of cut(packWith(objects), 1000)) {
      asked += piece.length
      yield piece
    }
  }

  const limits = { objects: 10, objectBytes: 2 ** 24, stopBytes: 2 ** 20 }
  const reading = PackReader.receive(
    counted(),
    join(folder.path, 'large.pack'),
    { format: 'sha1', limits },
    (_, { bytes }) => found.push(bytes.toString()),
  )

  await expect(reading).rejects.toBeInstanceOf(LargeInPack)
  await expect(reading).rejects.toMatchObject({ size: 2 ** 22 })
  expect(found).toEqual(['small'])
  expect(asked).toBeLessThan(5000)
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

  const opening = received(folder.path, packWith([object]), 'sha1', LIMITS)

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
  const pack = packWith([...deltas.toReversed(), whole])
  const since = process.cpuUsage()

  using reader = await received(folder.path, pack, 'sha1', LIMITS)

  expect(reader.read(objectId(hashOf('blob', texts.at(-1)!, 'sha1')))?.bytes).toEqual(texts.at(-1))
  expect(cpuSeconds(since)).toBeLessThan(10)
})

test('a pack of more objects than the limit is refused unread', async () => {
  await using folder = await temporaryFolder()
  const object = { type: 3, size: 5, packed: deflateSync('hello') }

  const opening = received(folder.path, packWith([object, object]), 'sha1', { ...LIMITS, objects: 1 })

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
        changed.set(checksumOf(changed, format), changed.length - checksum)
        const ids: ObjectId[] = []

        const reading = received(folder.path, changed, format, LIMITS, (id) => ids.push(id))
        const outcome = await reading.catch((error: unknown) => error)

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
  'a pack that does not end with its checksum is refused, in whatever pieces it comes (%s)',
  async (format) => {
    await using repository = await sample(format)
    await using folder = await temporaryFolder()
    const pack = await packOf(repository, [])
    const receive = async (bytes: Buffer, size: number) => {
      using reader = await received(folder.path, bytes, format, LIMITS, () => {}, size)
      return reader
    }
    const damaged = { code: 'source-unreachable' }

    for (const size of [1, 7, 64, 1000]) await expect(receive(pack, size)).resolves.toBeInstanceOf(PackReader)
    await expect(receive(pack.subarray(0, -1), 7)).rejects.toMatchObject(damaged)
    await expect(receive(Buffer.alloc(0), 1)).rejects.toMatchObject(damaged)
    const flipped = Buffer.from(pack)
    flipped[flipped.length - 1]! ^= 1
    await expect(receive(flipped, 1000)).rejects.toMatchObject(damaged)
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

/** A pack as it comes, in pieces of that size. */
async function received(
  folder: string,
  pack: Buffer,
  format: ObjectFormat,
  limits: PackLimits,
  found?: ObjectSink,
  size = 10_000,
): Promise<PackReader> {
  const file = join(folder, `${(files += 1)}.pack`)
  try {
    return await PackReader.receive(cut(pack, size), file, { format, limits }, found)
  } finally {
    await rm(file)
  }
}

function checksumOf(pack: Buffer, format: ObjectFormat): Buffer {
  const bytes = format === 'sha1' ? 20 : 32
  return createHash(format).update(pack.subarray(0, -bytes)).digest()
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
