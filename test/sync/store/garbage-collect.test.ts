import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Generation } from '../../../src/sync/model/generation.ts'
import { CLAIM_MS } from '../../../src/sync/store/files/gc-leases.ts'
import { collect as collectFrom, RETENTION, type Retention } from '../../../src/sync/store/garbage-collect.ts'
import { GenerationStore } from '../../../src/sync/store/generations.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import {
  fetched,
  keepSamples,
  never,
  numbered,
  publishSamples,
  snapshotOf,
  sourceId,
  verifyCurrent,
} from './samples.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR_MS = 3_600_000
const NOTHING: ReadonlySet<string> = new Set()
const NOTHING_REMOVED = { generations: 0, snapshots: 0, skills: 0, bytes: 0 }

/** A clock that a test moves, for both kinds of time. */
class Clock {
  #elapsedMs = 0
  readonly monotonicMs = (): number => this.#elapsedMs

  get now(): Date {
    return new Date(START + this.#elapsedMs)
  }

  pass(ms: number): void {
    this.#elapsedMs += ms
  }
}

/** Publishes so many generations, an hour apart: number n holds the skills n and n + 1. */
async function publishHourly(store: Store, clock: Clock, count: number): Promise<string[]> {
  const snapshots: string[] = []
  for (let number = 1; number <= count; number += 1) {
    clock.pass(HOUR_MS)
    const held = await publishSamples(store, clock.now, numbered(number), numbered(number + 1))
    snapshots.push(held.snapshot)
  }
  return snapshots
}

function collect(
  store: Store,
  clock: Clock,
  retention: Retention = RETENTION,
  keep: ReadonlySet<string> = NOTHING,
): ReturnType<Store['collect']> {
  return store.collect({ now: clock.now, retention, keep }, never())
}

test('the newest three generations stay and all that are younger than a day, with all that they name', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 30)
  clock.pass(HOUR_MS / 2)

  const removed = await collect(store, clock)

  expect(removed).toMatchObject({ generations: 6, snapshots: 6, skills: 6 })
  expect((await store.generations.numbers()).at(-1)).toBe(7)
  expect(await store.skills.has(numbered(6).stored)).toBe(false)
  expect(await store.skills.has(numbered(7).stored)).toBe(true)
  expect(await verifyCurrent(store)).toBe(30)
})

test('however old they are, the newest three stay', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 5)
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock)

  expect(await store.generations.numbers()).toEqual([5, 4, 3])
  expect(removed).toMatchObject({ generations: 2, snapshots: 2, skills: 2 })
})

test('the bytes that were given back are those of all files that were removed', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 4)
  clock.pass(1000 * HOUR_MS)
  const before = await bytesBelow(folder.path)

  const { bytes } = await collect(store, clock)

  expect(bytes).toBe(before - (await bytesBelow(folder.path)))
  expect(bytes).toBeGreaterThan(numbered(1).skill.size)
  expect(await readdir(join(folder.path, 'tmp'))).toEqual([])
})

test('a second collection finds nothing', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 5)
  clock.pass(1000 * HOUR_MS)
  await collect(store, clock)

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
})

test('the generation that is served stays, wherever "current" points', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 6)
  await writeFile(join(folder.path, 'current'), '2\n')
  clock.pass(1000 * HOUR_MS)

  await collect(store, clock, { ...RETENTION, generations: 1, youngerThanMs: 0 })

  expect(await store.generations.numbers()).toEqual([6, 2])
  expect(await verifyCurrent(store)).toBe(2)
})

test('what does not fit goes, the oldest first; what is served stays whatever it comes to', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const snapshots = await publishHourly(store, clock, 6)
  clock.pass(2 * CLAIM_MS)
  const skill = numbered(1).skill.size
  const [served = 0, ...older] = await Promise.all(
    snapshots
      .slice(-3)
      .toReversed()
      .map((digest) => store.snapshots.bytes(digest)),
  )
  // Number n holds the skills n and n + 1, so the newest three hold four.
  const newestThree = 4 * skill + older.reduce((sum, bytes) => sum + bytes, served)

  const some = await collect(store, clock, { ...RETENTION, bytes: newestThree })
  const kept = await store.generations.numbers()
  const all = await collect(store, clock, { ...RETENTION, bytes: 1 })

  expect(kept).toEqual([6, 5, 4])
  expect(some).toMatchObject({ generations: 3, left: newestThree })
  expect(await store.generations.numbers()).toEqual([6])
  expect(all.left).toBe(2 * skill + served)
  expect(store.bytes).toBe(all.left)
  expect(await verifyCurrent(store)).toBe(6)
})

test('a snapshot that is kept for another reason stays, and its skills with it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const [first] = await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)

  await collect(store, clock, RETENTION, new Set([first ?? '']))

  expect(await store.snapshots.read(first ?? '')).toEqual(snapshotOf(numbered(1), numbered(2)))
  expect(await store.skills.has(numbered(1).stored)).toBe(true)
  expect(await store.skills.has(numbered(3).stored)).toBe(false)
})

test('what a pull kept and did not publish yet stays for an hour, and no longer', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 1)
  await keepSamples(store, numbered(50))
  const snapshot = await store.snapshots.keep(snapshotOf(numbered(50)))
  clock.pass(CLAIM_MS - 1)

  const early = await collect(store, clock)
  clock.pass(1)
  const late = await collect(store, clock)

  expect(early).toMatchObject(NOTHING_REMOVED)
  expect(late).toMatchObject({ generations: 0, snapshots: 1, skills: 1 })
  expect(await store.snapshots.has(snapshot)).toBe(false)
})

test('an old skill that a pull asked for stays until the pull can publish it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)
  await store.skills.has(numbered(1).stored)

  await collect(store, clock)
  const held = await publishSamples(store, clock.now, numbered(1))

  expect(await store.snapshots.has(held.snapshot)).toBe(true)
  expect(await verifyCurrent(store)).toBe(7)
})

test('no skill is removed while a snapshot cannot be read: it may name any of them', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const snapshots = await publishHourly(store, clock, 6)
  await writeFile(join(folder.path, 'snapshots', `${snapshots[5]}.json`), '{}')
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock)

  expect(removed).toMatchObject({ generations: 3, skills: 0 })
  expect(await store.skills.digests()).toHaveLength(7)
})

/** Publishes so many generations of many skills, an hour apart: each has one skill that no other has. */
async function publishMany(store: Store, clock: Clock, count: number): Promise<string[]> {
  const shared = Array.from({ length: 400 }, (_, at) => numbered(1_000 + at))
  await keepSamples(store, ...shared)
  const snapshots: string[] = []
  for (let number = 0; number < count; number += 1) {
    clock.pass(HOUR_MS)
    const samples = [...shared, numbered(2_000 + number)]
    await keepSamples(store, ...samples.slice(-1))
    const snapshot = await store.snapshots.keep(snapshotOf(...samples))
    await store.generations.publish([{ source: sourceId('team'), snapshot }], clock.now)
    snapshots.push(snapshot)
  }
  return snapshots
}

test('parts of snapshots go with the last snapshot that names them, and skills that only parts name stay', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishMany(store, clock, 5)
  const before = await store.snapshots.partDigests()
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock)

  expect(removed).toMatchObject({ generations: 2, snapshots: 2, skills: 2 })
  const after = await store.snapshots.partDigests()
  expect(before).toEqual(expect.arrayContaining(after))
  expect(before.length - after.length).toBe(2)
  expect(await verifyCurrent(store)).toBe(5)
  expect(await store.skills.digests()).toHaveLength(403)
})

test('no part and no skill is removed while a part cannot be read', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishMany(store, clock, 5)
  const before = await store.snapshots.partDigests()
  await writeFile(store.folder.at('snapshots', `${before[0]}.part`), '[]')
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(await Store.open(folder.path, clock), clock)

  expect(removed).toMatchObject({ skills: 0 })
  expect((await store.snapshots.partDigests()).toSorted()).toEqual(before.toSorted())
})

test('a part that is kept again without being written stays for as long as one that is', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const [first] = await publishMany(store, clock, 1)
  const snapshot = await store.snapshots.read(first!)
  const parts = await store.snapshots.partDigests()
  clock.pass(2 * CLAIM_MS)

  await store.snapshots.keep(snapshot)

  for (const part of parts) expect(await store.snapshots.setPartAside(part)).toBeUndefined()
})

test('a part that is about to be published stays, whichever snapshot named it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const [first] = await publishMany(store, clock, 5)
  const old = await store.snapshots.read(first!)
  clock.pass(1000 * HOUR_MS)

  const again = await store.snapshots.keep(old)
  await collect(store, clock)

  expect(await store.snapshots.read(again)).toEqual(old)
})

test('nothing is removed where no generation is whole', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 2)
  for (const name of ['1.json', '2.json']) await writeFile(join(folder.path, 'generations', name), '{')
  clock.pass(1000 * HOUR_MS)

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
  expect(await store.skills.digests()).toHaveLength(3)
})

test('nothing is removed where the pointer to a generation stands and all of them are gone', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const snapshots = await publishHourly(store, clock, 2)
  await rm(join(folder.path, 'generations'), { recursive: true })
  clock.pass(1000 * HOUR_MS)

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
  expect(await store.snapshots.digests()).toEqual(expect.arrayContaining(snapshots))
  expect(await store.skills.digests()).toHaveLength(3)
})

test.each(['generations', 'snapshots'])(
  'no skill that is served is removed when "%s" goes during a collection',
  async (lost) => {
    await using folder = await temporaryFolder()
    const clock = new Clock()
    const store = await Store.open(folder.path, clock)
    await publishHourly(store, clock, 2)
    clock.pass(1000 * HOUR_MS)
    class Losing extends GenerationStore {
      override async current(): Promise<Generation | undefined> {
        const found = await super.current()
        await rm(join(folder.path, lost), { recursive: true })
        return found
      }
    }
    const generations = new Losing(store.folder, store.snapshots)

    const { snapshots, skills, upstreams } = store
    const collection = { now: clock.now, retention: RETENTION, keep: NOTHING }
    await collectFrom({ generations, snapshots, skills, upstreams }, collection, never())

    expect(await store.skills.has(numbered(2).stored)).toBe(true)
    expect(await store.skills.has(numbered(3).stored)).toBe(true)
  },
)

test('a damaged generation beside a whole one goes, and counts for none of the three', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 5)
  const file = join(folder.path, 'generations', '4.json')
  await writeFile(file, (await readFile(file, 'utf8')).slice(1))
  clock.pass(1000 * HOUR_MS)

  await collect(store, clock)

  expect(await store.generations.numbers()).toEqual([5, 3, 2])
})

test('pulls that ask for old skills while those are collected publish generations that are whole', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await using scratch = await store.scratch()
  const shared = Array.from({ length: 6 }, (_, number) => numbered(number))
  const bytesOf = await fetched(scratch.path, shared)
  const pull = async (lane: number): Promise<void> => {
    const mine = shared.filter((_, number) => number % 3 !== lane)
    const skills = mine.map(({ stored }) => stored)
    await store.skills.keepAll(skills, bytesOf, never())
    const snapshot = await store.snapshots.keep(snapshotOf(...mine))
    await store.generations.publish([{ source: snapshotOf().source, snapshot }], clock.now)
  }

  for (let round = 1; round <= 15; round += 1) {
    await store.generations.publish([], clock.now)
    clock.pass(1000 * HOUR_MS)
    await Promise.all([
      pull(0),
      collect(store, clock, { ...RETENTION, generations: 1, youngerThanMs: 0 }),
      pull(1),
      pull(2),
    ])

    expect(await verifyCurrent(store)).toBe(4 * round)
  }
})

test('an abort ends a collection, and what is served is whole', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)
  const reason = new Error('stopping')

  const collecting = store.collect({ now: clock.now, retention: RETENTION, keep: NOTHING }, AbortSignal.abort(reason))

  await expect(collecting).rejects.toBe(reason)
  expect(await verifyCurrent(store)).toBe(6)
})

test('a state folder that lost one of its folders is collected without complaint', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await rm(join(folder.path, 'skills'), { recursive: true })

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
})

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await readFile(join(entry.parentPath, entry.name))).length
  }
  return bytes
}

test('a file of another MCP server stays for as long as a stored snapshot of its source names it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  await publishUpstream(store, clock, 3)
  await store.upstreams.keep(sourceId('other'), fileOf(3).sha256, Buffer.from('named by no snapshot of this source'))

  const removed = await collect(store, clock, { ...RETENTION, generations: 2, youngerThanMs: 0 })

  expect(removed).toMatchObject({ generations: 1, snapshots: 1 })
  expect(removed.bytes).toBeGreaterThan(fileOf(1).size)
  expect(await keptAmong(store, [1, 2, 3])).toEqual([2, 3])
  expect(await readdir(store.folder.at('upstreams', 'other', 'files'))).toEqual([])
})

test('while a snapshot cannot be read, no file of another MCP server is removed, nor is one that is being written', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  const store = await Store.open(folder.path, clock)
  const snapshots = await publishUpstream(store, clock, 3)
  const being = store.folder.at('upstreams', 'team', 'files', `.tmp-${'0'.repeat(32)}`)
  await writeFile(being, 'half')

  const damaged = store.folder.at('snapshots', `${snapshots[1]}.json`)
  const whole = await readFile(damaged)
  await writeFile(damaged, '{}')
  await collect(store, clock, { ...RETENTION, generations: 2, youngerThanMs: 0 })
  const kept = await keptAmong(store, [1, 2, 3])
  await writeFile(damaged, whole)
  await collect(store, clock, { ...RETENTION, generations: 2, youngerThanMs: 0 })

  expect([kept, await keptAmong(store, [1, 2, 3])]).toEqual([
    [1, 2, 3],
    [2, 3],
  ])
  expect(await readFile(being, 'utf8')).toBe('half')
  await store.sweep()
  await expect(readFile(being)).rejects.toThrow('ENOENT')
})

/** Publishes so many generations, hours apart: number n holds the skill n as one of another server, whose SKILL.md is kept. */
async function publishUpstream(store: Store, clock: Clock, count: number): Promise<string[]> {
  const source = sourceId('team')
  const snapshots: string[] = []
  for (let number = 1; number <= count; number += 1) {
    clock.pass(2 * CLAIM_MS)
    const skill = { ...numbered(number).skill, upstream: { source, uri: `skill://skill-${number}/SKILL.md` } }
    const snapshot = await store.snapshots.keep({ ...snapshotOf(), skills: [skill] })
    await store.generations.publish([{ source, snapshot }], clock.now)
    await store.upstreams.keep(source, fileOf(number).sha256, numbered(number).bytes.get('SKILL.md')!)
    snapshots.push(snapshot)
  }
  clock.pass(2 * CLAIM_MS)
  return snapshots
}

async function keptAmong(store: Store, numbers: readonly number[]): Promise<number[]> {
  const kept = numbers.map(async (number) => (await store.upstreams.read(sourceId('team'), fileOf(number))).kind)
  const kinds = await Promise.all(kept)
  return numbers.filter((_, index) => kinds[index] === 'whole')
}

function fileOf(number: number) {
  return numbered(number).skill.files.find(({ path }) => path === 'SKILL.md')!
}
