import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../src/base/canonical-json.ts'
import { comparePaths } from '../../../src/sync/model/digest.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { Damaged } from '../../../src/sync/model/sync-error.ts'
import { splitIntoParts } from '../../../src/sync/store/snapshot-parts.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { SlowValues } from '../../support/content/slow-values.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never, numbered, snapshotOf } from './samples.ts'

test('a snapshot reads back equal, from an object that is named by its own bytes', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1), numbered(2))

  const digest = await store.snapshots.keep(snapshot)

  const bytes = await store.objects.get(digest)
  expect(createHash('sha256').update(bytes!).digest('hex')).toBe(digest)
  expect(await store.snapshots.read(digest)).toEqual(snapshot)
  expect(await store.snapshots.has(digest)).toBe(true)
})

describe('a snapshot of many skills', () => {
  const many = (from: number, count: number) => Array.from({ length: count }, (_, index) => numberedOf(from + index))

  test('reads back equal, from parts that are named by their own bytes', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const snapshot = snapshotWith(many(0, 1_000))

    const digest = await store.snapshots.keep(snapshot)

    const { parts } = await store.snapshots.outline(digest)
    expect(parts.length).toBeGreaterThan(2)
    for (const part of parts) {
      const bytes = await store.objects.get(part)
      expect(part).toBe(createHash('sha256').update(bytes!).digest('hex'))
    }
    const other = await Store.open(folder.path)
    expect(await other.snapshots.read(digest)).toEqual(snapshot)
    expect(await other.snapshots.digests()).toEqual([digest])
  })

  test('has one part that is another where one skill changed, also in a process that has only read it', async () => {
    await using folder = await temporaryFolder()
    const skills = many(0, 1_000)
    const first = await (await Store.open(folder.path)).snapshots.keep(snapshotWith(skills))
    const store = await Store.open(folder.path)
    const before = await store.snapshots.outline(first)
    const read = await store.snapshots.read(first)
    const changed = { ...read, skills: read.skills.with(500, { ...read.skills[500]!, description: 'other' }) }

    const second = await store.snapshots.keep(changed)

    const { parts } = await store.snapshots.outline(second)
    expect(parts.filter((part) => !before.parts.includes(part))).toHaveLength(1)
    expect(parts).toHaveLength(before.parts.length)
    expect(await store.snapshots.read(first)).toEqual(snapshotWith(skills))
    expect(await store.snapshots.read(second)).toEqual(changed)
    // For whoever has both, what they share is the same.
    expect((await store.snapshots.read(second)).skills[0]).toBe(read.skills[0])
  })

  test('of which one skill is another stores less than a tenth of it again', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    const skills = many(0, 200)
    await store.snapshots.keep(snapshotWith(skills))
    const sizeOfAll = async () => {
      let size = 0
      for await (const bytes of store.objects.all()) size += bytes.byteLength
      return size
    }
    const size = await sizeOfAll()

    await store.snapshots.keep(snapshotWith(skills.with(100, { ...skills[100]!, description: 'other' })))

    expect((await sizeOfAll()) - size).toBeLessThan(size / 10)
  })

  test('is written in slices, and others have the thread between parts that take long', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const skills = many(0, 1_000)
    const slow = new SlowValues()

    const kept = store.snapshots.keep(
      snapshotWith(skills.map((skill, at) => (at % 500 === 0 ? slow.of(skill) : skill))),
    )
    const turns = await slow.turnsUntil(kept)

    expect(turns).toBeGreaterThan(1)
    expect(await store.snapshots.read(await kept)).toEqual(snapshotWith(skills))
  })

  test('is not stored where its last part is written as the signal is aborted', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    const snapshot = snapshotWith(many(0, 1_000))
    const { parts } = await store.snapshots.outline(await store.snapshots.keep(snapshot))
    await using another = await temporaryFolder()
    using target = await Store.open(another.path)
    const stop = new AbortController()
    const put = target.objects.put.bind(target.objects)
    target.objects.put = async (...objects) => {
      const digests = await put(...objects)
      stop.abort()
      return digests
    }

    await expect(target.snapshots.keep(snapshot, stop.signal)).rejects.toThrow('aborted')

    expect(await target.objects.missing(parts)).toEqual([])
    expect(await target.snapshots.digests()).toEqual([])
  })

  test.each([
    ['has other bytes', damageObject],
    ['is gone', loseObject],
  ] as const)('of which a part %s is not given out, and is whole again once it is kept', async (_, harm) => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const snapshot = snapshotWith(many(0, 1_000))
    const digest = await store.snapshots.keep(snapshot)
    const part = (await store.snapshots.outline(digest)).parts[0]!
    expect(await store.snapshots.isWhole(digest)).toBe(true)

    harm(store, part)

    using restarted = await Store.open(folder.path)
    expect(await restarted.snapshots.readWhole(digest)).toBeUndefined()
    expect(await restarted.snapshots.keep(snapshot)).toBe(digest)
    expect(await restarted.snapshots.isWhole(digest)).toBe(true)
    using again = await Store.open(folder.path)
    expect(await again.snapshots.read(digest)).toEqual(snapshot)
  })

  test('of which a part is gone is whole again once the same store keeps it', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(folder.path)
    const snapshot = snapshotWith(many(0, 1_000))
    const digest = await store.snapshots.keep(snapshot)
    loseObject(store, (await store.snapshots.outline(digest)).parts[0]!)

    await store.snapshots.keep(snapshot)

    expect(await store.snapshots.isWhole(digest)).toBe(true)
  })

  test('of which one of very many parts is gone, the first or the last, is told so by the next look', async () => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const snapshot = snapshotWith(many(0, 20_000))
    const digest = await store.snapshots.keep(snapshot)
    const { parts } = await store.snapshots.outline(digest)
    expect(parts.length).toBeGreaterThan(64)

    for (const part of [parts[0]!, parts.at(-1)!]) {
      expect(await store.snapshots.isWhole(digest)).toBe(true)
      loseObject(store, part)
      expect(await store.snapshots.isWhole(digest)).toBe(false)
      await store.snapshots.keep(snapshot)
    }
  })
})

describe('where skills are cut into parts', () => {
  const named = (names: Iterable<number>) => [...names].toSorted((a, b) => a - b).map((at) => numberedOf(at))

  test('each is in one part, in their order, and no part but the last is small', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2_000 }), async (count) => {
        const skills = named(Array.from({ length: count }, (_, at) => at * 7))
        const parts = await splitIntoParts(skills, never())

        expect(parts.flat()).toEqual(skills)
        expect(parts.every(({ length }) => length <= 64)).toBe(true)
        expect(parts.slice(0, -1).every(({ length }) => length >= 4)).toBe(true)
        expect(count > 16 || parts.length === 1).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test.each([100, 1_000])('none of %i skills that say much of themselves is long', async (count) => {
    await using folder = await temporaryFolder()
    const store = await Store.open(folder.path)
    const frontmatter = { name: 'x', texts: 'x'.repeat(100_000) }
    const skills = Array.from({ length: count }, (_, at) => ({ ...numberedOf(at), frontmatter }))

    const digest = await store.snapshots.keep(snapshotWith(skills))

    const { parts } = await store.snapshots.outline(digest)
    const objects = await Promise.all([digest, ...parts].map((each) => store.objects.get(each)))
    expect(objects.every((bytes) => bytes!.length < 1_500_000)).toBe(true)
    expect((await (await Store.open(folder.path)).snapshots.read(digest)).skills).toEqual(skills)
  })

  test('one that comes or goes leaves nearly all parts as they are', async () => {
    const pathsOf = (parts: Awaited<ReturnType<typeof splitIntoParts>>) =>
      parts.map((part) => JSON.stringify(part.map(({ path }) => path)))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1_999 }), async (at) => {
        const skills = named(Array.from({ length: 2_000 }, (_, index) => index))
        const before = new Set(pathsOf(await splitIntoParts(skills, never())))

        const after = pathsOf(await splitIntoParts(skills.toSpliced(at, 1), never()))

        expect(after.filter((part) => !before.has(part)).length).toBeLessThanOrEqual(6)
      }),
      { numRuns: 50 },
    )
  })
})

test('equal snapshots are one object, in whatever order their keys were put in', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1))
  const { source, url, ...rest } = snapshot
  const reordered = { ...rest, url, source }

  const digests = await Promise.all([store.snapshots.keep(snapshot), store.snapshots.keep(reordered)])

  expect(new Set(digests).size).toBe(1)
  expect(await store.snapshots.digests()).toEqual([digests[0]])
})

test('a damaged snapshot is never given out, and keeping it again mends it', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1))
  const digest = await store.snapshots.keep(snapshot)
  damageObject(store, digest)

  await expect(store.snapshots.read(digest)).rejects.toThrow(Damaged)
  await store.snapshots.keep(snapshot)
  expect(await store.snapshots.read(digest)).toEqual(snapshot)
})

test('a snapshot that is not there is store-failed, and so is a name that is a path', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const digest = await store.snapshots.keep(snapshotOf())
  loseObject(store, digest)

  for (const name of [digest, '../generations/1']) {
    await expect(store.snapshots.read(name)).rejects.toMatchObject({ code: 'store-failed' })
    expect(await store.snapshots.has(name)).toBe(false)
  }
})

test('canonical JSON and back is the identity, and the same bytes again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value)

      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(JSON.parse(text))).toBe(text)
    }),
  )
})

test('canonical JSON sorts every key, keeps a prototype name, and leaves out what has no value', () => {
  const value = { b: [{ z: 1, a: undefined }], a: null, 10: 1, '-': 2, ...JSON.parse('{"__proto__":3}') }
  Object.defineProperty(value, '__proto__', { value: 3, enumerable: true })

  expect(canonicalJson(value)).toBe('{"-":2,"10":1,"__proto__":3,"a":null,"b":[{"z":1}]}\n')
})

function numberedOf(number: number): Skill {
  const path = `skill-${String(number).padStart(6, '0')}`
  return { ...SAMPLE, path, servedPath: path }
}

const SAMPLE = numbered(1).skill

function snapshotWith(skills: readonly Skill[]): Snapshot {
  return { ...snapshotOf(), skills: skills.toSorted((a, b) => comparePaths(a.path, b.path)) }
}
