import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

describe.skipIf(obstacle !== undefined)(`the leader is killed${obstacle === undefined ? '' : ` (${obstacle})`}`, () => {
  test.each([
    [
      'before it has published: the next leader does',
      async (gate: Gate) => gate.close('LOCK TABLE skillsyncd.head IN SHARE MODE'),
    ],
    [
      'while the database commits: its generation stays, and is published once',
      async (gate: Gate) => {
        await gate.delayCommits()
        await gate.close('SELECT pg_advisory_xact_lock(1)')
      },
    ],
  ])('%s', async (_, hold) => {
    await using hub = await ReplicatedHub.start({ processes: 2 })
    await using gate = await Gate.open(hub.database)
    const leader = await quiet(hub)
    const { newest } = hub.record

    await hold(gate)
    await hub.commit()
    await gate.blocks()
    await hub.kill(leader)
    await gate.let()
    await expectOnce(hub, leader)
    expect(hub.record.newest, 'one generation').toBe(newest + 1)
  })
})

type Process = ReplicatedHub['processes'][number]

/** Ends the commits, and returns the leader once all is served and each client has it. */
async function quiet(hub: ReplicatedHub): Promise<Process> {
  await hub.commitNoMore()
  await hub.servesTip()
  await hub.heardAll()
  return hub.leader()
}

/** Another process leads, and each client was notified once, or has connected anew. */
async function expectOnce(hub: ReplicatedHub, killed: Process): Promise<void> {
  const before = hub.heard
  await hub.leader(killed)
  await hub.heardAll()
  await killed.start()
  await hub.expectWell()
  for (const [index, { notified, connected }] of hub.heard.entries()) {
    const { notified: earlier = 0, connected: open = 0 } = before[index] ?? {}
    expect(notified - earlier, 'one that lost its stream looks again instead').toBeLessThanOrEqual(1)
    expect(notified - earlier + connected - open).toBeGreaterThanOrEqual(1)
  }
}

/** A transaction of the test that others wait for. */
class Gate implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async open(url: string): Promise<Gate> {
    const client = new Client({ connectionString: url })
    await client.connect()
    return new Gate(client)
  }

  /** Has each publication wait for the lock of the gate as the last thing that its transaction does. */
  async delayCommits(): Promise<void> {
    await this.#client.query(`
      CREATE FUNCTION test_wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER test_wait AFTER INSERT ON skillsyncd.head
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION test_wait()`)
  }

  async close(lock: string): Promise<void> {
    await this.#client.query('BEGIN')
    await this.#client.query(lock)
  }

  /** Resolves when another connection waits for it. */
  async blocks(): Promise<void> {
    const text =
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))'
    const count = async (): Promise<number> => (await this.#client.query(text)).rows[0].count
    await expect.poll(count).toBeGreaterThan(0)
  }

  async let(): Promise<void> {
    await this.#client.query('COMMIT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
