import { expect, test } from 'vitest'
import { activationOf, failureOf } from '../../support/otlp.ts'
import { bodyOf, HOUR, RINGS, RingScene } from './ring-scene.ts'

const COUNTING = 'usage: { otlp: true }'
const FAILED = failureOf('alpha')

test('a commit does not pass to the next ring while one of its skills fails more often than before', async () => {
  await using scene = await RingScene.start(RINGS, COUNTING)
  await using late = await scene.peer('late')
  await scene.tell('early', activationOf('alpha'), activationOf('alpha'))
  await scene.commit('second')
  await scene.tell('early', activationOf('alpha'), FAILED, FAILED, FAILED)
  await scene.countedUses()

  await scene.pass(200 * HOUR)
  const stopped = scene.served.daemon.parts.status.status().rings?.[1]?.sources
  const held = await bodyOf(late)
  await scene.served.daemon.parts.rings.promote({ sources: [], ring: undefined, isForced: false })
  const stillHeld = await bodyOf(late)
  await scene.served.daemon.parts.rings.promote({ sources: [], ring: undefined, isForced: true })

  const message = 'failures have risen: "fx/alpha" failed 3 of 4 times, before 0 of 2 times'
  expect(stopped).toMatchObject([{ source: 'fx', problem: { code: 'ring-failures', message } }])
  expect([held, stillHeld, await bodyOf(late)]).toEqual(['first', 'first', 'second'])
})

test('a commit that mends the skill passes, and the one that failed is left out', async () => {
  await using scene = await RingScene.start(RINGS, COUNTING)
  await using late = await scene.peer('late')
  await scene.commit('bad')
  await scene.tell('early', FAILED, FAILED, FAILED)
  await scene.countedUses()
  await scene.pass(HOUR)
  await scene.commit('good')
  await scene.tell('early', activationOf('alpha'))
  await scene.countedUses()
  const seen = new Set<string>()

  for (let hour = 0; hour < 100; hour += 1) {
    await scene.pass(HOUR)
    seen.add(await bodyOf(late))
  }

  expect([...seen]).toEqual(['first', 'good'])
})

test('failures of clients that still have the content before stop nothing', async () => {
  await using scene = await RingScene.start(RINGS, COUNTING)
  await using late = await scene.peer('late')
  await scene.commit('second')
  await scene.tell('late', FAILED, FAILED, FAILED, FAILED)
  await scene.countedUses()

  await scene.pass(72 * HOUR)

  expect(await bodyOf(late)).toBe('second')
})

test('each ring has the rise that it allows', async () => {
  const rings = [
    'rings:',
    '  - { id: canary, principals: [early] }',
    '  - { id: beta, principals: [middle], most_failures: 100% }',
    '  - { id: stable, min_age: 1d }',
  ]
  await using scene = await RingScene.start(rings, COUNTING)
  await using middle = await scene.peer('middle')
  await using late = await scene.peer('late')
  await scene.commit('second')
  await scene.tell('early', FAILED, FAILED, FAILED)
  await scene.countedUses()

  await scene.pass(25 * HOUR)

  expect([await bodyOf(middle), await bodyOf(late)]).toEqual(['second', 'first'])
})
