import { appendFile, copyFile, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { PostgresDatabase } from '../../../../src/sync/postgres/postgres-database.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { allowConnections } from '../../../support/postgres.ts'
import { Follower } from '../follow/follower.ts'
import { ORIGIN, sha256, SIGNER, skillNamed } from '../follow/site.ts'
import { WitnessPlace } from '../witness/witness-place.ts'
import { Hub, skillsOf } from './hub.ts'
import type { Content } from './hub.ts'
import { Replica, Turns } from './replicas.ts'

const FIRST: Content = {
  a: [skillNamed('one', 'text', { 'notes.md': 'notes\n' }), skillNamed('two')],
  b: [skillNamed('three')],
}
const SECOND: Content = { ...FIRST, a: [skillNamed('one', 'changed'), skillNamed('two')] }
const THIRD: Content = { a: [skillNamed('one', 'third')] }

/** The states of a hub, one after the other. Some come again: then objects of old entries are needed. */
const HISTORY = [FIRST, SECOND, THIRD, FIRST, {}, SECOND]

describePostgres('a hub of several processes', (server) => {
  test('has one log, and a follower that comes to another process with each request sees no difference', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url)).lead()
    await using second = await Replica.open(url)
    await using third = await Replica.open(url)
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    for (const one of [second, third]) await one.follow()
    await using proxy = await Turns.before(leader, second, third)
    await using follower = await Follower.open({ place: proxy.url })
    await follower.updated()

    for (const [round, content] of HISTORY.entries()) {
      await leader.hub.serve(content)
      await leader.hub.publish()
      // The leader has the news; the others learn of it from the next requests.
      proxy.next.push(0)
      if (round > 0) await follower.updated()
      for (const next of [1, 2, 0]) {
        proxy.next.push(next)
        expect([round, next, (await follower.pull()).kind]).toEqual([round, next, 'unchanged'])
      }
      expect(await follower.skills()).toEqual(skillsOf(content))
    }

    expect(proxy.requests.filter(({ status }) => status !== 200 && status !== 304)).toEqual([])
    expect(await second.checkpoint()).toBe(await leader.checkpoint())
    expect(await third.checkpoint()).toBe(await leader.checkpoint())
    for (const one of [second, third])
      expect(await readFile(one.hub.logFile, 'utf8')).toBe(await readFile(leader.hub.logFile, 'utf8'))
  })

  test('serves what a log of one process had before, to the other processes too', async () => {
    const url = await server.createDatabase()
    await using single = await Hub.create()
    for (const content of [FIRST, SECOND]) {
      await single.serve(content)
      await single.publish()
    }
    await using leader = await Replica.open(url)
    await using second = await Replica.open(url)
    await copyFile(single.logFile, leader.hub.logFile)
    await leader.hub.serve(SECOND)

    await leader.lead()
    await leader.hub.publish()

    expect(await second.follow()).toBe(3)
    expect(await second.checkpoint()).toBe(await leader.checkpoint())
    expect((await readFile(second.hub.logFile, 'utf8')).startsWith(await readFile(single.logFile, 'utf8'))).toBe(true)
  })

  test('goes on from the entry of a leader that ended before it had signed it', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url)).lead()
    await using second = await Replica.open(url)
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    await using proxy = await Turns.before(leader, second)
    await using follower = await Follower.open({ place: proxy.url })
    proxy.only = 0
    await follower.updated()

    // The file cannot be written, after the row is.
    await appendFile(leader.hub.logFile, 'of another program\n')
    await leader.hub.serve(SECOND)
    await expect(leader.hub.publish()).rejects.toMatchObject({ code: 'store-failed' })
    const [row] = await linesIn(url, 1)
    await leader.shared.leadership.leave()
    await second.hub.serve(THIRD)
    await second.lead()
    await second.hub.publish()

    expect(await linesIn(url, 0)).toHaveLength(3)
    expect((await readFile(second.hub.logFile, 'utf8')).split('\n')[1]).toBe(row)
    proxy.only = 1
    await follower.updated()
    expect(await follower.skills()).toEqual(skillsOf(THIRD))
  })

  test('takes no entry of a process whose lead is over, and that one then serves the log of the next', async () => {
    const url = await server.createDatabase()
    await using first = await (await Replica.open(url, 0)).lead()
    await using second = await Replica.open(url)
    await first.hub.serve(FIRST)
    await first.hub.publish()
    await second.lead()
    await second.hub.serve(SECOND)
    await second.hub.publish()

    await first.hub.serve(THIRD)
    await expect(first.hub.publish()).rejects.toMatchObject({ code: 'store-failed' })
    expect(await linesIn(url, 0)).toHaveLength(2)

    expect(await first.follow()).toBe(2)
    expect(await first.checkpoint()).toBe(await second.checkpoint())
  })

  test('of two processes that both believe to lead, one appends, and the other signs nothing', async () => {
    const url = await server.createDatabase()
    await using first = await (await Replica.open(url, 0)).lead()
    await using second = await (await Replica.open(url, 0)).lead()
    await first.hub.serve(FIRST)
    await second.hub.serve(SECOND)

    const ends = await Promise.allSettled([first.hub.publish(), second.hub.publish()])

    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(await linesIn(url, 0)).toHaveLength(1)
    expect(await first.checkpoint()).toBeUndefined()
  })

  test.each(['follow', 'lead'])('a process with another log is refused when it tries to %s', async (role) => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url, 0)).lead()
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    await using other = await Replica.open(url)
    const own = encodeEntry({ at: '2026-01-01T00:00:00.000Z', head: sha256(Buffer.from('own')) })
    await writeFile(other.hub.logFile, own)
    await other.hub.serve(SECOND)

    const refused = role === 'follow' ? other.follow() : other.lead().then(async () => other.hub.publish())
    await expect(refused).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('its line 1 is another one than that of the database'),
    })

    expect(await readFile(other.hub.logFile)).toEqual(own)
    expect(await other.checkpoint()).toBeUndefined()
    expect(await linesIn(url, 0)).toHaveLength(1)
  })

  test('a process that alone has entries serves nothing until it leads, and then the others have them', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url, 0)).lead()
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    await using longer = await Replica.open(url)
    const own = encodeEntry({ at: new Date().toISOString(), head: sha256(Buffer.from('own')) })
    await copyFile(leader.hub.logFile, longer.hub.logFile)
    await appendFile(longer.hub.logFile, own)
    await longer.hub.serve(SECOND)

    await expect(longer.follow()).rejects.toMatchObject({ code: 'store-failed' })
    expect(await longer.checkpoint()).toBeUndefined()
    await longer.lead()
    await longer.hub.publish()

    expect(await leader.follow()).toBe(3)
    expect(await leader.checkpoint()).toBe(await longer.checkpoint())
  })

  describe('without its database', () => {
    test('serves on, also after a restart, and a follower that has seen more waits without an alarm', async () => {
      const url = await server.createDatabase()
      await using leader = await (await Replica.open(url)).lead()
      await using second = await Replica.open(url)
      await leader.hub.serve(FIRST)
      await leader.hub.publish()
      await second.follow()
      await using proxy = await Turns.before(leader, second)
      await using follower = await Follower.open({ place: proxy.url })
      await follower.updated()
      await leader.hub.serve(SECOND)
      await leader.hub.publish()
      proxy.only = 0
      await follower.updated()

      await allowConnections(url, false)
      await leader.hub.serve(THIRD)
      await expect(leader.hub.publish()).rejects.toMatchObject({ code: 'store-failed' })
      proxy.only = 1
      const lagging = await follower.failure()
      proxy.only = 0
      const present = await follower.pull()
      await second.hub.reopen()
      await second.hub.publisher.follow(AbortSignal.timeout(60_000)).catch(() => {})
      const checkpoint = await second.checkpoint()
      await allowConnections(url, true)

      expect(lagging).toMatchObject({ code: 'source-unreachable', retryAfterMs: 1000 })
      expect(present.kind).toBe('unchanged')
      expect(checkpoint?.split('\n')[1]).toBe('1')
      expect(await second.follow()).toBe(2)
      proxy.only = 1
      expect((await follower.pull()).kind).toBe('unchanged')
      await leader.hub.publish()
      proxy.only = 0
      await follower.updated()
      expect(await follower.skills()).toEqual(skillsOf(THIRD))
    })
  })

  test('a log that has really become shorter is refused by its followers as before', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url)).lead()
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    await leader.hub.serve(SECOND)
    await leader.hub.publish()
    await using before = await Turns.before(leader)
    await using follower = await Follower.open({ place: before.url })
    await follower.updated()
    const lost = await server.createDatabase()
    await using restored = await (await Replica.open(lost)).lead()
    await restored.hub.serve(FIRST)
    await restored.hub.publish()
    await using after = await Turns.before(restored)

    follower.options.place = after.url

    expect((await follower.failure()).code).toBe('log-rolled-back')
  })

  test('keeps the objects of an entry that is new while a collection runs in the database', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url)).lead()
    await using second = await Replica.open(url)
    const objects = await leader.shared.open()
    const release = Promise.withResolvers<void>()
    await leader.hub.serve(FIRST)
    // It has found out what is in use before the entry is there.
    const collecting = leader.hub.store.generations.exclusively(async () => {
      await release.promise
      // Without this, the collection spares them for their age.
      await leader.shared.database.query('age', "UPDATE skillsyncd.object SET touched = touched - interval '2 hours'")
      await objects.collect({ heads: new Set(), live: new Set() })
    })

    const publishing = leader.hub.publish()
    await expect.poll(async () => linesIn(url, 0), { timeout: 30_000, interval: 10 }).toHaveLength(1)
    release.resolve()
    await collecting
    await publishing

    expect(await second.follow()).toBe(1)
    expect(await second.checkpoint()).toBe(await leader.checkpoint())
  })

  test('serves what the witnesses have cosigned for its leader, and no newer entry', async () => {
    const url = await server.createDatabase()
    await using place = await WitnessPlace.open([SIGNER])
    const quorum = {
      witnesses: [{ url: place.url, key: place.key, way: async () => PLAIN_WAY }],
      enough: 1,
      limits: FETCH_LIMITS,
      whyNot: () => undefined,
    }
    await using leader = await Replica.open(url)
    await using second = await Replica.open(url)
    for (const { hub } of [leader, second]) {
      hub.quorum = quorum
      await hub.reopen()
    }
    await leader.lead()
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    expect(await second.follow()).toBe(1)
    const cosigned = await leader.checkpoint()

    leader.hub.quorum = { ...quorum, whyNot: () => 'the network is off' }
    await leader.hub.reopen()
    await leader.hub.serve(SECOND)
    await expect(leader.hub.publish()).rejects.toMatchObject({ code: 'log-unwitnessed' })
    await second.follow()

    expect(cosigned).toContain(place.key.name)
    expect(await second.checkpoint()).toBe(cosigned)
    expect(await leader.checkpoint()).toBe(cosigned)
    expect(await linesIn(url, 0)).toHaveLength(2)

    leader.hub.quorum = quorum
    await leader.hub.reopen()
    await leader.hub.serve(SECOND)
    await leader.hub.publish()
    expect(await second.follow()).toBe(2)
    expect(await second.checkpoint()).toBe(await leader.checkpoint())
    expect(await second.checkpoint()).toContain(place.key.name)
  })

  test('notifies a follower once more, for that the first notification may come before the other processes have the entry', async () => {
    const url = await server.createDatabase()
    await using leader = await (await Replica.open(url)).lead()
    await leader.hub.serve(FIRST)
    await leader.hub.publish()
    const notes: string[] = []
    const again = Promise.withResolvers<void>()
    using _watch = leader.hub.publisher.watch({
      onCheckpoint: (note) => {
        notes.push(note)
        if (notes.length === 3) again.resolve()
      },
      onEnd: () => {},
    })

    await leader.hub.serve(SECOND)
    await leader.hub.publish()
    await again.promise

    expect(notes.map((note) => note.split('\n')[1])).toEqual(['1', '2', '2'])
    expect(notes[1]).toBe(notes[2])
  })
})

/** The lines of the log in the database. */
async function linesIn(url: string, from: number): Promise<readonly string[]> {
  await using database = PostgresDatabase.at({ url })
  const text = 'SELECT line FROM skillsyncd.log_entry WHERE log = $1 AND position >= $2 ORDER BY position'
  return (await database.query('read the log', text, [ORIGIN, from])).map(({ line }) => String(line))
}
