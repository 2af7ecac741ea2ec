import { expect, test } from 'vitest'
import { idsOf } from '../../../src/daemon/config/config.ts'
import { admissionOf } from '../../../src/daemon/pull/trust/serving-policy.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { currentCatalog } from '../../../src/sync/pull/generation-catalog.ts'
import { Store } from '../../../src/sync/store/store.ts'
import type { Heard } from '../../support/clients/peer.ts'
import { ALPHA, bodyOf, HOUR, isUpdate, listed, RINGS, RingScene, skill } from './ring-scene.ts'

const FX = 'fx' as SourceId
const OF_THREE = [
  'rings:',
  '  - { id: canary, principals: [early] }',
  '  - { id: beta, principals: [middle], min_age: 1d }',
  '  - { id: stable, min_age: 2d }',
]

test('a commit is in the first ring at once, and in the next one when its time has come', async () => {
  await using scene = await RingScene.start(RINGS)
  await using early = await scene.peer('early')
  await using late = await scene.peer('late')

  await scene.commit('second')
  const [inCanary, inStable] = [await bodyOf(early), await bodyOf(late)]
  await scene.pass(71 * HOUR)
  const before = await bodyOf(late)
  await scene.pass(HOUR)

  expect([inCanary, inStable, before, await bodyOf(late)]).toEqual(['second', 'first', 'first', 'second'])
})

test('only clients of the ring that took a commit are notified, once for each', async () => {
  await using scene = await RingScene.start(OF_THREE)
  const heard = new Map<string, Heard>()
  await using open = new AsyncDisposableStack()
  for (const name of ['early', 'middle', 'late']) {
    const peer = open.use(await scene.peer(name))
    const one = await peer.subscribe([ALPHA], { list: true })
    await one.next(({ method }) => method?.endsWith('/acknowledged'))
    heard.set(name, one)
  }
  const counts = (): readonly number[] => [...heard.values()].map(({ messages }) => messages.filter(isUpdate).length)

  await scene.commit('second')
  await heard.get('early')!.next(isUpdate)
  const first = counts()
  await scene.pass(24 * HOUR)
  await heard.get('middle')!.next(isUpdate)
  const second = counts()
  await scene.pass(48 * HOUR)
  await heard.get('late')!.next(isUpdate)

  expect([first, second, counts()]).toEqual([
    [1, 0, 0],
    [1, 1, 0],
    [1, 1, 1],
  ])
})

test('a repository with a commit each hour reaches the last ring too', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  const seen: string[] = []

  for (let hour = 1; hour <= 80; hour += 1) {
    await scene.commit(`hour ${hour}`)
    await scene.pass(HOUR)
    seen.push(await bodyOf(late))
  }

  const hours = seen.map((text) => (text === 'first' ? 0 : Number(text.slice(5))))
  expect(hours.slice(0, 71).every((hour) => hour === 0)).toBe(true)
  expect(hours.at(-1)).toBeGreaterThan(0)
  expect(hours).toEqual(hours.toSorted((a, b) => a - b))
})

test('a skill that is disabled while only the first ring has it reaches no other ring, and is served in none', async () => {
  await using scene = await RingScene.start(RINGS)
  await using early = await scene.peer('early')
  await using late = await scene.peer('late')
  await scene.repository.commit({ 'evil/SKILL.md': skill('evil', 'bad') })
  await scene.served.sync()

  await scene.served.daemon.parts.decisions.disable(FX, 'evil', true)
  await scene.pass(200 * HOUR)
  const stopped = scene.served.daemon.parts.status.status().rings?.[1]?.sources
  await scene.served.daemon.parts.rings.promote({ sources: [], ring: undefined, isForced: true })

  expect(stopped).toMatchObject([{ source: 'fx', problem: { code: 'skill-disabled' } }])
  expect([await listed(early), await listed(late)]).toEqual([[ALPHA], [ALPHA]])
})

test('a hold keeps a ring where it is, until it is released', async () => {
  await using scene = await RingScene.start(OF_THREE)
  await using late = await scene.peer('late')
  const { daemon } = scene.served

  await scene.commit('second')
  await daemon.parts.decisions.decide(FX, 'hold', { ring: 'stable', hold: { reason: 'release week' } })
  await scene.pass(500 * HOUR)
  await daemon.parts.rings.promote({ sources: [FX], ring: undefined, isForced: true })
  const held = await bodyOf(late)
  const status = daemon.parts.status
    .status()
    .rings?.map(({ id, sources }) => [id, sources.map(({ problem }) => problem?.message)])
  await daemon.parts.decisions.decide(FX, 'release', { ring: 'stable' })
  await scene.pass(1)

  expect([held, await bodyOf(late)]).toEqual(['first', 'second'])
  expect(status).toEqual([
    ['canary', []],
    ['beta', []],
    ['stable', ['release week']],
  ])
})

test('content that upstream took back is promoted nowhere', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  const seen = new Set<string>()

  await scene.commit('bad')
  await scene.commit('first')
  for (let hour = 0; hour < 100; hour += 1) {
    await scene.pass(HOUR)
    seen.add(await bodyOf(late))
  }

  expect([...seen]).toEqual(['first'])
})

test('a hold at an earlier commit serves it in every ring, and one at a commit that was never served in the first alone', async () => {
  await using scene = await RingScene.start(RINGS)
  await using early = await scene.peer('early')
  await using late = await scene.peer('late')
  const { daemon } = scene.served
  const { signal } = new AbortController()
  const first = daemon.parts.status.status().sources[0]?.served?.commit ?? ''
  await scene.commit('second')
  await scene.pass(73 * HOUR)
  await scene.commit('third')

  const before = [await bodyOf(early), await bodyOf(late)]
  await daemon.parts.rollbacks.hold(FX, first, {}, signal)
  const back = [await bodyOf(early), await bodyOf(late)]
  const fourth = await scene.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'fourth') })
  await daemon.parts.rollbacks.hold(FX, fourth, {}, signal)
  const forth = [await bodyOf(early), await bodyOf(late)]
  await scene.pass(73 * HOUR)

  expect([before, back, forth]).toEqual([
    ['third', 'second'],
    ['first', 'first'],
    ['fourth', 'first'],
  ])
  expect(await bodyOf(late)).toBe('fourth')
})

test('a hold of the source leaves a ring that is held where it is', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  const { daemon } = scene.served
  const { signal } = new AbortController()
  const first = daemon.parts.status.status().sources[0]?.served?.commit ?? ''
  await scene.commit('second')
  await scene.pass(73 * HOUR)
  await daemon.parts.decisions.decide(FX, 'hold', { ring: 'stable', hold: { reason: 'release week' } })

  await daemon.parts.rollbacks.hold(FX, first, {}, signal)
  const held = await bodyOf(late)
  await daemon.parts.decisions.decide(FX, 'release', { ring: 'stable' })
  await scene.pass(73 * HOUR)

  expect([held, await bodyOf(late)]).toEqual(['second', 'first'])
})

test('a rollback takes a commit back in every ring', async () => {
  await using scene = await RingScene.start(RINGS)
  await using early = await scene.peer('early')
  await using late = await scene.peer('late')
  const { signal } = new AbortController()
  const first = scene.served.daemon.parts.status.status().generation

  await scene.commit('second')
  await scene.pass(73 * HOUR)
  await scene.commit('third')
  const before = [await bodyOf(early), await bodyOf(late)]
  await scene.served.daemon.parts.rollbacks.to({ kind: 'generation', number: first }, signal)

  expect(before).toEqual(['third', 'second'])
  expect([await bodyOf(early), await bodyOf(late)]).toEqual(['first', 'first'])
  await scene.pass(100 * HOUR)
  expect(await bodyOf(late)).toBe('first')
})

test('a recall takes out what only later rings still serve, also after upstream has removed it', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  await scene.repository.commit({ 'alpha/SKILL.md': null, 'beta/SKILL.md': skill('beta', 'good') })
  await scene.served.sync()
  const before = await listed(late)

  const end = await scene.served.daemon.parts.recalls.recall(
    { kind: 'skill', source: FX, path: 'alpha' },
    'INC-4711',
    'ada',
  )

  expect(before).toEqual([ALPHA])
  expect(end).toMatchObject({ isNew: true, count: 1, places: [{ place: 'fx/alpha' }] })
  expect(await listed(late)).toEqual([])
})

test('a recall names the content that each ring has of a skill', async () => {
  await using scene = await RingScene.start(RINGS)
  const [first] = scene.served.daemon.registry.catalog.snapshots.flatMap(({ skills }) => skills)
  await scene.commit('second')
  const [second] = scene.served.daemon.registry.catalog.snapshots.flatMap(({ skills }) => skills)

  const { recall } = await scene.served.daemon.parts.recalls.recall(
    { kind: 'skill', source: FX, path: 'alpha' },
    'INC-4711',
    'ada',
  )

  expect(recall.contents).toEqual(expect.arrayContaining([first?.digest, second?.digest]))
})

test('what only a later ring serves outlives collections, and is what a process that starts finds on the disk', async () => {
  await using scene = await RingScene.start(RINGS, 'retention: { generations: 1, younger_than: 1s }')
  await using late = await scene.peer('late')

  for (const body of ['second', 'third', 'fourth']) {
    await scene.commit(body)
    await scene.pass(2 * HOUR)
  }
  using store = await Store.openExisting(scene.served.config.state)
  const { config } = scene.served
  const found = await currentCatalog(store!, idsOf(config), admissionOf(config), 'stable')
  const first = await currentCatalog(store!, idsOf(config), admissionOf(config))

  expect(await store!.generations.numbers()).toHaveLength(1)
  expect(await bodyOf(late)).toBe('first')
  expect(found.digest).not.toBe(first.digest)
  // Of the commits that wait, none was collected.
  await scene.pass(66 * HOUR)
  expect(await bodyOf(late)).toBe('second')
})
