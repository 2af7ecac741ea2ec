import { expect, test } from 'vitest'
import { GuestSessions } from '../../../../src/serve/mcp/transports/guest-sessions.ts'
import { NO_SESSION_LOG } from '../../../../src/serve/mcp/transports/session-store.ts'
import type { FoundSession, SessionsElsewhere } from '../../../../src/serve/mcp/transports/session-store.ts'
import { WHOLE } from '../../../../src/serve/view.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const FOUND = { key: 'a', idleMs: 0, subscribed: 0 } as const

test('a known session is served without the store, and its end is known to the request after', async () => {
  const { clock, store, guests } = openGuests()
  await guests.read('a', false)
  await clock.advance(1_000)
  store.answer = Promise.withResolvers()

  const [served, again] = [await guests.read('a', false), await guests.read('a', false)]
  store.answer.resolve(undefined)
  await clock.advance(0)

  expect([served, again]).toEqual([expect.objectContaining({ key: 'a' }), expect.objectContaining({ key: 'a' })])
  expect(store.finds).toBe(2)
  expect(guests.get('a', undefined, WHOLE)).toBeUndefined()
  expect(await guests.read('a', false)).toBeUndefined()
})

test('a session without requests for ten seconds is read first, and is served on if the store is away', async () => {
  const { clock, store, guests } = openGuests()
  await guests.read('a', false)
  await clock.advance(10_000)
  store.answer = Promise.withResolvers()
  store.answer.resolve('unknown')
  const away = await guests.read('a', false)
  await clock.advance(10_000)
  store.answer = Promise.withResolvers()
  store.answer.resolve(undefined)

  expect(away).toMatchObject({ key: 'a' })
  expect(await guests.read('a', false)).toBeUndefined()
})

test('a session that a request ends while it is read again is not brought back', async () => {
  const { clock, store, guests } = openGuests()
  await guests.read('a', false)
  await clock.advance(1_000)
  store.answer = Promise.withResolvers()
  await guests.read('a', false)

  guests.delete('a')
  store.answer.resolve(FOUND)
  await clock.advance(0)

  expect(guests.get('a', undefined, WHOLE)).toBeUndefined()
})

test('a stream does not move a session that cannot be read now', async () => {
  const { store, guests } = openGuests()
  await guests.read('a', false)
  store.answer = Promise.withResolvers()
  store.answer.resolve('unknown')

  expect(await guests.read('a', true)).toBe('unknown')
})

/** The guests of a process, over a store that has one session at first. */
function openGuests() {
  const clock = new FakeClock()
  const answer = Promise.withResolvers<FoundSession | 'unknown' | undefined>()
  answer.resolve(FOUND)
  const store = { answer, finds: 0 }
  const elsewhere: SessionsElsewhere = {
    attach: () => {},
    find: async () => {
      store.finds += 1
      return store.answer.promise
    },
    take: async () => false,
    removeIdle: async () => {},
  }
  const guests = new GuestSessions({
    elsewhere,
    log: NO_SESSION_LOG,
    limits: { sessions: 10, idleMs: 60_000 },
    now: () => clock.monotonicMs(),
    logEveryMs: 6_000,
    generation: () => 1,
  })
  return { clock, store, guests }
}
