import { expect, test } from 'vitest'
import { SessionLookups } from '../../../../src/features/hub-of-several/sessions/session-lookups.ts'
import type { FoundSession } from '../../../../src/serve/mcp/transports/session-store.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

test('however many sessions are looked up, one statement runs at a time, and each key is asked for once', async () => {
  const database = new HeldDatabase()
  const lookups = new SessionLookups(database.find, new FakeClock())

  const first = lookups.find('first')
  await database.isAsked()
  const others = Array.from({ length: 3_000 }, async (_, index) => lookups.find(`key ${index % 100}`))
  const known = lookups.find('known')
  database.answer()
  await database.isAsked()
  database.answer()

  expect(await first).toBeUndefined()
  expect(new Set(await Promise.all(others))).toEqual(new Set([undefined]))
  expect(await known).toMatchObject({ key: 'known' })
  expect(database.asked.map((keys) => keys.length)).toEqual([1, 101])
})

test('a thousand lookups wait, and one more is refused until they are answered', async () => {
  const database = new HeldDatabase()
  const lookups = new SessionLookups(database.find, new FakeClock())
  const first = lookups.find('first')
  await database.isAsked()
  const waiting = Array.from({ length: 1_000 }, async (_, index) => lookups.find(`key ${index}`))

  await expect(lookups.find('one more')).rejects.toMatchObject({ code: 'store-failed' })
  database.answer()
  await database.isAsked()
  const next = lookups.find('one more')
  database.answer()
  await database.isAsked()
  database.answer()

  expect(await first).toBeUndefined()
  expect(await Promise.all(waiting)).toHaveLength(1_000)
  expect(await next).toBeUndefined()
})

test('a failure of the database is that of the lookups of its statement alone', async () => {
  const database = new HeldDatabase()
  const lookups = new SessionLookups(database.find, new FakeClock())
  const first = lookups.find('known')
  await database.isAsked()
  const second = lookups.find('known')

  database.fail(new SyncError('store-failed', 'Cannot find sessions'))
  await expect(first).rejects.toMatchObject({ code: 'store-failed' })
  await database.isAsked()
  database.answer()

  expect(await second).toMatchObject({ key: 'known' })
})

test('a database that does not answer in half a second is left alone until its statement has ended', async () => {
  const database = new HeldDatabase()
  const clock = new FakeClock()
  const lookups = new SessionLookups(database.find, clock)
  const late = lookups.find('known').catch((error: unknown) => error)
  await database.isAsked()
  await clock.advance(500)
  expect(await late).toMatchObject({ code: 'store-failed' })

  await expect(lookups.find('known')).rejects.toMatchObject({ code: 'store-failed' })
  database.answer()
  await clock.advance(0)
  const again = lookups.find('known')
  await database.isAsked()
  database.answer()

  expect(await again).toMatchObject({ key: 'known' })
  expect(database.asked).toEqual([['known'], ['known']])
})

test.each(['a second has passed', 'it has answered something else'])(
  'after a failure nothing is looked up until %s',
  async (until) => {
    const database = new HeldDatabase()
    const clock = new FakeClock()
    const lookups = new SessionLookups(database.find, clock)
    const failed = lookups.find('known').catch((error: unknown) => error)
    await database.isAsked()
    database.fail(new SyncError('store-failed', 'Cannot find sessions'))
    expect(await failed).toMatchObject({ code: 'store-failed' })
    await clock.advance(999)

    await expect(lookups.find('known')).rejects.toMatchObject({ code: 'store-failed' })
    if (until === 'a second has passed') await clock.advance(1)
    else lookups.retry()
    const again = lookups.find('known')
    await database.isAsked()
    database.answer()

    expect(await again).toMatchObject({ key: 'known' })
    expect(database.asked).toHaveLength(2)
  },
)

/** A database with one session, that answers when the test says so. */
class HeldDatabase {
  readonly asked: (readonly string[])[] = []
  #held: PromiseWithResolvers<ReadonlyMap<string, FoundSession>> | undefined
  #arrival = Promise.withResolvers<void>()

  readonly find = async (keys: readonly string[]): Promise<ReadonlyMap<string, FoundSession>> => {
    if (this.#held !== undefined) throw new Error('Two statements run at once')
    this.asked.push(keys)
    this.#held = Promise.withResolvers()
    this.#arrival.resolve()
    return this.#held.promise
  }

  async isAsked(): Promise<void> {
    await this.#arrival.promise
    this.#arrival = Promise.withResolvers()
  }

  answer(): void {
    this.#take().resolve(new Map([['known', { key: 'known', idleMs: 0, subscribed: 0 }]]))
  }

  fail(error: Error): void {
    this.#take().reject(error)
  }

  #take(): PromiseWithResolvers<ReadonlyMap<string, FoundSession>> {
    const held = this.#held
    if (held === undefined) throw new Error('No statement runs')
    this.#held = undefined
    return held
  }
}
