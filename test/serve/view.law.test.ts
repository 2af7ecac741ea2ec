import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Registry } from '../../src/serve/registry.ts'
import { viewOf, viewOfPack } from '../../src/serve/view.ts'
import type { Viewer } from '../../src/serve/view.ts'
import { Views } from '../../src/serve/views.ts'
import type { Catalog } from '../../src/sync/catalog/catalog.ts'
import { packedIn } from '../../src/sync/catalog/pack.ts'
import type { Pack } from '../../src/sync/catalog/pack.ts'
import type { Skill } from '../../src/sync/model/skill.ts'
import { catalogOfWorld } from '../support/content/contract-world.ts'
import { IDS, PACKS, WORLDS } from '../support/git/pack-worlds.ts'
import { lawRuns } from '../support/law-runs.ts'

const RINGS = ['early', 'middle', 'late'] as const

const VIEWER: fc.Arbitrary<Viewer> = fc
  .record({
    id: fc.constantFrom(undefined, ...RINGS),
    packs: fc.option(fc.subarray([...IDS, 'nobodys']), { nil: undefined }),
  })
  .map(({ id, packs }) => ({ id, packs: packs && new Set(packs) }))

/** The catalogs of the three rings, and the packs: they change together in any order. */
const STATES = fc.array(
  fc.record({ worlds: fc.tuple(WORLDS, WORLDS, WORLDS), packs: PACKS, isPacksFirst: fc.boolean() }),
  { minLength: 1, maxLength: 3 },
)

test('a view has each skill that is in a pack of the client in its ring, and no other', () => {
  fc.assert(
    fc.property(STATES, fc.array(VIEWER, { minLength: 1, maxLength: 4 }), (states, viewers) => {
      const hub = new Hub()
      for (const { worlds, packs, isPacksFirst } of states) {
        const catalogs = worlds.map(catalogOfWorld)
        if (isPacksFirst) hub.views.define(packs)
        hub.publish(catalogs)
        if (!isPacksFirst) hub.views.define(packs)
        for (const viewer of viewers) {
          const catalog = catalogs[ringOf(viewer.id)]!
          expect(differenceOf(hub.seenBy(viewer), skillsIn(catalog, packs, viewer.packs))).toEqual([])
          for (const id of [...IDS, 'nobodys']) {
            const isSeen = viewer.packs?.has(id) !== false
            const expected = isSeen ? skillsIn(catalog, packs, new Set([id])) : new Set<Skill>()
            expect(differenceOf(hub.seenBy(viewer, id), expected)).toEqual([])
          }
        }
      }
    }),
    { numRuns: lawRuns(300, 0.1) },
  )
})

test('without packs, a client of some packs sees nothing, and one of everything the whole', () => {
  expect(viewOf({ packs: new Set(IDS) }).name).toBe(' ')
  expect(viewOf({ id: 'ada' })).toEqual({ name: '', packs: undefined, ring: undefined })
  expect(viewOfPack(viewOf(), 'alpha')).toBeUndefined()
})

/** What only one of them has. The objects are compared: another ring may have an equal one. */
function differenceOf(seen: ReadonlySet<Skill>, expected: ReadonlySet<Skill>): readonly Skill[] {
  return [...seen.symmetricDifference(expected)]
}

/** A client is in the ring of its name; without a token it is in the last one. */
function ringOf(id: string | undefined): number {
  return id === undefined ? RINGS.length - 1 : RINGS.findIndex((ring) => ring === id)
}

/**
 * The skills that a view must have, those that nobody may read left out. Each skill of a catalog is an object of its own,
 * so that one of another ring is never taken for it.
 */
function skillsIn({ snapshots, sources }: Catalog, packs: readonly Pack[], seen: Viewer['packs']): ReadonlySet<Skill> {
  if (seen === undefined) return new Set(snapshots.flatMap(({ skills }) => skills))
  const disabled = new Set(sources.flatMap(([source, ...paths]) => paths.map((path) => `${source}/${path}`)))
  const chosen = packs.filter(({ id }) => seen.has(id))
  const skills = new Set<Skill>()
  for (const snapshot of snapshots)
    for (const pack of chosen)
      for (const skill of packedIn(snapshot, pack))
        if (skill.standing !== 'withheld' && !disabled.has(`${snapshot.source}/${skill.path}`)) skills.add(skill)
  return skills
}

class Hub {
  readonly views = new Views(new Registry(), () => 0)

  constructor() {
    this.views.defineRings({ ids: RINGS, ringOf: (id) => RINGS[ringOf(id)]! })
  }

  publish(catalogs: readonly Catalog[]): void {
    this.views.replace(new Map(catalogs.map((catalog, at) => [at === 0 ? undefined : RINGS[at], catalog])))
  }

  /** The skills of the view; with `pack`, of that pack of it. */
  seenBy(viewer: Viewer, pack?: string): ReadonlySet<Skill> {
    const whole = viewOf(viewer, this.views)
    const view = pack === undefined ? whole : viewOfPack(whole, pack, this.views)
    const { snapshots } = view === undefined ? { snapshots: [] } : this.views.registryOf(view.name).catalog
    return new Set(snapshots.flatMap(({ skills }) => skills))
  }
}
