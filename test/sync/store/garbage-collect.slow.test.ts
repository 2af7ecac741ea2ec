import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RETENTION, type Retention } from '../../../src/sync/store/garbage-collect.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, never, numbered, publishSamples, snapshotOf, sourceId, verifyCurrent } from './samples.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR_MS = 3_600_000
const NOTHING: ReadonlySet<string> = new Set()
const NOTHING_REMOVED = { generations: 0, objects: 0, checkouts: 0, bytes: 0 }

/** The objects that go with one generation of `publishHourly`: itself, its snapshot, and a skill's three own files. */
const PER_GENERATION = 5

/** A clock that a test moves. */
class Clock {
  #elapsedMs = 0

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
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 30)
  clock.pass(HOUR_MS / 2)

  const removed = await collect(store, clock)

  expect(removed).toMatchObject({ generations: 6, objects: 6 * PER_GENERATION })
  expect((await store.generations.numbers()).at(-1)).toBe(7)
  expect(await hasSkill(store, 6)).toBe(false)
  expect(await hasSkill(store, 7)).toBe(true)
  expect(await verifyCurrent(store)).toBe(30)
})

test('however old they are, the newest three stay', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 5)
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock)

  expect(await store.generations.numbers()).toEqual([5, 4, 3])
  expect(removed).toMatchObject({ generations: 2, objects: 2 * PER_GENERATION })
})

test('the bytes that were freed are those of all objects that were removed', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 4)
  clock.pass(1000 * HOUR_MS)
  const before = await collect(store, clock, { ...RETENTION, generations: 4 })

  const { bytes, left } = await collect(store, clock)

  expect(before.bytes).toBe(0)
  expect(bytes).toBe(before.left - left)
  expect(bytes).toBeGreaterThan(numbered(1).skill.size - SHARED_BYTES)
})

test('a second collection finds nothing', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 5)
  clock.pass(1000 * HOUR_MS)
  await collect(store, clock)

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
})

test('what is served stays, however few are to be kept, with its objects and checkouts', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 6)
  for (const number of [3, 6, 7]) await store.checkouts.ensure(numbered(number).stored)
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock, { generations: 0, youngerThanMs: 0, bytes: 0 })

  expect(removed).toMatchObject({ generations: 5, objects: 5 * PER_GENERATION, checkouts: 1 })
  expect(await store.generations.numbers()).toEqual([6])
  expect(await verifyCurrent(store)).toBe(6)
  for (const number of [6, 7]) expect(await store.checkouts.damageIn(numbered(number).stored)).toEqual([])
  expect(await store.checkouts.has(numbered(3).stored)).toBe(false)
})

test('what does not fit goes, the oldest first; what is served stays whatever it comes to', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 6)
  // Number n has the skills n and n + 1, so the newest three have four; one file is the same in all.
  const own = numbered(1).skill.size - SHARED_BYTES
  const newestThree = 4 * own + SHARED_BYTES

  const some = await collect(store, clock, { ...RETENTION, bytes: newestThree })
  const kept = await store.generations.numbers()
  const fewer = await collect(store, clock, { ...RETENTION, bytes: newestThree - 1 })
  const twoKept = await store.generations.numbers()
  const before = store.bytes
  const all = await collect(store, clock, { ...RETENTION, bytes: 1 })

  expect(kept).toEqual([6, 5, 4])
  expect(twoKept).toEqual([6, 5])
  expect([some, fewer, all].map(({ generations }) => generations)).toEqual([3, 1, 1])
  expect(await store.generations.numbers()).toEqual([6])
  expect(store.bytes).toBeLessThanOrEqual(before)
  expect(store.bytes).toBeGreaterThanOrEqual(all.left)
  expect(await verifyCurrent(store)).toBe(6)
})

test('a snapshot that is kept for another reason stays, and its skills with it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  const [first] = await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)

  await collect(store, clock, RETENTION, new Set([first ?? '']))

  expect(await store.snapshots.read(first ?? '')).toEqual(snapshotOf(numbered(1), numbered(2)))
  expect(await hasSkill(store, 1)).toBe(true)
  expect(await hasSkill(store, 3)).toBe(false)
})

test('what a pull has stored or found stays while its workspace is open, and no longer', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)
  {
    await using _pull = await store.workspace()
    await keepSamples(store, numbered(50))
    await store.skills.expectWhole([numbered(1).stored])
    await store.snapshots.keep(snapshotOf(numbered(1), numbered(50)))

    await collect(store, clock)

    expect(await hasSkill(store, 1)).toBe(true)
    expect(await hasSkill(store, 50)).toBe(true)
    expect(await hasSkill(store, 2)).toBe(false)
  }
  // A snapshot, the own files of two skills, and the generation that the collection itself had read under the lease.
  expect(await collect(store, clock)).toMatchObject({ generations: 0, objects: 1 + 2 * 3 + 1 })
})

test('what a pull has stored stays no longer than until its signal is aborted, and no snapshot is stored from then on', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 1)
  const controller = new AbortController()
  await using _pull = await store.workspace(controller.signal)
  await keepSamples(store, numbered(50))
  await collect(store, clock)
  const before = await hasSkill(store, 50)

  controller.abort()
  await collect(store, clock)

  expect([before, await hasSkill(store, 50)]).toEqual([true, false])
  await expect(store.snapshots.keep(snapshotOf(numbered(50)), controller.signal)).rejects.toThrow('aborted')
})

test('an old skill that a pull found can be published after a collection', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)
  await using _pull = await store.workspace()
  await store.skills.expectWhole([numbered(1).stored])

  await collect(store, clock)
  const snapshot = await store.snapshots.keep(snapshotOf(numbered(1)))
  await store.generations.publish([{ source: sourceId('team'), snapshot }], clock.now)

  expect(await verifyCurrent(store)).toBe(7)
})

test.each([
  ['its generation is damaged', damageObject, async (store: Store) => (await store.objects.head())?.generation],
  ['its generation is gone', loseObject, async (store: Store) => (await store.objects.head())?.generation],
  ['its snapshot is damaged', damageObject, servedSnapshot],
  ['its snapshot is gone', loseObject, servedSnapshot],
] as const)('nothing is removed while what is served cannot be read: %s', async (_, harm, chosen) => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 6)
  await store.checkouts.ensure(numbered(1).stored)
  clock.pass(1000 * HOUR_MS)
  harm(store, (await chosen(store)) ?? '')
  const { bytes } = store

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
  expect(await store.generations.numbers()).toHaveLength(6)
  for (let number = 1; number <= 7; number += 1) expect(await hasSkill(store, number)).toBe(true)
  expect(await store.checkouts.has(numbered(1).stored)).toBe(true)
  expect(store.bytes).toBe(bytes)
})

async function servedSnapshot(store: Store): Promise<string | undefined> {
  return (await store.generations.current())?.sources[0]?.snapshot
}

test('nothing is removed while a snapshot to keep cannot be read', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  const [first = ''] = await publishHourly(store, clock, 6)
  clock.pass(1000 * HOUR_MS)
  damageObject(store, first)

  expect(await collect(store, clock, RETENTION, new Set([first]))).toMatchObject(NOTHING_REMOVED)
})

test.each([
  ['damaged', damageObject],
  ['gone', loseObject],
] as const)(
  'an earlier generation or its snapshot that is %s is forgotten, and counts for none of the three',
  async (_, harm) => {
    await using folder = await temporaryFolder()
    const clock = new Clock()
    using store = await Store.open(folder.path)
    const snapshots = await publishHourly(store, clock, 6)
    const fifth = (await store.objects.heads()).find(({ sequence }) => sequence === 5)
    clock.pass(1000 * HOUR_MS)
    harm(store, fifth?.generation ?? '')
    harm(store, snapshots[3] ?? '')

    await collect(store, clock)

    expect(await store.generations.numbers()).toEqual([6, 3, 2])
    expect(await hasSkill(store, 5)).toBe(false)
    expect(await verifyCurrent(store)).toBe(6)
  },
)

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
  using store = await Store.open(folder.path)
  await publishMany(store, clock, 5)
  clock.pass(1000 * HOUR_MS)

  const removed = await collect(store, clock)

  // Per forgotten generation: itself, its snapshot, its own part, and three files.
  expect(removed).toMatchObject({ generations: 2, objects: 2 * 6 })
  expect(await verifyCurrent(store)).toBe(5)
})

test('nothing is removed while a part of what is served cannot be read', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  const snapshots = await publishMany(store, clock, 5)
  const { parts } = await store.snapshots.outline(snapshots.at(-1)!)
  damageObject(store, parts[0]!)
  clock.pass(1000 * HOUR_MS)
  // What another process reads: this one has the part in memory.
  using other = await Store.open(folder.path)

  expect(await collect(other, clock)).toMatchObject(NOTHING_REMOVED)
})

test('a part that is about to be published stays, whichever snapshot named it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  const [first] = await publishMany(store, clock, 5)
  const old = await store.snapshots.read(first!)
  clock.pass(1000 * HOUR_MS)

  await using _pull = await store.workspace()
  const again = await store.snapshots.keep(old)
  await collect(store, clock)

  expect(await store.snapshots.read(again)).toEqual(old)
})

test('nothing is removed where no generation can be read', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishHourly(store, clock, 2)
  for (const { generation } of await store.objects.heads()) damageObject(store, generation)
  clock.pass(1000 * HOUR_MS)

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
  for (const number of [1, 2, 3]) expect(await hasSkill(store, number)).toBe(true)
})

test('pulls that ask for old skills while those are collected publish generations that are whole', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  const shared = Array.from({ length: 6 }, (_, number) => numbered(number))
  const pull = async (lane: number): Promise<void> => {
    await using _pull = await store.workspace()
    const mine = shared.filter((_, number) => number % 3 !== lane)
    const missing = new Set(await store.objects.missing(mine.flatMap(({ stored }) => stored.files.map(sha256Of))))
    const lacking = mine.filter(({ stored }) => stored.files.some((file) => missing.has(file.sha256)))
    await store.objects.put(lacking.flatMap(({ bytes }) => Array.from(bytes.values())))
    await store.skills.expectWhole(mine.map(({ stored }) => stored))
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
  using store = await Store.open(folder.path)
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
  using store = await Store.open(folder.path)
  for (const name of ['checkouts', 'upstreams']) await rm(join(folder.path, name), { recursive: true })

  expect(await collect(store, clock)).toMatchObject(NOTHING_REMOVED)
})

test('a file of another MCP server stays for as long as a stored snapshot of its source names it', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishUpstream(store, clock, 3)
  await store.upstreams.keep(sourceId('other'), fileOf(3).sha256, Buffer.from('named by no snapshot of this source'))

  const removed = await collect(store, clock, { ...RETENTION, generations: 2, youngerThanMs: 0 })

  expect(removed).toMatchObject({ generations: 1, objects: 2 })
  expect(removed.bytes).toBeGreaterThan(fileOf(1).size)
  expect(await keptAmong(store, [1, 2, 3])).toEqual([2, 3])
  expect(await readdir(store.folder.at('upstreams', 'other', 'files'))).toEqual([])
})

test('while what is served cannot be read, no file of another MCP server is removed, nor is one that is being written', async () => {
  await using folder = await temporaryFolder()
  const clock = new Clock()
  using store = await Store.open(folder.path)
  await publishUpstream(store, clock, 3)
  const being = store.folder.at('upstreams', 'team', 'files', `.tmp-${'0'.repeat(32)}`)
  await writeFile(being, 'half')
  const retention = { ...RETENTION, generations: 2, youngerThanMs: 0 }

  const digest = (await servedSnapshot(store)) ?? ''
  const snapshot = await store.snapshots.read(digest)
  damageObject(store, digest)
  await collect(store, clock, retention)
  const kept = await keptAmong(store, [1, 2, 3])
  await store.snapshots.keep(snapshot)
  await collect(store, clock, retention)

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
    clock.pass(2 * HOUR_MS)
    const skill = { ...numbered(number).skill, upstream: { source, uri: `skill://skill-${number}/SKILL.md` } }
    const snapshot = await store.snapshots.keep({ ...snapshotOf(), skills: [skill] })
    await store.generations.publish([{ source, snapshot }], clock.now)
    await store.upstreams.keep(source, fileOf(number).sha256, numbered(number).bytes.get('SKILL.md')!)
    snapshots.push(snapshot)
  }
  clock.pass(2 * HOUR_MS)
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

function sha256Of({ sha256 }: { readonly sha256: string }): string {
  return sha256
}

/** The file that all numbered skills share. */
const SHARED_BYTES = numbered(1).skill.files.find(({ path }) => path === 'references/shared.md')!.size

async function hasSkill(store: Store, number: number): Promise<boolean> {
  return (await store.skills.damageIn(numbered(number).stored)).length === 0
}
