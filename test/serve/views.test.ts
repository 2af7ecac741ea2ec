import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Registry } from '../../src/serve/registry.ts'
import { viewOf } from '../../src/serve/view.ts'
import { Views } from '../../src/serve/views.ts'
import { buildCatalog } from '../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../src/sync/catalog/catalog.ts'
import type { Pack } from '../../src/sync/catalog/pack.ts'
import type { Snapshot } from '../../src/sync/model/snapshot.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { sample, snapshotOf, sourceId } from '../sync/store/samples.ts'

test('what moves in sources that a pack can hold nothing of has no catalog of it made anew', () => {
  const scene = new Scene()
  const before = scene.catalog

  scene.publish({ other: ['one', 'two'] })

  expect(scene.catalog.generation).toBe(before.generation + 1)
  expect(scene.catalog.files).toBe(before.files)
})

test('what moves in a source of it, is disabled there, or is chosen otherwise is seen at once', () => {
  const scene = new Scene()

  scene.publish({ team: ['one', 'two'] })
  const more = scene.names
  scene.publish({}, 'two')
  const disabled = scene.names
  scene.views.define([{ ...ALPHA, include: [{ source: 'other' }] }])

  expect(more).toEqual(['one', 'two'])
  expect(disabled).toEqual(['one'])
  expect(scene.names).toEqual(['elsewhere'])
})

test('packs that there are not have no part in the name of a view', () => {
  const { views } = new Scene()

  const nameOf = (...packs: string[]) => viewOf({ packs: new Set(packs) }, views).name

  expect(nameOf('alpha', 'nobodys')).toBe('alpha')
  expect(views.registryOf(nameOf('nobodys')).catalog.snapshots).toEqual([])
  expect(viewOf(undefined, views).name).toBe('')
})

test('the loop turns while the catalog of a view is prepared, and when it is served nothing is made any more', async () => {
  const scene = new Scene()
  const { looks, snapshot } = countingLooks(Array.from({ length: 10_000 }, (_, index) => `skill-${index}`))
  const served = scene.catalog
  const next = scene.next({ team: snapshot })

  const turns = await turnsDuring(scene.whole.prepare(next))
  const early = scene.catalog
  looks.count = 0
  scene.whole.publish(next)

  expect(turns).toBeGreaterThan(1)
  expect(early).toBe(served)
  expect(looks.count).toBe(0)
  expect(scene.names).toHaveLength(10_000)
})

test('what is published or chosen otherwise while the catalog of a view is prepared decides what is seen', async () => {
  const scene = new Scene()
  const later = scene.next({
    team: snapshotNamed(
      'team',
      Array.from({ length: 5_000 }, (_, index) => `skill-${index}`),
    ),
  })
  const preparing = scene.whole.prepare(later)
  await turn()

  scene.publish({ team: ['between'] })
  const between = scene.names
  await preparing
  scene.whole.publish(later)
  const after = scene.names.length
  const last = scene.next({ team: snapshotNamed('team', ['last']) })
  await scene.whole.prepare(last)
  scene.views.define([{ ...ALPHA, include: [{ source: 'other' }] }])
  scene.whole.publish(last)

  expect([between, after, scene.names]).toEqual([['between'], 5_000, ['elsewhere']])
})

function snapshotNamed(id: string, names: readonly string[]): Snapshot {
  return { ...snapshotOf(...names.map((name) => sample(name, { 'SKILL.md': `# ${name}\n` }))), source: sourceId(id) }
}

/** A snapshot of the pack's source, and how often its skills were looked at. */
function countingLooks(names: readonly string[]) {
  const looks = { count: 0 }
  const { skills, ...rest } = snapshotNamed('team', names)
  const counting = { enumerable: true, get: () => ((looks.count += 1), skills) }
  return { looks, snapshot: Object.defineProperty(rest, 'skills', counting) as Snapshot }
}

const ALPHA: Pack = { id: 'alpha', description: undefined, include: [{ source: 'team' }], exclude: [] }

/** Two sources, and who sees the pack of one of them. */
class Scene {
  readonly whole = new Registry()
  readonly views = new Views(this.whole, () => this.nowMs)
  readonly #snapshots = new Map<string, Snapshot>()
  #generation = 0
  nowMs = 0

  constructor() {
    this.views.define([ALPHA])
    this.publish({ team: ['one'], other: ['elsewhere'] })
  }

  get catalog(): Catalog {
    return this.views.registryOf('alpha').catalog
  }

  get names(): readonly string[] {
    return this.catalog.listed.map(({ name }) => name)
  }

  publish(skills: Readonly<Record<string, readonly string[]>>, disabled?: string): void {
    const named = Object.entries(skills).map(([id, names]) => [id, snapshotNamed(id, names)] as const)
    this.whole.publish(this.next(Object.fromEntries(named), disabled))
  }

  /** The catalog in which these sources have other snapshots. */
  next(snapshots: Readonly<Record<string, Snapshot>>, disabled?: string): Catalog {
    for (const [id, snapshot] of Object.entries(snapshots)) this.#snapshots.set(id, snapshot)
    this.#generation += 1
    const sources = [...this.#snapshots.keys()].map((id) => ({
      source: sourceId(id),
      snapshot: `${id} ${this.#generation}`,
    }))
    const hidden = new Map([[sourceId('team'), new Set(disabled === undefined ? [] : [disabled])]])
    return buildCatalog({ number: this.#generation, createdAt: '', sources }, [...this.#snapshots.values()], hidden)
  }
}
