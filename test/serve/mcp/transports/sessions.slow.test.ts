import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_SUBSCRIPTIONS } from '../../../../src/serve/mcp/rpc/caller.ts'
import { openSessions } from '../../http/opened.ts'

const IDLE_MS = 1_000

test('a session that was idle for too long is not found, and leaves nothing behind', async () => {
  let now = 0
  const { hub, sessions } = await openSessions({ limits: { idleMs: IDLE_MS }, now: () => now })
  const { id, session } = sessions.open()!
  session.subscribe('skill://fx/a', 'skill://fx/a')

  now = IDLE_MS + 1
  const found = sessions.find(id)

  expect(found).toBeUndefined()
  expect([sessions.size, hub.size]).toEqual([0, 0])
})

test('a session that is used is found as long as the time between two uses is not too long', async () => {
  let now = 0
  const { sessions } = await openSessions({ limits: { idleMs: IDLE_MS }, now: () => now })
  const { id, session } = sessions.open()!

  const found: unknown[] = []
  for (; now < 5 * IDLE_MS; now += IDLE_MS) found.push(sessions.find(id))

  expect(found).toEqual(Array(5).fill(session))
})

test('using a session that was closed does not open it again', async () => {
  const { sessions } = await openSessions()
  const { session } = sessions.open()!

  sessions.close(session)
  sessions.use(session)

  expect(sessions.size).toBe(0)
})

test('a session that has as many subscriptions as there may be is refused another, until it gives one up', async () => {
  const { sessions } = await openSessions()
  const { session } = sessions.open()!
  const uriOf = (index: number): string => `skill://fx/${index}`
  for (let index = 0; index < MAX_SUBSCRIPTIONS; index += 1) session.subscribe(uriOf(index), uriOf(index))

  const another = (): void => session.subscribe('skill://fx/more', 'skill://fx/more')

  expect(another).toThrow(/^A session can subscribe to 10000 resources;/)
  session.unsubscribe(uriOf(0))
  expect(another).not.toThrow()
})

test('five thousand sessions that were abandoned are over when their time is, though nobody comes', async () => {
  let now = 0
  const { hub, sessions } = await openSessions({ limits: { sessions: 10_000, idleMs: IDLE_MS }, now: () => now })
  const ids: string[] = []
  for (let index = 0; index < 5_000; index += 1) {
    const { id, session } = sessions.open()!
    session.subscribe(`skill://fx/${index}`, `skill://fx/${index}`)
    ids.push(id)
  }
  now = IDLE_MS
  sessions.sweep()
  const before = [sessions.size, hub.size]
  sessions.find(ids[0]!)

  now += 1
  sessions.sweep()

  expect(before).toEqual([5_000, 5_000])
  expect([sessions.size, hub.size]).toEqual([1, 1])
  expect(sessions.find(ids[0]!)).toBeDefined()
})

test('above the limit each session that is opened ends the one that was unused for longest', async () => {
  const { hub, sessions } = await openSessions({ limits: { sessions: 100 } })
  const ids: string[] = []
  for (let index = 0; index < 5_000; index += 1) {
    // The first one goes on being used.
    sessions.find(ids[0] ?? '')
    const { id, session } = sessions.open()!
    session.subscribe(`skill://fx/${index}`, `skill://fx/${index}`)
    ids.push(id)
  }

  expect([sessions.size, hub.size]).toEqual([100, 100])
  expect(ids.filter((id) => sessions.find(id) !== undefined)).toEqual([ids[0], ...ids.slice(-99)])
})

test('when all subscriptions together are too many, the session unused for longest makes room', async () => {
  const { hub, sessions } = await openSessions({ limits: { sessions: 1_000 } })
  const long = 'x'.repeat(8_000)
  const first = sessions.open()!
  first.session.subscribe('skill://fx/a', 'skill://fx/a')
  while (!hub.isFull) {
    const { session } = sessions.open()!
    for (let index = 0; index < MAX_SUBSCRIPTIONS && !hub.isFull; index += 1) {
      session.subscribe(`skill://fx/${index}${long}`, `skill://fx/${index}`)
    }
  }
  const { id, session } = sessions.open()!

  session.subscribe('skill://fx/b', 'skill://fx/b')

  expect(sessions.find(first.id)).toBeUndefined()
  expect(sessions.find(id)).toBe(session)
  expect(hub.isFull).toBe(false)
})

test('what a session subscribes to after it was ended is held for nobody', async () => {
  const { hub, sessions } = await openSessions()
  const { session } = sessions.open()!
  sessions.close(session)

  session.subscribe('skill://fx/a', 'skill://fx/a')

  expect(hub.size).toBe(0)
})

test('one principal that opens ten thousand sessions ends none of another', async () => {
  const { sessions } = await openSessions({ limits: { sessions: 1_000 } })
  const honest = Array.from({ length: 20 }, () => sessions.open('ada')!)

  for (let index = 0; index < 10_001; index += 1) sessions.open('mallory')

  expect(sessions.size).toBe(1_000)
  expect(honest.filter(({ id }) => sessions.find(id, 'ada') === undefined)).toEqual([])
})

test('one address that opens ten thousand sessions without a token ends none of another', async () => {
  const { sessions } = await openSessions({ limits: { sessions: 100 } })
  const honest = sessions.open(undefined, '192.0.2.1')!

  for (let index = 0; index < 10_001; index += 1) sessions.open(undefined, '192.0.2.2')

  expect(sessions.find(honest.id)).toBe(honest.session)
})

test('subscriptions that fill all the room are given up by the principal that has most of them', async () => {
  const { hub, sessions } = await openSessions({ limits: { sessions: 1_000 } })
  const long = 'x'.repeat(8_000)
  const honest = Array.from({ length: 50 }, () => sessions.open('ada')!)
  for (const { session } of honest) session.subscribe('skill://fx/a', 'skill://fx/a')
  while (!hub.isFull) {
    const { session } = sessions.open('mallory')!
    for (let index = 0; index < MAX_SUBSCRIPTIONS && !hub.isFull; index += 1) {
      session.subscribe(`skill://fx/${index}${long}`, `skill://fx/${index}`)
    }
  }

  honest[0]!.session.subscribe('skill://fx/b', 'skill://fx/b')

  expect(honest.filter(({ id }) => sessions.find(id, 'ada') === undefined)).toEqual([])
  expect(hub.isFull).toBe(false)
})

test('no principal that has its fair share of sessions or less loses one to another', async () => {
  const step = fc.record({ who: fc.nat(3), what: fc.constantFrom('open', 'open', 'close', 'use'), which: fc.nat(20) })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 120 }), async (limit, steps) => {
      const { sessions } = await openSessions({ limits: { sessions: limit } })
      const held = new Map<number, string[]>()
      const lost: number[] = []
      for (const { who, what, which } of steps) {
        const mine = held.get(who) ?? []
        held.set(who, mine)
        const before = new Map([...held].map(([one, ids]) => [one, ids.length]))
        const [id] = mine.slice(which % Math.max(1, mine.length))
        if (what === 'open') mine.push(sessions.open(String(who))!.id)
        else if (id !== undefined && what === 'use') sessions.find(id, String(who))
        else if (id !== undefined) {
          sessions.close(sessions.find(id, String(who))!)
          mine.splice(mine.indexOf(id), 1)
        }

        const share = limit / [...held].filter(([one, ids]) => one === who || ids.length > 0).length
        for (const [one, ids] of held) {
          const left = ids.filter((key) => sessions.find(key, String(one)) !== undefined)
          held.set(one, left)
          if (one !== who && before.get(one)! <= share && left.length < before.get(one)!) lost.push(one)
        }
        expect(sessions.size).toBeLessThanOrEqual(limit)
      }
      expect(lost).toEqual([])
    }),
  )
})
