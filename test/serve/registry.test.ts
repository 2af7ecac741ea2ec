import { expect, test } from 'vitest'
import { listenForEvents } from '../../src/serve/mcp/events/events.ts'
import type { Events } from '../../src/serve/mcp/events/events.ts'
import { Registry } from '../../src/serve/registry.ts'
import type { NotificationBarrier } from '../../src/serve/registry.ts'
import { Views } from '../../src/serve/views.ts'
import type { Catalog } from '../../src/sync/catalog/catalog.ts'
import { formsOf } from '../support/clients/forms.ts'
import { turnsDuring } from '../support/loop-turns.ts'
import { catalogOf } from '../sync/catalog/catalogs.ts'
import { sample, snapshotOf } from '../sync/store/samples.ts'
import type { Sample } from '../sync/store/samples.ts'

const FORMS = formsOf({
  skillPrompts: true,
  resources: { list: 'files', synthetic: 'list' },
  archives: ['zip'],
})

test('the loop turns while a catalog is prepared, of which nothing is served or told before it is published', async () => {
  const scene = new Scene(many(10_000, 'before'))
  const after = many(10_000, 'after')

  const turns = await turnsDuring(scene.registry.prepare(after))
  const early = [scene.registry.catalog === after, scene.told.length]
  scene.registry.publish(after)

  expect(turns).toBeGreaterThan(1)
  expect(early).toEqual([false, 0])
  expect(scene.told).toHaveLength(1)
})

test('what is told of a catalog is the same, prepared or not', async () => {
  const [before, after] = [many(3, 'before'), many(2, 'after')]
  const [prepared, other] = [new Scene(before), new Scene(before)]

  await prepared.registry.prepare(after)
  for (const { registry } of [prepared, other]) registry.publish(after)

  expect(prepared.told).toEqual(other.told)
  expect(other.told[0]?.updated).toContain('skill://team/skill-0/SKILL.md')
})

test('where another catalog was published since it was prepared, what changed since that one is told', async () => {
  const [first, second] = [many(1, 'before'), many(2, 'before')]
  const scene = new Scene(catalogOf())
  const straight = new Scene(first)

  await scene.registry.prepare(second)
  scene.registry.publish(first)
  scene.registry.publish(second)
  straight.registry.publish(second)

  expect(scene.told.at(-1)).toEqual(straight.told.at(-1))
})

test('what is held back is served at once, and notified later, change by change, before it is recorded', () => {
  const held: ((isServedByAll: boolean) => void)[] = []
  const registry = new Registry((notify) => void held.push(notify))
  const views = new Views(
    registry,
    () => 0,
    (notify) => void held.push(notify),
  )
  views.define([{ id: 'web', description: undefined, include: [{}], exclude: [] }])
  const [first, second, third] = [many(1, 'a'), many(1, 'b'), many(2, 'b')]
  registry.publish(first)
  const calls: string[] = []
  for (const [name, heard] of Object.entries({ whole: registry, view: views.registryOf('web') }))
    heard.listen((changes, catalog, before) => {
      calls.push(`${name}: ${changes.changed.size} changed, ${changes.added.size} added`)
      expect([before === catalog, heard.notified === catalog]).toEqual([false, true])
    })
  registry.watch((_, catalog) => calls.push(`served ${catalog.skills.size}`))
  registry.record((_, catalog) => calls.push(`recorded ${catalog.skills.size}`))

  // No client knows anything earlier than the first one.
  expect([registry.notified === first, held.length]).toEqual([true, 0])
  registry.publish(second)
  registry.publish(third)
  expect(calls).toEqual(['served 1', 'served 2'])
  expect([registry.catalog === third, registry.notified === first]).toEqual([true, true])
  calls.length = 0
  for (const notify of held) notify(true)

  expect(calls).toEqual([
    'whole: 1 changed, 0 added',
    'view: 1 changed, 0 added',
    'recorded 1',
    // The files of one skill.
    'whole: 0 changed, 2 added',
    'view: 0 changed, 2 added',
    'recorded 2',
  ])
  expect(registry.notified).toBe(third)
})

test('what is notified early is notified again when all serve it, as one change', () => {
  const held: ((isServedByAll: boolean) => void)[] = []
  const late = new Set<(areAll: boolean) => void>()
  const hold: NotificationBarrier = (notify, again) => {
    held.push(notify)
    if (again !== undefined) late.add(again)
  }
  const registry = new Registry(hold)
  const [first, second, third, fourth] = [many(1, 'a'), many(1, 'b'), many(2, 'b'), many(3, 'b')]
  registry.publish(first)
  const calls: string[] = []
  registry.listen(({ changed, added }, catalog, before) =>
    calls.push(`${before.skills.size} to ${catalog.skills.size}: ${changed.size} changed, ${added.size} added`),
  )

  registry.publish(second)
  registry.publish(third)
  for (const notify of held.splice(0)) notify(false)
  expect(calls.splice(0)).toEqual(['1 to 1: 1 changed, 0 added', '1 to 2: 0 changed, 2 added'])
  // What was read after the first one could still be read at another process.
  for (const areAll of [false, true]) {
    for (const again of late) again(areAll)
    expect(calls.splice(0)).toEqual(['1 to 2: 1 changed, 2 added'])
  }

  for (const again of late) again(true)
  registry.publish(fourth)
  for (const notify of held) notify(true)
  expect(calls).toEqual(['2 to 3: 0 changed, 2 added'])
})

class Scene {
  readonly registry = new Registry()
  readonly told: Events[] = []

  constructor(served: Catalog) {
    this.registry.publish(served)
    listenForEvents({ registry: this.registry, forms: FORMS }, (events) => void this.told.push(events))
  }
}

function many(length: number, body: string): Catalog {
  return catalogOf(
    snapshotOf(
      ...Array.from({ length }, (_, index): Sample => sample(`skill-${index}`, { 'SKILL.md': body, 'a.md': '' })),
    ),
  )
}
