import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/base/async/clock.ts'
import { Registry } from '../../../src/serve/registry.ts'
import type { Catalog, Catalogs } from '../../../src/sync/catalog/catalog.ts'
import type { GenerationCause, GenerationEntry } from '../../../src/sync/model/generation.ts'
import type { ServedSource, Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { currentCatalog, currentState } from '../../../src/sync/pull/generation-catalog.ts'
import { type Admission } from '../../../src/sync/pull/load-generation.ts'
import { Publisher, type Changed } from '../../../src/sync/pull/publisher.ts'
import { RETENTION } from '../../../src/sync/store/garbage-collect.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { SlowValues } from '../../support/content/slow-values.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { setDisabled } from '../../support/decided.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, numbered, snapshotOf, sourceId, type Sample } from '../store/samples.ts'

const TEAM = sourceId('team')
const HOUSE = sourceId('house')
const LATE = sourceId('late')
const BOTH = [TEAM, HOUSE]
const NOW = new Date('2026-01-02T03:04:05.678Z')
/** By when nothing of `NOW` is young. */
const LATER = new Date('2027-01-02T03:04:05.678Z')
const STEADY = new AbortController().signal

async function openStore() {
  const folder = await temporaryFolder()
  const store = await Store.open(join(folder.path, 'state'))
  return { store, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

/** What a pull of the source leaves behind when it says that it brought these skills. */
async function pulled(store: Store, source: string, ...samples: Sample[]): Promise<[Changed, GenerationCause]> {
  await keepSamples(store, ...samples)
  const id = sourceId(source)
  const snapshot = { ...snapshotOf(...samples), source: id }
  const held = { source: id, snapshot: await store.snapshots.keep(snapshot) }
  return [new Map([[id, { held, snapshot }]]), causeOf(id)]
}

/** The same of the source `team`, where each skill takes a slice of the thread to be built. */
async function slowlyBuilt(store: Store, slow: SlowValues, skills: number): Promise<[Changed, GenerationCause]> {
  const samples = Array.from({ length: skills }, (_, index) => numbered(index + 1))
  const [changed, cause] = await pulled(store, 'team', ...samples)
  const { held, snapshot } = changed.get(TEAM)!
  return [
    new Map([[TEAM, { held, snapshot: { ...snapshot, skills: snapshot.skills.map((one) => slow.of(one)) } }]]),
    cause,
  ]
}

function causeOf(source: SourceId): GenerationCause {
  return { action: 'update', trigger: 'schedule', source }
}

/** What a pull brought, as a generation names it. */
function heldIn([changed]: [Changed, GenerationCause]): GenerationEntry | undefined {
  return [...changed.values()][0]?.held
}

const all: Admission = { admits: async () => true, reviewed: new Set() }

function urisOf(catalog: Catalog): string[] {
  return [...catalog.skills.keys()].toSorted()
}

test('a store without a generation is an empty catalog, and stays one until something is published', async () => {
  await using opened = await openStore()
  const { publisher, catalog } = await Publisher.open(opened.store, BOTH, all)

  expect([catalog.generation, catalog.skills.size, catalog.snapshots]).toEqual([0, 0, []])
  expect(publisher.currentOf(TEAM)).toBeUndefined()
  expect(await opened.store.generations.numbers()).toEqual([])
})

test('a skill that is disabled while something is being published is not in what is served after it', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const [changed, cause] = await pulled(opened.store, 'team', numbered(1), numbered(2))
  const skill = numbered(1).skill

  const publishing = publisher.publish(changed, cause, NOW, { signal: STEADY })
  await setDisabled(opened.store.decisions, TEAM, skill.path, true)
  await publishing

  expect(urisOf(publisher.catalog)).toEqual(['skill://team/skill-2/SKILL.md'])
  await setDisabled(opened.store.decisions, TEAM, skill.path, false)
  expect(urisOf(publisher.catalog)).toHaveLength(2)
  expect(publisher.catalog).toBe(publisher.catalog)
})

test('others have the thread between the skills of a catalog, and what is decided later holds for it', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const slow = new SlowValues()
  const three = await slowlyBuilt(opened.store, slow, 3)

  const publishing = publisher.publish(...three, NOW, { signal: STEADY })
  const turns = await slow.turnsUntil(publishing)
  await setDisabled(opened.store.decisions, TEAM, numbered(3).skill.path, true)

  expect(turns).toBeGreaterThan(1)
  expect(urisOf(await publishing)).toHaveLength(3)
  expect(urisOf(publisher.catalog)).toEqual(['skill://team/skill-1/SKILL.md', 'skill://team/skill-2/SKILL.md'])
})

test('a catalog that is still being built when another generation is published does not take its place', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const paths = [1, 2, 3].map((number) => numbered(number).skill.path)
  await publisher.publish(...(await slowlyBuilt(opened.store, new SlowValues(), paths.length)), NOW, { signal: STEADY })
  for (const path of paths) await setDisabled(opened.store.decisions, TEAM, path, true)
  expect(urisOf(publisher.catalog)).toEqual([])
  for (const path of paths) await setDisabled(opened.store.decisions, TEAM, path, false)
  const { generations } = opened.store
  const written = generations.publish.bind(generations)
  let building: Promise<Catalogs> | undefined
  // Begins the build once the next generation is on the disk, before the publisher goes by it.
  generations.publish = async (...args) => {
    const generation = await written(...args)
    building = publisher.readied()
    return generation
  }

  await publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })
  await building

  expect(urisOf(publisher.catalog)).toEqual(['skill://team/skill-1/SKILL.md'])
})

test('what is published is on the disk, and is what the next process begins with', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  await publisher.publish(...(await pulled(opened.store, 'house', numbered(2))), NOW, { signal: STEADY })
  const catalog = await publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })

  const next = await Publisher.open(await Store.open(opened.store.folder.path), BOTH, all)

  expect(urisOf(catalog)).toEqual(['skill://house/skill-2/SKILL.md', 'skill://team/skill-1/SKILL.md'])
  expect(catalog.snapshots.map(({ source }) => source)).toEqual(BOTH)
  expect(next.catalog).toEqual(catalog)
  expect(next.publisher.currentOf(TEAM)).toEqual(publisher.currentOf(TEAM))
  expect(await currentCatalog(opened.store, BOTH, all)).toEqual(catalog)
})

test('two that publish at once share a generation, and neither loses what the other brought', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const [team, house] = [
    await pulled(opened.store, 'team', numbered(1)),
    await pulled(opened.store, 'house', numbered(2)),
  ]

  const catalogs = await Promise.all([
    publisher.publish(...team, NOW, { signal: STEADY }),
    publisher.publish(...house, NOW, { signal: STEADY }),
  ])

  expect(catalogs.map(({ generation }) => generation)).toEqual([1, 1])
  expect(catalogs.map(({ skills }) => skills.size)).toEqual([2, 2])
  const generation = await opened.store.generations.current()
  expect(generation?.sources).toEqual([heldIn(team), heldIn(house)])
  expect(generation?.cause).toEqual({ action: 'update', trigger: 'schedule' })
})

test.for([
  ['is rolled back', { action: 'rollback', trigger: 'command', source: HOUSE }],
  ['is withdrawn', { action: 'withdraw', trigger: 'schedule', source: HOUSE }],
  ['has its history rewritten', { action: 'update', trigger: 'schedule', source: HOUSE, rewritten: true }],
  ['has another trigger', { action: 'update', trigger: 'webhook', source: HOUSE }],
] as const)('one that %s has a generation of its own, in its turn', async ([, own]) => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const [first, team, later] = [
    await pulled(opened.store, 'team', numbered(1)),
    await pulled(opened.store, 'house', numbered(2)),
    await pulled(opened.store, 'team', numbered(3)),
  ]

  const catalogs = await Promise.all([
    publisher.publish(...first, NOW, { signal: STEADY }),
    publisher.publish(team[0], own, NOW, { signal: STEADY }),
    publisher.publish(...later, NOW, { signal: STEADY }),
  ])

  expect(catalogs.map(({ generation }) => generation)).toEqual([1, 2, 3])
  expect((await opened.store.generations.read(2))?.cause).toEqual(own)
  expect(urisOf(publisher.catalog)).toEqual(['skill://house/skill-2/SKILL.md', 'skill://team/skill-3/SKILL.md'])
})

/** A publisher each of whose publications takes so long by its clock. */
async function slowPublisher(store: Store, tookMs: number) {
  const clock = new FakeClock()
  let spentMs = 0
  store.generations.commitWith(async () => {
    spentMs += tookMs
  })
  const slow: Clock = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs() + spentMs,
    wait: async (ms, signal) => clock.wait(ms, signal),
  }
  const { publisher } = await Publisher.open(store, [TEAM, HOUSE, LATE], all, { clock: slow })
  return { publisher, clock }
}

test.for([
  [200, 200],
  [5_000, 1_000],
] as const)(
  'after a publication of %i ms the updates of the next %i ms share a generation',
  async ([tookMs, restMs]) => {
    await using opened = await openStore()
    const { publisher, clock } = await slowPublisher(opened.store, tookMs)
    await publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })

    const house = publisher.publish(...(await pulled(opened.store, 'house', numbered(2))), NOW, { signal: STEADY })
    await clock.advance(restMs - 1)
    const late = publisher.publish(...(await pulled(opened.store, 'late', numbered(3))), NOW, { signal: STEADY })
    expect(await opened.store.generations.numbers()).toEqual([1])
    await clock.advance(1)

    expect((await Promise.all([house, late])).map(({ generation }) => generation)).toEqual([2, 2])
    await clock.advance(1_000)
    const again = await publisher.publish(...(await pulled(opened.store, 'late', numbered(4))), NOW, { signal: STEADY })
    expect(again.generation).toBe(3)
    expect(clock.waiting).toBe(0)
  },
)

test('what is withdrawn or found waits for no rest', async () => {
  await using opened = await openStore()
  const { publisher, clock } = await slowPublisher(opened.store, 1_000)
  const [team, house, late] = [
    await pulled(opened.store, 'team', numbered(1)),
    await pulled(opened.store, 'house', numbered(2)),
    await pulled(opened.store, 'late', numbered(3)),
  ]
  await publisher.publish(...team, NOW, { signal: STEADY })

  const resting = publisher.publish(...house, NOW, { signal: STEADY })
  const withdrawal: GenerationCause = { action: 'withdraw', trigger: 'schedule', source: TEAM }
  await publisher.publish(new Map([[TEAM, undefined]]), withdrawal, NOW, { signal: STEADY })
  expect((await resting).generation).toBe(2)
  expect(publisher.currentOf(TEAM)).toBeUndefined()

  const next = publisher.publish(...late, NOW, { signal: STEADY })
  const found = async (snapshot: Snapshot): Promise<Snapshot> => ({ ...snapshot, skills: [] })
  expect(await publisher.amend(HOUSE, found, causeOf(HOUSE), NOW)).toBe(true)
  expect((await next).generation).toBe(4)
  expect(clock.waiting).toBe(0)
})

test('of two that publish the same source at once, the later one is served', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const [first, later] = [
    await pulled(opened.store, 'team', numbered(1)),
    await pulled(opened.store, 'team', numbered(3)),
  ]

  const catalogs = await Promise.all([first, later].map((each) => publisher.publish(...each, NOW, { signal: STEADY })))

  expect(catalogs.map(({ generation }) => generation)).toEqual([1, 2])
  expect(urisOf(publisher.catalog)).toEqual(['skill://team/skill-3/SKILL.md'])
})

test('one that is stopped before its turn publishes nothing, and settled waits for the one that has begun', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const [team, house] = [
    await pulled(opened.store, 'team', numbered(1)),
    await pulled(opened.store, 'house', numbered(2)),
  ]
  const stop = new AbortController()
  const ends = Promise.allSettled([
    publisher.publish(...team, NOW, { signal: STEADY }),
    publisher.publish(...house, NOW, { signal: stop.signal }),
  ])

  stop.abort()
  await publisher.settled()

  expect((await opened.store.generations.current())?.sources).toEqual([heldIn(team)])
  expect(publisher.currentOf(HOUSE)).toBeUndefined()
  expect((await ends).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
})

test('each of those that share a generation is admitted beside those before it, and one that is not is left out', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const team = await pulled(opened.store, 'team', numbered(1))
  const house = await pulled(opened.store, 'house', numbered(2))
  const seen: string[][] = []
  const beside = async (served: () => readonly ServedSource[]): Promise<void> => {
    seen.push(served().map(({ held }) => held.source))
    if (served().length > 0) throw new SyncError('budget-exceeded', 'no room')
  }

  const ends = await Promise.allSettled([
    publisher.publish(...team, NOW, { signal: STEADY, admit: beside }),
    publisher.publish(...house, NOW, { signal: STEADY, admit: beside }),
  ])

  expect(seen).toEqual([[], [TEAM]])
  expect(ends).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'budget-exceeded' } }])
  expect(await opened.store.generations.numbers()).toEqual([1])
  expect(urisOf(publisher.catalog)).toEqual(['skill://team/skill-1/SKILL.md'])
})

test('one that fails to publish changes nothing, and the next one is not held up', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const lost = { held: { source: TEAM, snapshot: '0'.repeat(64) }, snapshot: snapshotOf(numbered(1)) }
  const house = await pulled(opened.store, 'house', numbered(2))

  const [failed, published] = await Promise.allSettled([
    publisher.publish(new Map([[TEAM, lost]]), causeOf(TEAM), NOW, { signal: STEADY }),
    publisher.publish(...house, NOW, { signal: STEADY }),
  ])

  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'store-failed' } })
  expect(published.status === 'fulfilled' && urisOf(published.value)).toEqual(['skill://house/skill-2/SKILL.md'])
  expect(publisher.currentOf(TEAM)).toBeUndefined()
})

test('what the disk lost of one source holds up no other, and is there again', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const house = await pulled(opened.store, 'house', numbered(2))
  await publisher.publish(...house, NOW, { signal: STEADY })
  const { snapshot } = heldIn(house)!
  loseObject(opened.store, snapshot)

  const catalog = await publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })

  expect(urisOf(catalog)).toEqual(['skill://house/skill-2/SKILL.md', 'skill://team/skill-1/SKILL.md'])
  expect(await opened.store.snapshots.readWhole(snapshot)).toBeDefined()
})

test('whichever part of a large snapshot the disk lost is there again', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const many = Array.from({ length: 400 }, (_, at) => numbered(1_000 + at))
  await publisher.publish(...(await pulled(opened.store, 'team', ...many)), NOW, { signal: STEADY })
  const { parts } = await opened.store.snapshots.outline(publisher.currentOf(TEAM)!.held.snapshot)
  expect(parts.length).toBeGreaterThan(1)

  for (const part of parts) {
    loseObject(opened.store, part)
    expect(await publisher.mend(TEAM, causeOf(TEAM), NOW, STEADY)).toBe(true)
    expect(await publisher.mend(TEAM, causeOf(TEAM), NOW, STEADY)).toBe(false)
  }

  const restarted = await Store.open(opened.store.folder.path)
  expect((await currentCatalog(restarted, BOTH, all)).skills.size).toBe(400)
})

test('whoever follows serves what is served by now where what was served before went while it was read', async () => {
  await using opened = await openStore()
  const { store } = opened
  const { publisher } = await Publisher.open(store, BOTH, all)
  const old = await pulled(store, 'team', numbered(1))
  await publisher.publish(...old, NOW, { signal: STEADY })
  const next = await pulled(store, 'team', numbered(2))
  const follower = await Store.open(store.folder.path)
  const read = follower.snapshots.readWhole.bind(follower.snapshots)
  follower.snapshots.readWhole = async (digest) => {
    if (digest === heldIn(old)?.snapshot) {
      await publisher.publish(...next, NOW, { signal: STEADY })
      await store.collect({ now: LATER, retention: { ...RETENTION, generations: 1 }, keep: new Set() }, STEADY)
    }
    return read(digest)
  }

  const catalog = await currentCatalog(follower, BOTH, all)

  expect(urisOf(catalog)).toEqual(['skill://team/skill-2/SKILL.md'])
})

test('a source that left the configuration is gone from the first catalog, and from the next generation', async () => {
  await using opened = await openStore()
  const before = await Publisher.open(opened.store, BOTH, all)
  await before.publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })
  await before.publisher.publish(...(await pulled(opened.store, 'house', numbered(2))), NOW, { signal: STEADY })

  const { publisher, catalog } = await Publisher.open(opened.store, [HOUSE], all)
  const next = await publisher.publish(...(await pulled(opened.store, 'house', numbered(3))), NOW, { signal: STEADY })

  expect(urisOf(catalog)).toEqual(['skill://house/skill-2/SKILL.md'])
  expect(catalog.folders.has('skill://team')).toBe(false)
  expect(publisher.currentOf(TEAM)).toBeUndefined()
  expect(urisOf(next)).toEqual(['skill://house/skill-3/SKILL.md'])
  expect((await opened.store.generations.current())?.sources.map(({ source }) => source)).toEqual(['house'])
})

test('a source whose snapshot was damaged takes no other source along', async () => {
  await using opened = await openStore()
  const before = await Publisher.open(opened.store, BOTH, all)
  const team = await pulled(opened.store, 'team', numbered(1))
  await before.publisher.publish(...team, NOW, { signal: STEADY })
  await before.publisher.publish(...(await pulled(opened.store, 'house', numbered(2))), NOW, { signal: STEADY })
  damageObject(opened.store, heldIn(team)!.snapshot)

  const { publisher, catalog } = await Publisher.open(opened.store, BOTH, all)

  expect(urisOf(catalog)).toEqual(['skill://house/skill-2/SKILL.md'])
  expect(publisher.currentOf(TEAM)).toBeUndefined()
})

test('that a source was lost is known after a restart, whatever other sources published since, until it is here again', async () => {
  await using opened = await openStore()
  const { store } = opened
  const before = await Publisher.open(store, BOTH, all)
  const team = await pulled(store, 'team', numbered(1))
  await before.publisher.publish(...team, NOW, { signal: STEADY })
  await before.publisher.publish(...(await pulled(store, 'house', numbered(2))), NOW, { signal: STEADY })
  loseObject(store, heldIn(team)!.snapshot)
  const finding = await Publisher.open(store, BOTH, all)
  await finding.publisher.publish(...(await pulled(store, 'house', numbered(3))), NOW, { signal: STEADY })

  const restarted = await Publisher.open(await Store.open(store.folder.path), BOTH, all)

  const loss = [{ source: TEAM, instead: undefined }]
  expect([restarted.publisher.lost, (await currentState(store, BOTH, all)).lost]).toEqual([loss, loss])
  expect((await currentState(store, [HOUSE], all)).lost).toEqual([])
  await restarted.publisher.publish(...(await pulled(store, 'team', numbered(4))), NOW, { signal: STEADY })
  expect((await Publisher.open(store, BOTH, all)).publisher.lost).toEqual([])
})

test('a source whose newest snapshot was damaged is served from the one before', async () => {
  await using opened = await openStore()
  const before = await Publisher.open(opened.store, [TEAM], all)
  const old = await pulled(opened.store, 'team', numbered(1))
  const team = await pulled(opened.store, 'team', numbered(2))
  await before.publisher.publish(...old, NOW, { signal: STEADY })
  await before.publisher.publish(...team, NOW, { signal: STEADY })
  damageObject(opened.store, heldIn(team)!.snapshot)

  const { publisher, catalog } = await Publisher.open(opened.store, [TEAM], all)

  expect(urisOf(catalog)).toEqual(['skill://team/skill-1/SKILL.md'])
  expect(publisher.currentOf(TEAM)?.held).toEqual(heldIn(old))
})

test('listeners hear of a change when it is served, once each, and of none after they left', async () => {
  await using opened = await openStore()
  const { publisher } = await Publisher.open(opened.store, BOTH, all)
  const registry = new Registry()
  const heard: string[] = []
  const listener = registry.listen(({ added }, catalog) => {
    heard.push(`${[...added].length} added, served: ${registry.catalog === catalog}`)
  })
  const team = await publisher.publish(...(await pulled(opened.store, 'team', numbered(1))), NOW, { signal: STEADY })

  registry.publish(team)
  registry.publish(team)
  registry.publish({ ...team, digest: 'of a commit that changed no byte' })
  listener[Symbol.dispose]()
  registry.publish(
    await publisher.publish(...(await pulled(opened.store, 'house', numbered(2))), NOW, { signal: STEADY }),
  )

  expect(heard).toEqual(['4 added, served: true'])
  expect(registry.catalog.skills.size).toBe(2)
})
