import { expect, test } from 'vitest'
import { Session, Sessions } from '../../../src/serve/http/sessions.ts'
import { MAX_SUBSCRIPTIONS } from '../../../src/serve/mcp/caller.ts'
import { Hub } from '../../../src/serve/mcp/hub.ts'

const IDLE_MS = 1_000

test('a session that was idle for too long is not found, and leaves nothing behind', () => {
  const hub = new Hub()
  let now = 0
  const sessions = new Sessions(hub, { sessions: 10, idleMs: IDLE_MS }, () => now)
  const session = sessions.open()!
  session.subscribe('skill://fx/a', 'skill://fx/a')

  now = IDLE_MS + 1
  const found = sessions.find(session.id)

  expect(found).toBeUndefined()
  expect([sessions.size, hub.size]).toEqual([0, 0])
})

test('a session that is used is found as long as the time between two uses is not too long', () => {
  let now = 0
  const sessions = new Sessions(new Hub(), { sessions: 10, idleMs: IDLE_MS }, () => now)
  const session = sessions.open()!

  const found: unknown[] = []
  for (; now < 5 * IDLE_MS; now += IDLE_MS) found.push(sessions.find(session.id))

  expect(found).toEqual(Array(5).fill(session))
})

test('using a session that was closed does not open it again', () => {
  const sessions = new Sessions(new Hub(), { sessions: 10, idleMs: IDLE_MS }, () => 0)
  const session = sessions.open()!

  sessions.close(session)
  sessions.use(session)

  expect(sessions.size).toBe(0)
})

test('a session that has as many subscriptions as there may be is refused another, until it gives one up', () => {
  const session = new Session('session', new Hub())
  const uriOf = (index: number): string => `skill://fx/${index}`
  for (let index = 0; index < MAX_SUBSCRIPTIONS; index += 1) session.subscribe(uriOf(index), uriOf(index))

  const another = (): void => session.subscribe('skill://fx/more', 'skill://fx/more')

  expect(another).toThrow(/^A session can subscribe to 10000 resources;/)
  session.unsubscribe(uriOf(0))
  expect(another).not.toThrow()
})
