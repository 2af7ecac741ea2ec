import type { QueryResultRow } from 'pg'
import { timeIn } from './leadership.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** The row of one process of the hub. */
export interface StoredReplica {
  readonly id: string
  /** The name of its machine. */
  readonly machine: string
  /** The version of its program. */
  readonly program: string
  readonly started: Date
  readonly seen: Date
  /** True if it was seen within the last 15 seconds, by the clock of the database. */
  readonly isLiving: boolean
  /** The sequence of the head that it serves. */
  readonly sequence: number
  /** The version of the database that it serves. */
  readonly version: number
  /** The digest of its configuration; `undefined` if it has not shown one. */
  readonly config: string | undefined
}

/** The state that a process shows the others. */
export type ShownReplica = Pick<StoredReplica, 'machine' | 'program' | 'sequence' | 'version' | 'config'>

/** The rows by which the processes of a hub see each other. */
export class ReplicaRows {
  readonly #database: PostgresDatabase
  readonly #id: string

  /** `id`: that of this process. */
  constructor(database: PostgresDatabase, id: string) {
    this.#database = database
    this.#id = id
  }

  /** Shows that this process runs. Call it every five seconds: one that was not seen for 15 seconds counts as dead. */
  async show({ machine, program, sequence, version, config }: ShownReplica): Promise<void> {
    const values = [this.#id, machine, program, sequence, version, config ?? null]
    await this.#database.query('show that this process runs', SHOW, values)
  }

  /**
   * Returns the processes that were seen within the last hour, and forgets all others: this one and the latest ones, since
   * another program with rights on the database could add any number of rows, of any length.
   */
  async all(): Promise<readonly StoredReplica[]> {
    return (await this.#database.query('list the processes', ALL, [this.#id])).map(replicaIn)
  }

  /** Returns the ids of the other living processes that serve less than this version of the database. */
  async behind(version: number): Promise<readonly string[]> {
    const rows = await this.#database.query('find processes that are behind', BEHIND, [this.#id, version])
    return rows.map(({ id }) => String(id))
  }

  /** Removes the row of this process. */
  async leave(): Promise<void> {
    await this.#database.query('leave', 'DELETE FROM skillsyncd.replica WHERE id = $1', [this.#id])
  }
}

const SHOW = `
  INSERT INTO skillsyncd.replica (id, name, program, started, seen, sequence, version, config)
  VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp(), $4, $5, $6)
  ON CONFLICT (id) DO UPDATE
    SET seen = excluded.seen, sequence = excluded.sequence, version = excluded.version, config = excluded.config`

/** A time that has not come was edited by hand, or is that of a database with another clock. */
const BEHIND = `
  SELECT id FROM skillsyncd.replica
  WHERE id <> $1 AND version < $2
    AND seen BETWEEN clock_timestamp() - interval '15 s' AND clock_timestamp() + interval '15 s'`

const ALL = `
  WITH old AS (DELETE FROM skillsyncd.replica
    WHERE seen NOT BETWEEN clock_timestamp() - interval '1 h' AND clock_timestamp() + interval '1 h')
  SELECT * FROM (
    SELECT id, left(name, 255) AS name, left(program, 64) AS program, started, seen, sequence, version,
      left(config, 128) AS config, seen > clock_timestamp() - interval '15 s' AS is_living
    FROM skillsyncd.replica
    WHERE seen BETWEEN clock_timestamp() - interval '1 h' AND clock_timestamp() + interval '1 h' AND length(id) <= 128
    ORDER BY id = $1 DESC, abs(extract(epoch FROM clock_timestamp() - seen)), id LIMIT 256
  ) AS latest ORDER BY started, id`

function replicaIn({
  id,
  name,
  program,
  started,
  seen,
  sequence,
  version,
  config,
  is_living,
}: QueryResultRow): StoredReplica {
  return {
    id: String(id),
    machine: String(name),
    program: String(program),
    started: timeIn(started),
    seen: timeIn(seen),
    isLiving: is_living === true,
    sequence: Number(sequence),
    version: Number(version),
    config: typeof config === 'string' ? config : undefined,
  }
}
