import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { FollowerReach } from '../../../../src/features/channel/publish/follower-reach.ts'
import { SharedReach } from '../../../../src/features/channel/publish/shared-reach.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const [RECALL, FOLLOWER] = [idOf(1, 64), idOf(1, 32)]
const ANYONE = { channel: undefined, principal: '' }
const BELOW = [{ recall: RECALL, obeyed: 3, behind: 1, unreachable: 0 }]

/** It ends what hangs, and judges nothing. */
const PATIENT = { timeout: 20_000, interval: 20 }

describePostgres('the followers of a hub of several processes', (server) => {
  test('are one for each that moves from process to process, with its newest contact and report', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const [one, other] = [await hub.process(), await hub.process()]
    // The clock of this process is an hour ahead.
    one.clock.setWall(new Date(one.clock.now().getTime() + 3_600_000))
    one.reach.published(undefined, [RECALL], 5)
    other.reach.published(undefined, [RECALL], 7)
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 4, below: BELOW })
    await hub.agree()

    other.reach.report(ANYONE, { follower: FOLLOWER, size: 6 })
    await hub.agree()

    for (const { reach } of [one, other]) {
      expect(reach.isWhole).toBe(true)
      expect(reach.followersOf(RECALL)).toMatchObject([{ size: 6, state: 'obeyed', below: { obeyed: 3, behind: 1 } }])
    }
  })

  test('have what they report of those below also if the later contact without a report arrives first', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const [one, other] = [await hub.process(), await hub.process()]
    await hub.agree()
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 4, below: BELOW })
    one.clock.setWall(new Date(one.clock.now().getTime() + 5_000))
    other.reach.report(ANYONE, { follower: FOLLOWER, size: 6 })
    await other.exchange()
    await hub.agree()

    for (const { reach } of [one, other])
      expect(reach.followersOf(RECALL)).toMatchObject([{ size: 6, below: { obeyed: 3, behind: 1 } }])
  })

  test('are known to a process that starts, and no kill loses what a database that is away lacks', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const one = await hub.process()
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 4 })
    await hub.agree()
    one.isAway = true
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 6 })
    one.reach.report(ANYONE, { follower: idOf(2, 32), size: 6 })
    await one.exchange()
    expect(one.reach.isWhole).toBe(false)
    await one.clock.advance(5_000)
    await expect.poll(async () => (await one.exchange(), one.logged()), PATIENT).toContain('reach-not-shared')

    // It was killed: another one starts in its state folder, and a third one in an empty folder.
    const again = await hub.process(one.state)
    const third = await hub.process()
    await hub.agree()

    for (const { reach } of [again, third])
      expect(reach.followersOf(RECALL).map(({ follower, size }) => [follower, size])).toEqual([
        [FOLLOWER, 6],
        [idOf(2, 32), 6],
      ])
  })

  test('come back to a database that was restored without them', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const one = await hub.process()
    one.reach.published(undefined, [RECALL], 5)
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 6, below: BELOW })
    await hub.agree()
    for (const text of [
      'TRUNCATE skillsyncd.follower, skillsyncd.recall_published',
      'UPDATE skillsyncd.reach_version SET version = 0',
    ])
      await hub.query(text)
    await hub.agree()

    const other = await hub.process()
    await hub.agree()

    expect(other.reach.followersOf(RECALL)).toMatchObject([{ size: 6, state: 'obeyed', below: { obeyed: 3 } }])
  })

  test('are bounded for each token in the whole hub, and no token displaces those of another', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const [one, other] = [await hub.process(), await hub.process()]
    one.reach.report({ channel: undefined, principal: 'good' }, { follower: FOLLOWER, size: 6, below: BELOW })
    for (const [index, { reach }] of [one, other].entries())
      for (let number = 0; number < 10_000; number += 1)
        reach.report({ channel: undefined, principal: 'bad' }, { follower: idOf(index * 10_000 + number, 32), size: 1 })
    await hub.agree()
    await hub.agree()

    const [counted] = await hub.query("SELECT count(*) FROM skillsyncd.follower WHERE principal = 'bad'")
    expect(counted).toEqual({ count: '16384' })
    for (const { reach } of [one, other]) {
      const rows = reach.followersOf(RECALL)
      expect(rows.filter(({ principal }) => principal === 'bad')).toHaveLength(16_384)
      expect(rows.find(({ principal }) => principal === 'good')).toMatchObject({ size: 6, below: { obeyed: 3 } })
    }
  })

  test('cost one short query a second while nothing changes, and a contact that has no news is shared within a minute', async () => {
    await using hub = await Hub.open(await server.createDatabase())
    const [one, other] = [await hub.process(), await hub.process()]
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 6 })
    await hub.agree()
    one.reach.report(ANYONE, { follower: FOLLOWER, size: 6 })
    one.asked.length = 0

    await one.exchange()
    const idle = [...one.asked]
    await one.clock.advance(60_000)
    await hub.agree()

    expect(idle).toEqual(['SELECT version FROM skillsyncd.reach_version'])
    const [seen, seenThere] = [one, other].map(({ reach }) => reach.followersOf(RECALL)[0]?.seen)
    expect(seen).toBe(seenThere)
  })

  test('forget the oldest recalls beyond the limit, with no crowd of followers too', async () => {
    await using shared = SharedStore.at({ url: await server.createDatabase() })
    const reach = new SharedReach(shared)
    for (const number of [1, 2, 3])
      await reach.addPublished([{ recall: idOf(number, 64), channel: undefined, size: 4 }])

    await reach.prune([], 2)

    const kept: string[] = []
    for await (const page of reach.publishedBetween(0, await reach.version()))
      kept.push(...page.map(({ recall }) => recall))
    expect(kept).toEqual([idOf(2, 64), idOf(3, 64)])
  })
})

/** The processes of a hub, with their followers alone. */
class Hub implements AsyncDisposable {
  readonly #url: string
  readonly #opened = new AsyncDisposableStack()
  readonly #first: SharedStore
  readonly #processes: Process[] = []

  private constructor(url: string) {
    this.#url = url
    this.#first = this.#opened.use(SharedStore.at({ url }))
  }

  static async open(url: string): Promise<Hub> {
    const hub = new Hub(url)
    await hub.#first.open()
    return hub
  }

  /** Starts a process in a new state folder, or in that of one that was killed. */
  async process(state?: string): Promise<Process> {
    const folder = this.#opened.use(await temporaryFolder())
    const shared = this.#opened.use(SharedStore.at({ url: this.#url }))
    const store = this.#opened.use(await Store.open(state ?? join(folder.path, 'state')))
    const killed = this.#processes.findIndex((one) => one.state === state)
    if (killed >= 0) this.#processes.splice(killed, 1)
    const process = this.#opened.use(new Process(store, shared))
    process.reach.follow()
    this.#processes.push(process)
    return process
  }

  /** Has each process share what it knows, and take what the others do. */
  async agree(): Promise<void> {
    for (let round = 0; round < 2; round += 1) for (const process of this.#processes) await process.exchange()
  }

  async query(text: string): Promise<readonly unknown[]> {
    return this.#first.database.query('test', text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

/** One process: its clock, its log, and its way to the database. */
class Process implements AsyncDisposable {
  readonly clock = new FakeClock()
  readonly state: string
  readonly reach: FollowerReach
  /** The statements that were sent. */
  readonly asked: string[] = []
  isAway = false
  #logged = ''
  #turns = 0

  constructor(store: Store, { database }: SharedStore) {
    const { clock } = this
    this.state = store.folder.path
    const stream = { write: (text: string) => (this.#logged += text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
    const open = async (): Promise<void> => {
      if (this.isAway) throw new SyncError('store-failed', 'the database is away')
    }
    const query: typeof database.query = async (...asked) => {
      this.asked.push(asked[1])
      return database.query(...asked)
    }
    const counting = {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      wait: async (ms: number, signal: AbortSignal) => {
        if (ms === LOOK_MS) this.#turns += 1
        return clock.wait(ms, signal)
      },
    }
    this.reach = new FollowerReach({ store, clock: counting, log, shared: { open, database: { query } } })
  }

  /** Waits for the end of one exchange with the database, of which each second has one. */
  async exchange(): Promise<void> {
    await expect.poll(() => this.#turns, PATIENT).toBeGreaterThan(0)
    const before = this.#turns
    await this.clock.advance(LOOK_MS)
    await expect.poll(() => this.#turns, PATIENT).toBeGreaterThan(before)
  }

  logged(): string {
    return this.#logged
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reach[Symbol.asyncDispose]()
  }
}

const LOOK_MS = 1_000

function idOf(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
