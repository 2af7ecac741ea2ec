import { expect, test } from 'vitest'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import type { SessionChange } from '../../../../src/features/hub-of-several/sessions/session-change.ts'
import { SessionWrites } from '../../../../src/features/hub-of-several/sessions/session-writes.ts'
import type { NotifiedCatalog, SessionRecord } from '../../../../src/serve/mcp/transports/session-store.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const OPENED = { kind: 'opened', key: 'a', idleMs: 0, subscriptions: new Map() } as const
const MARK: NotifiedCatalog = { generation: 1, digest: 'one' }

test('the records of one turn are one write, and the mark of all sessions is written last', async () => {
  const scene = openScene()

  const opened = Array.from({ length: 2_500 }, async (_, index) =>
    scene.writes.add({ ...OPENED, key: `key ${index}` }, false),
  )
  const told = scene.writes.tell(MARK)
  await Promise.all([...opened, told])

  expect(scene.written.map(({ changes, told: mark }) => [changes.length, mark])).toEqual([
    [1_000, undefined],
    [1_000, undefined],
    [500, MARK],
  ])
})

test('what the database refused is written with what came later, as one change for each session', async () => {
  const scene = openScene()
  scene.failure = new SyncError('store-failed', 'Cannot store sessions')
  await scene.add(OPENED)
  await scene.add({ kind: 'subscribed', key: 'a', asked: 'x', canonical: 'x' })
  await scene.add({ kind: 'subscribed', key: 'a', asked: 'y', canonical: 'y' })
  await scene.add({ kind: 'unsubscribed', key: 'a', asked: 'x' })
  await scene.add({ kind: 'missed', key: 'a', told: MARK })
  await scene.add({ kind: 'caught-up', key: 'a' })
  const isAway = [scene.writes.isAway, scene.writes.isPending('a')]

  scene.failure = undefined
  await scene.writes.flush()

  expect(isAway).toEqual([true, true])
  expect([scene.writes.isAway, scene.writes.isPending('a')]).toEqual([false, false])
  expect(scene.written).toHaveLength(1)
  expect(scene.written[0]?.changes).toEqual([
    {
      key: 'a',
      opened: { principal: undefined, address: undefined, view: undefined },
      subscriptions: new Map([
        ['x', undefined],
        ['y', expect.objectContaining({ canonical: 'y' })],
      ]),
      idleMs: 0,
      told: { mark: undefined },
    },
  ])
})

test('a request does not wait for a database that is away, and tries it again after a second', async () => {
  const scene = openScene()
  scene.failure = new SyncError('store-failed', 'Cannot store sessions')
  await scene.add(OPENED)
  const { attempts } = scene

  await scene.add({ kind: 'used', key: 'a', idleMs: 0 })
  const within = scene.attempts
  await scene.clock.advance(1_000)
  scene.held = Promise.withResolvers()
  await scene.add({ kind: 'used', key: 'a', idleMs: 0 })
  scene.held.resolve()
  await scene.writes.flush()

  expect([attempts, within]).toEqual([1, 1])
  expect(scene.attempts).toBeGreaterThan(1)
})

test('a request waits a second for a database that does not answer, and the next ones not at all', async () => {
  const scene = openScene()
  scene.held = Promise.withResolvers()
  const first = scene.add(OPENED)
  await scene.isWriting()
  const before = scene.writes.isAway
  await scene.clock.advance(1_000)
  await first
  const late = scene.writes.isAway
  await scene.add({ kind: 'subscribed', key: 'a', asked: 'x', canonical: 'x' })

  scene.held.resolve()
  await scene.writes.flush()

  expect([before, late, scene.writes.isAway]).toEqual([false, true, false])
  expect(scene.written.map(({ changes }) => changes[0]?.subscriptions?.size)).toEqual([0, 1])
})

test('a database is not away if what it did not take is not left to write', async () => {
  const scene = openScene()
  scene.failure = new SyncError('store-failed', 'Cannot store sessions')
  await scene.add(OPENED)
  const before = scene.writes.isAway
  await scene.writes.add({ kind: 'ended', key: 'a' }, true)

  expect([before, scene.writes.isAway]).toEqual([true, false])
})

test('sessions that come and go while the database is away leave nothing to write', async () => {
  const scene = openScene()
  scene.failure = new SyncError('store-failed', 'Cannot store sessions')
  await scene.add({ ...OPENED, key: 'stays' })
  for (let index = 0; index < 1_000; index += 1) {
    await scene.add({ ...OPENED, key: `key ${index}` })
    await scene.writes.add({ kind: 'ended', key: `key ${index}` }, true)
  }

  scene.failure = undefined
  await scene.writes.flush()

  expect(scene.written.flatMap(({ changes }) => changes.map(({ key }) => key))).toEqual(['stays'])
})

test('a record that comes while a batch is written is in the next one', async () => {
  const scene = openScene()
  scene.held = Promise.withResolvers()
  const first = scene.add(OPENED)
  await scene.isWriting()
  const second = scene.add({ kind: 'subscribed', key: 'a', asked: 'x', canonical: 'x' })
  scene.held.resolve()
  await Promise.all([first, second])

  expect(scene.written.map(({ changes }) => changes[0]?.subscriptions?.size)).toEqual([0, 1])
})

interface Written {
  readonly changes: readonly SessionChange[]
  readonly told: NotifiedCatalog | undefined
}

function openScene() {
  const clock = new FakeClock()
  const stream = { write: () => true }
  const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  let arrival = Promise.withResolvers<void>()
  const scene = {
    clock,
    written: [] as Written[],
    attempts: 0,
    failure: undefined as SyncError | undefined,
    /** A write ends when this resolves. */
    held: undefined as PromiseWithResolvers<void> | undefined,
    writes: new SessionWrites(
      async (changes, told) => {
        scene.attempts += 1
        arrival.resolve()
        arrival = Promise.withResolvers()
        await scene.held?.promise
        if (scene.failure !== undefined) throw scene.failure
        scene.written.push({ changes, told })
      },
      { clock, log },
    ),
    add: async (record: Exclude<SessionRecord, { readonly kind: 'told' }>) => scene.writes.add(record, false),
    isWriting: async () => arrival.promise,
  }
  return scene
}
