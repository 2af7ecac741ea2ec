import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { changeDatabase, damageObject } from '../../support/damage.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { allowConnections } from '../../support/postgres.ts'
import { numbered, publishSamples, verifyCurrent } from '../../sync/store/samples.ts'
import { Members, WAIT } from './members.ts'
import type { Member } from './members.ts'

describePostgres('one process of a hub of several', (server) => {
  test('what the leader publishes is in the store of each other process, whole', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()

    for (const number of [1, 2, 3]) await publish(leader, number)

    await other.has(3)
    expect(await verifyCurrent(other.store)).toBe(3)
    expect(await other.store.objects.head()).toEqual(await leader.store.objects.head())
    expect(other.roles).toEqual([])
    // One that joins later has the history too.
    const late = await members.join()
    await late.has(3)
    await expect.poll(async () => late.store.objects.heads(), WAIT).toEqual(await leader.store.objects.heads())
  })

  test('decisions are taken over before a head, and again with each look until that has succeeded', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    const looked = async (): Promise<void> => {
      const before = other.looks
      await expect.poll(() => other.looks, WAIT).toBeGreaterThan(before + 1)
    }
    await looked()
    other.calls.length = 0
    other.takesNews = false

    await publish(leader, 1)
    await other.has(1)
    await looked()
    const failing = [...other.calls]
    other.takesNews = true
    await looked()
    const { length } = other.calls
    await looked()

    expect([failing[0], failing.filter((call) => call === 'head')]).toEqual(['news', ['head']])
    expect(failing.lastIndexOf('news')).toBeGreaterThan(failing.indexOf('head'))
    expect(other.calls).toHaveLength(length)
  })

  test('a leader that steps aside leaves the lead to a living process, and keeps it without one', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await expect.poll(() => leader.hub.status.processes, WAIT).toHaveLength(2)

    leader.hub.stepAside()
    await other.leads()
    await expect.poll(() => leader.hub.isLeading, WAIT).toBe(false)
    await publish(other, 1)
    await leader.has(1)
    await leader[Symbol.asyncDispose]()
    await expect.poll(() => other.hub.status.processes, WAIT).toHaveLength(1)
    const { looks } = other
    other.hub.stepAside()
    await expect.poll(() => other.looks, WAIT).toBeGreaterThan(looks + 1)

    await publish(other, 2)
    expect(other.roles).toEqual([true])
  })

  test('a process that does not lead publishes nothing', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await publish(leader, 1)
    await other.has(1)

    await expect(publish(other, 2)).rejects.toMatchObject({ code: 'store-failed' })

    expect(await members.query('SELECT sequence FROM skillsyncd.head')).toEqual([{ sequence: '1' }])
    expect((await other.store.objects.head())?.sequence).toBe(1)
  })

  test('a leader that another one has deposed serves nothing of its own any more', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await publish(leader, 1)
    await other.has(1)
    // As if it had been stopped for longer than its lease.
    await members.query("UPDATE skillsyncd.leader SET holder = $1, until = clock_timestamp() + interval '150 s'", [
      other.shared.id,
    ])
    await members.query('UPDATE skillsyncd.present SET epoch = epoch + 1')

    await expect(publish(leader, 2)).rejects.toMatchObject({ code: 'store-failed' })

    await expect.poll(() => leader.hub.isLeading, WAIT).toBe(false)
    expect(leader.roles).toEqual([true, false])
    expect((await leader.store.objects.head())?.sequence).toBe(1)
  })

  test('one that ends leaves the lead to another at once, and one whose lease is over loses it', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()

    await leader[Symbol.asyncDispose]()
    await other.leads()
    const third = await members.join()
    // As if the other one had been stopped for longer than its lease, while another process had the lead.
    await members.query("UPDATE skillsyncd.leader SET holder = 'gone', until = clock_timestamp() + interval '150 s'")
    await expect.poll(() => other.hub.isLeading, WAIT).toBe(false)
    await members.query("UPDATE skillsyncd.leader SET until = '-infinity'")

    await expect.poll(() => [other.hub.isLeading, third.hub.isLeading].filter(Boolean).length, WAIT).toBe(1)
  })

  test('the small files of the leader are those of each process, and no name leads elsewhere', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await leader.store.folder.writeShared('sources', 'team.json', '{"url":"https://example.com"}')
    leader.hub.nudge()

    await expect.poll(() => other.changes.some(({ files }) => files.has('sources/team.json')), WAIT).toBe(true)
    expect(await readFile(join(other.path, 'sources/team.json'), 'utf8')).toBe('{"url":"https://example.com"}')

    for (const name of ['../outside.json', 'sources/../../outside.json', 'store.db', 'sources/a/b.json', '/etc/x.json'])
      await members.query('INSERT INTO skillsyncd.document VALUES ($1, 1000, $2)', [name, Buffer.from('x')])
    for (const [index, name] of ['logs/channel.checkpoint', 'sources/good.json'].entries())
      await members.query('INSERT INTO skillsyncd.document VALUES ($1, $2, $3)', [name, 1001 + index, Buffer.from('g')])
    await members.query('UPDATE skillsyncd.present SET version = 1002')
    await expect.poll(() => other.changes.some(({ files }) => files.has('sources/good.json')), WAIT).toBe(true)
    expect(other.changes.flatMap(({ files }) => [...files])).toEqual([
      'sources/team.json',
      'logs/channel.checkpoint',
      'sources/good.json',
    ])
    await expect(readFile(join(other.path, '../outside.json'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a file that the leader has written again is not replaced by what it wrote before', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    const stored = async () =>
      String(
        (await members.query("SELECT bytes FROM skillsyncd.document WHERE name = 'sources/team.json'"))[0]?.['bytes'],
      )
    await leader.store.folder.writeShared('sources', 'team.json', '1')
    leader.hub.nudge()
    await expect.poll(stored, WAIT).toBe('1')

    await leader.store.folder.writeShared('sources', 'team.json', '2')
    // As if it had not read yet what it has written before.
    await members.query(
      `UPDATE skillsyncd.present SET version = version + 1;
       UPDATE skillsyncd.document SET version = (SELECT version FROM skillsyncd.present); NOTIFY skillsyncd`,
    )

    await expect.poll(stored, WAIT).toBe('2')
    expect(await readFile(join(leader.path, 'sources/team.json'), 'utf8')).toBe('2')
  })

  test('a change that the process could not serve is offered again', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    let refusals = 2
    const takeOver = async (): Promise<void> => {
      refusals -= 1
      if (refusals >= 0) throw new SyncError('store-failed', 'The disk is busy')
    }
    const other = await members.join({ takeOver })

    await publish(leader, 1)

    await expect.poll(() => other.changes.map(({ head }) => head), WAIT).toEqual([true])
    expect(refusals).toBe(-1)
  })

  test('a process that serves a change later than a hold waits for it is reported when it does', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    let caughtUp = 0
    leader.hub.onCaughtUp(() => (caughtUp += 1))
    const gate = Promise.withResolvers<void>()
    const slow = await members.join({ takeOver: async () => gate.promise })
    expect(await leader.hub.isServedByAll()).toBe(true)

    await publish(leader, 1)
    expect([await leader.hub.isServedByAll(), caughtUp]).toEqual([false, 0])
    gate.resolve()

    await expect.poll(() => caughtUp, WAIT).toBe(1)
    expect(slow.changes.map(({ head }) => head)).toEqual([true])
    expect(await leader.hub.isServedByAll()).toBe(true)
  })

  test('a process that is late for two versions has not caught up with the first one', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    const caughtUp: boolean[] = []
    leader.hub.onCaughtUp((areAll) => caughtUp.push(areAll))
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const begun: number[] = []
    const takeOver = async (): Promise<void> => {
      begun.push(begun.length + 1)
      await (begun.length === 1 ? first : second).promise
    }
    const slow = await members.join({ takeOver })

    for (const number of [1, 2]) {
      await publish(leader, number)
      await expect.poll(() => begun, WAIT).toEqual([1])
      expect(await leader.hub.isServedByAll()).toBe(false)
    }
    first.resolve()
    await expect.poll(() => begun, WAIT).toEqual([1, 2])
    const { looks } = slow
    await expect.poll(() => slow.looks, WAIT).toBeGreaterThan(looks + 1)
    await expect.poll(async () => leader.hub.isServedByAll(), WAIT).toBe(false)
    const early = [...caughtUp]
    second.resolve()

    await expect.poll(() => caughtUp, WAIT).toContain(true)
    expect(early).toEqual([])
  })

  test('of two late processes, the first that catches up is not all', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    const caughtUp: boolean[] = []
    leader.hub.onCaughtUp((areAll) => caughtUp.push(areAll))
    const served = [0, 0]
    for (const index of served.keys()) await members.join({ served: () => served[index] ?? 0 })

    await publish(leader, 1)
    expect(await leader.hub.isServedByAll()).toBe(false)
    served[0] = 1
    await expect.poll(() => caughtUp, WAIT).toEqual([false])
    served[1] = 1

    await expect.poll(() => caughtUp, WAIT).toEqual([false, true])
  })

  test('a process that was late while the database could not be asked is reported when it serves the change', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    let caughtUp = 0
    leader.hub.onCaughtUp(() => (caughtUp += 1))
    let served = Number.POSITIVE_INFINITY
    const other = await members.join({ served: () => served })
    await publish(leader, 1)
    await other.has(1)
    served = 1
    await publish(leader, 2)
    await other.has(2)

    await allowConnections(members.url, false)
    expect(await leader.hub.isServedByAll()).toBe(false)
    await allowConnections(members.url, true)
    served = Number.POSITIVE_INFINITY

    await expect.poll(() => caughtUp, WAIT).toBe(1)
  })

  test('a database that could not be asked when no process was late is made up for too', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    let caughtUp = 0
    leader.hub.onCaughtUp(() => (caughtUp += 1))
    await members.join()

    await allowConnections(members.url, false)
    expect([await leader.hub.isServedByAll(), caughtUp]).toEqual([false, 0])
    await allowConnections(members.url, true)

    await expect.poll(() => caughtUp, WAIT).toBe(1)
  })

  test('a leader counts as behind until its clients read what it has published', async () => {
    await using members = await Members.of(server)
    let served = 0
    const leader = await members.join({ served: () => served })
    await leader.leads()
    const other = await members.join()
    expect(await other.hub.isServedByAll()).toBe(true)

    await publish(leader, 1)
    await other.has(1)
    expect(await other.hub.isServedByAll()).toBe(false)
    served = 1
    leader.hub.served()

    expect(await other.hub.isServedByAll()).toBe(true)
  })

  test('a process that was killed is late for a while, and does not catch up', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    let caughtUp = 0
    leader.hub.onCaughtUp(() => (caughtUp += 1))
    await members.query(
      `INSERT INTO skillsyncd.replica (id, name, program, started, seen, sequence, version)
       VALUES ('killed', 'one', '0.1.0', clock_timestamp(), clock_timestamp(), 0, 0)`,
    )

    await publish(leader, 1)
    expect(await leader.hub.isServedByAll()).toBe(false)
    await members.query("UPDATE skillsyncd.replica SET seen = clock_timestamp() - interval '2 h' WHERE id = 'killed'")

    expect(await leader.hub.isServedByAll()).toBe(true)
    const forgotten = async () => (await members.query("SELECT id FROM skillsyncd.replica WHERE id = 'killed'")).length
    await expect.poll(forgotten, WAIT).toBe(0)
    expect(caughtUp).toBe(0)
  })

  test('a process whose part cannot change leaves the lead to another one, and ends nothing', async () => {
    await using members = await Members.of(server)
    let refusals = 0
    const change = async (): Promise<void> => {
      refusals += 1
      throw new SyncError('store-failed', 'The lock cannot be read')
    }
    const unable = await members.join({ change })
    await expect.poll(() => refusals, WAIT).toBeGreaterThan(1)

    const able = await members.join()

    await able.leads()
    expect(unable.hub.isLeading).toBe(false)
  })

  test('a process that is deposed takes what its successor wrote, also before it knew of that one', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await leader.store.folder.writeShared('sources', 'team.json', 'of the first')
    leader.hub.nudge()
    await expect.poll(() => other.changes.some(({ files }) => files.has('sources/team.json')), WAIT).toBe(true)
    const text = async () => readFile(join(leader.path, 'sources/team.json'), 'utf8')

    await members.query(
      `UPDATE skillsyncd.present SET version = version + 1;
       UPDATE skillsyncd.document SET version = (SELECT version FROM skillsyncd.present), bytes = 'of the next'
       WHERE bytes IS NOT NULL`,
    )
    const isRead =
      'SELECT version >= (SELECT version FROM skillsyncd.present) AS is_read FROM skillsyncd.replica WHERE id = $1'
    await expect.poll(async () => members.query(isRead, [leader.shared.id]), WAIT).toEqual([{ is_read: true }])
    // As far as it knows, it leads, and has the newest.
    expect([leader.hub.isLeading, await text()]).toEqual([true, 'of the first'])
    await members.query(
      "UPDATE skillsyncd.leader SET holder = 'gone', until = clock_timestamp() + interval '150 s'; UPDATE skillsyncd.present SET epoch = epoch + 1",
    )

    await expect.poll(text, WAIT).toBe('of the next')
    expect(await members.query('SELECT bytes FROM skillsyncd.document WHERE bytes IS NOT NULL')).toEqual([
      { bytes: Buffer.from('of the next') },
    ])
  })

  test('a process that was deposed takes the lead again only when its own part has changed', async () => {
    await using members = await Members.of(server)
    const deposed = Promise.withResolvers<void>()
    const changed = Promise.withResolvers<void>()
    const change = async (isLeading: boolean): Promise<void> => {
      if (isLeading) return
      deposed.resolve()
      await changed.promise
    }
    const member = await members.join({ change })
    await member.leads()
    await members.query("UPDATE skillsyncd.leader SET holder = 'other', until = clock_timestamp() + interval '150 s'")
    await deposed.promise

    await members.query("UPDATE skillsyncd.leader SET holder = NULL, until = '-infinity'")
    const { looks } = member
    await expect.poll(() => member.looks, WAIT).toBeGreaterThan(looks + 2)

    const holders = await members.query('SELECT holder FROM skillsyncd.leader')
    changed.resolve()
    await member.leads()
    expect(holders).toEqual([{ holder: null }])
  })

  test('a failure of its own is logged once, and is none of the database', async () => {
    await using members = await Members.of(server)
    let isFailing = true
    const look = async (): Promise<void> => {
      if (isFailing) throw new SyncError('store-failed', 'The disk is full')
    }
    const member = await members.join({ look })
    const before = member.looks
    await expect.poll(() => member.looks, WAIT).toBeGreaterThan(before + 3)

    // Nothing else keeps it from leading.
    expect(member.events.filter((event) => event !== 'hub-role')).toEqual(['hub-not-followed'])
    expect(member.hub.status.away).toBeUndefined()
    isFailing = false
    await expect.poll(() => member.events, WAIT).toContain('recovered')
    expect(member.events.filter((event) => event === 'recovered')).toHaveLength(1)
  })

  test('a leader whose epoch was raised by another hand takes the lead anew', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    await members.query('UPDATE skillsyncd.present SET epoch = epoch + 5')

    await expect
      .poll(
        async () =>
          publish(leader, 1).then(
            () => true,
            () => false,
          ),
        WAIT,
      )
      .toBe(true)
  })

  test('processes with different configurations report each other until they have one', async () => {
    await using members = await Members.of(server)
    const one = await members.join({ config: 'one' })
    const other = await members.join({ config: 'other' })
    const rows = () => one.hub.status.processes.map(({ id, hasOtherConfig }) => [id, hasOtherConfig])
    const seen = [
      [one.shared.id, false],
      [other.shared.id, true],
    ]

    await expect.poll(rows, WAIT).toEqual(seen)
    for (const { events } of [one, other]) await expect.poll(() => events, WAIT).toContain('hub-configs-differ')
    await other[Symbol.asyncDispose]()

    await expect.poll(() => one.events, WAIT).toContain('recovered')
    expect(one.events.filter((event) => event === 'hub-configs-differ')).toHaveLength(1)
  })

  test('a lease that ends later than any process writes keeps none from leading', async () => {
    await using members = await Members.of(server)
    const member = await members.join()
    await member.leads()
    await members.query("UPDATE skillsyncd.leader SET holder = 'gone', until = 'infinity'")

    await expect
      .poll(async () => members.query('SELECT holder FROM skillsyncd.leader'), WAIT)
      .toEqual([{ holder: member.shared.id }])
    await member.leads()
  })

  test('files from before there was a database go there', async () => {
    await using members = await Members.of(server)
    const before = await members.join({ at: 'kept' })
    await before[Symbol.asyncDispose]()
    await members.query('DELETE FROM skillsyncd.document')
    await writeFile(join(before.path, 'sources/old.json'), '{"old":true}')

    await (await members.join({ at: 'kept' })).leads()

    const names = async () => (await members.query('SELECT name FROM skillsyncd.document')).map(({ name }) => name)
    await expect.poll(names, WAIT).toContain('sources/old.json')
  })

  test('what is served before there was a database is what the hub serves', async () => {
    await using members = await Members.of(server)
    const alone = await members.join({ at: 'kept' })
    await alone.leads()
    await publish(alone, 1)
    await publish(alone, 2)
    await alone[Symbol.asyncDispose]()
    await members.query('DROP SCHEMA skillsyncd CASCADE')

    const [first, second] = [await members.join({ at: 'kept' }), await members.join()]

    await second.has(2)
    expect(await verifyCurrent(second.store)).toBe(2)
    expect(first.changes).toEqual([])
  })

  test('a database that lost the last publication gets it back from a process that serves it', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await publish(leader, 1)
    const [copy] = await members.query('SELECT * FROM skillsyncd.present')
    await publish(leader, 2)
    await other.has(2)
    const heads = await leader.store.objects.heads()

    await loseLast(members, copy)

    await expect.poll(async () => members.query(SEQUENCES), WAIT).toEqual([{ sequence: '1' }, { sequence: '2' }])
    expect(await leader.store.objects.heads()).toEqual(heads)
    expect(await other.store.objects.heads()).toEqual(heads)
    await publish(leader, 3)
    await other.has(3)
  })

  test('a database that lost publications gets their records back too, also if it refuses them at first', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    await publish(leader, 1)
    const [copy] = await members.query('SELECT * FROM skillsyncd.present')
    await publish(leader, 2)
    await publish(leader, 3)
    await members.query(REFUSE_RECORD)

    await loseLast(members, copy)
    await expect.poll(() => leader.events, WAIT).toContain('shared-store-away')
    const refused = await members.query(RECORDS)
    await members.query('DROP TRIGGER refuse ON skillsyncd.record')

    expect(refused).toEqual([{ sequence: '1' }, { sequence: '3' }])
    const all = [{ sequence: '1' }, { sequence: '2' }, { sequence: '3' }]
    await expect.poll(async () => members.query(RECORDS), WAIT).toEqual(all)
  })

  test('a process that was away gets the records of what it missed, also if its disk refuses them at first', async () => {
    await using members = await Members.of(server)
    const [leader, away] = await members.pair()
    await publish(leader, 1)
    await away.has(1)
    await away[Symbol.asyncDispose]()
    await publish(leader, 2)
    await publish(leader, 3)
    const refuse = "BEFORE INSERT ON record WHEN new.sequence = 2 BEGIN SELECT RAISE(FAIL, 'refused'); END"
    changeDatabase(away.path, `CREATE TRIGGER refuse ${refuse}`)

    const back = await members.join({ at: '2' })
    await expect.poll(() => back.events, WAIT).toContain('hub-not-followed')
    const refused = await back.store.objects.recordSequences()
    changeDatabase(away.path, 'DROP TRIGGER refuse')

    expect(refused).toEqual([3, 1])
    await expect.poll(async () => back.store.objects.recordSequences(), WAIT).toEqual([3, 2, 1])
    for (const number of [1, 2, 3])
      expect(await back.store.generations.records.read(number)).toEqual(
        await leader.store.generations.records.read(number),
      )
  })

  test('where another generation of the same number was published meanwhile, that one counts', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair()
    await publish(leader, 1)
    await other.has(1)
    await other[Symbol.asyncDispose]()
    const [copy] = await members.query('SELECT * FROM skillsyncd.present')
    await publish(leader, 2)
    const lost = await leader.store.objects.head()
    await leader[Symbol.asyncDispose]()
    await loseLast(members, copy)
    const next = await members.join({ at: '2' })
    await next.leads()
    await publish(next, 3)
    const counted = await next.store.objects.head()
    expect(counted?.sequence).toBe(lost?.sequence)

    const back = await members.join({ at: '1' })

    await expect.poll(async () => back.store.objects.head(), WAIT).toEqual(counted)
    expect(await verifyCurrent(back.store)).toBe(2)
  })

  test('objects that are damaged here come from the database', async () => {
    await using members = await Members.of(server)
    const leader = await members.join()
    await leader.leads()
    const held = await publish(leader, 1)
    const [file] = numbered(1).skill.files
    damageObject(leader.store, file?.sha256 ?? '')
    await expect(leader.store.objects.get(file?.sha256 ?? '')).rejects.toMatchObject({ code: 'store-failed' })

    expect(await leader.hub.restore(held.snapshot)).toBe(true)

    expect(await leader.store.objects.get(file?.sha256 ?? '')).toBeDefined()
  })
})

const SEQUENCES = 'SELECT sequence FROM skillsyncd.head ORDER BY sequence'
const RECORDS = 'SELECT sequence FROM skillsyncd.record ORDER BY sequence'

/** A database that takes all records but one. */
const REFUSE_RECORD = `
  CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$ LANGUAGE plpgsql;
  CREATE TRIGGER refuse BEFORE INSERT ON skillsyncd.record
    FOR EACH ROW WHEN (new.sequence = 2) EXECUTE FUNCTION refuse()`

/** Publishes a generation with one more skill. */
async function publish({ store }: Member, number: number) {
  const samples = Array.from({ length: number }, (_, index) => numbered(index + 1))
  return publishSamples(store, new Date(), ...samples)
}

/** Puts the database back to an earlier copy of its present head, as a failover to a copy that is behind does. */
async function loseLast(members: Members, present: Readonly<Record<string, unknown>> | undefined): Promise<void> {
  const { sequence, generation, version } = present ?? {}
  await members.query('DELETE FROM skillsyncd.head WHERE sequence > $1', [sequence])
  await members.query('DELETE FROM skillsyncd.record WHERE sequence > $1', [sequence])
  await members.query('UPDATE skillsyncd.present SET sequence = $1, generation = $2, version = $3', [
    sequence,
    generation,
    version,
  ])
}
