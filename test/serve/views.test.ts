import { expect, test } from 'vitest'
import { Registry } from '../../src/serve/registry.ts'
import { Views } from '../../src/serve/views.ts'
import { buildCatalog } from '../../src/sync/model/catalog.ts'
import type { Catalog } from '../../src/sync/model/catalog.ts'
import type { Pack } from '../../src/sync/model/pack.ts'
import type { Snapshot } from '../../src/sync/model/snapshot.ts'
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

  expect(views.nameOf(new Set(['alpha', 'nobodys']))).toBe('alpha')
  expect(views.registryOf(views.nameOf(new Set(['nobodys']))).catalog.snapshots).toEqual([])
  expect(views.nameOf(undefined)).toBe('')
})

const ALPHA: Pack = { id: 'alpha', description: undefined, include: [{ source: 'team' }], exclude: [] }

/** Two sources, and who sees the pack of one of them. */
class Scene {
  readonly #whole = new Registry()
  readonly views = new Views(this.#whole, () => this.nowMs)
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
    for (const [id, names] of Object.entries(skills))
      this.#snapshots.set(id, {
        ...snapshotOf(...names.map((name) => sample(name, { 'SKILL.md': `# ${name}\n` }))),
        source: sourceId(id),
      })
    this.#generation += 1
    const sources = [...this.#snapshots.keys()].map((id) => ({
      source: sourceId(id),
      snapshot: `${id} ${(skills[id] ?? []).join()}`,
    }))
    const hidden = new Map([[sourceId('team'), new Set(disabled === undefined ? [] : [disabled])]])
    this.#whole.publish(
      buildCatalog({ number: this.#generation, createdAt: '', sources }, [...this.#snapshots.values()], hidden),
    )
  }
}
