import { notify } from './notify.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** The process that leads. */
export interface Leader {
  readonly holder: string
  readonly since: Date
}

/** The state that each process reads again and again. */
export interface HubStanding {
  /** Counts the changes of the head and of the documents. */
  readonly version: number
  /** `undefined` if no process holds the lead. */
  readonly leader: Leader | undefined
}

/**
 * Decides which of several hubs pulls and publishes. It only saves double work: each swap of the head names the epoch of
 * its leader, so that one that was deposed without its knowledge cannot publish. All times are those of the database.
 */
export class Leadership {
  readonly #database: PostgresDatabase
  readonly #holder: string
  readonly #leaseMs: number
  #epoch: number | undefined

  /** `holder`: the name of this process, which no other has. */
  constructor(database: PostgresDatabase, holder: string, leaseMs: number) {
    this.#database = database
    this.#holder = holder
    this.#leaseMs = leaseMs
  }

  /** The epoch in which this process leads, as far as it knows. */
  get epoch(): number | undefined {
    return this.#epoch
  }

  /**
   * Takes the lead if no other process holds it, or renews it. Returns true if this process leads then. After a failure of
   * the database it may still lead; its next swap shows that.
   */
  async take(): Promise<boolean> {
    if (this.#epoch !== undefined && (await this.#isRenewed(this.#epoch))) return true
    // An epoch counts once its transaction is committed: another process could get the same one otherwise.
    this.#epoch = undefined
    this.#epoch = await this.#database.transact('take the lead', async (client) => {
      const taken = await client.query(TAKE, [this.#holder, this.#leaseMs])
      if (taken.rowCount !== 1) return undefined
      // Waits for a swap of the leader before, and makes its later ones fail.
      const { rows } = await client.query('UPDATE skillsyncd.present SET epoch = epoch + 1 RETURNING epoch')
      return Number(rows[0]?.['epoch'])
    })
    return this.#epoch !== undefined
  }

  async #isRenewed(epoch: number): Promise<boolean> {
    return (await this.#database.query('renew the lead', RENEW, [this.#holder, this.#leaseMs, epoch])).length === 1
  }

  /** Gives the lead up, and notifies the other processes: one of them takes it at once. */
  async leave(): Promise<void> {
    this.#epoch = undefined
    await this.#database.transact('give up the lead', async (client) => {
      await client.query(LEAVE, [this.#holder])
      await notify(client)
    })
  }

  /** Reads, and changes nothing. */
  async standing(): Promise<HubStanding> {
    const [row] = await this.#database.query('find the leader', STANDING, [this.#leaseMs])
    const holder: unknown = row?.['holder']
    const leader = typeof holder === 'string' ? { holder, since: timeIn(row?.['since']) } : undefined
    return { version: Number(row?.['version'] ?? 0), leader }
  }
}

/** Three leases: no process writes a later end. The clock of a database that took the place of another can be behind. */
const LATEST = "interval '3 milliseconds'"

const STANDING = `
  SELECT version, since, CASE WHEN until > clock_timestamp() AND until <= clock_timestamp() + $1 * ${LATEST} THEN holder END AS holder
  FROM skillsyncd.present, skillsyncd.leader`

const UNTIL = "clock_timestamp() + $2 * interval '1 millisecond'"

const RENEW = `
  UPDATE skillsyncd.leader SET until = ${UNTIL}
  WHERE holder = $1 AND until > clock_timestamp() AND EXISTS (SELECT FROM skillsyncd.present WHERE epoch = $3)
  RETURNING holder`

const TAKE = `
  UPDATE skillsyncd.leader SET holder = $1, since = clock_timestamp(), until = ${UNTIL}
  WHERE holder IS NULL OR holder = $1 OR until <= clock_timestamp() OR until > clock_timestamp() + $2 * ${LATEST}`

const LEAVE = "UPDATE skillsyncd.leader SET holder = NULL, until = '-infinity' WHERE holder = $1"

/** A time that was edited by hand may be none that JavaScript has. */
export function timeIn(value: unknown): Date {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value : new Date(0)
}
