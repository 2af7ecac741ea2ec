import { hash } from 'node:crypto'
import type { QueryResultRow } from 'pg'
import { z } from 'zod'
import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import { timeIn } from '../../../sync/postgres/leadership.ts'
import type { HubDatabase, PostgresDatabase } from '../../../sync/postgres/postgres-database.ts'
import type { RecallCounts } from '../recall/follower-report.ts'
import { keyOfFollower, MOST_COUNTS, MOST_FOLLOWERS, MOST_ROWS } from './follower-rows.ts'
import type { FollowerRow } from './follower-rows.ts'

/** A row that the database lacks. Ages are in milliseconds: the clocks of processes can differ. */
export interface UnsharedRow extends Omit<FollowerRow, 'seen' | 'below'> {
  readonly age: number
  /** The counts that the follower reported of those below it, if they are new. */
  readonly below?: readonly RecallCounts[]
  readonly belowAge?: number
}

/** The size of the log of a channel at which a recall was published first. */
export interface PublishedAt {
  readonly recall: string
  readonly channel: ChannelName
  readonly size: number
}

export function keyOfPublished({ recall, channel }: Pick<PublishedAt, 'recall' | 'channel'>): string {
  return `${recall} ${channel ?? ''}`
}

/** The followers of all processes of a hub, in their database. Each call throws `store-failed` if that cannot be used. */
export class SharedReach {
  readonly #store: HubDatabase

  constructor(store: HubDatabase) {
    this.#store = store
  }

  /** A number that is another one after each change. One short query. */
  async version(): Promise<number> {
    const [row] = await this.#query(READING, 'SELECT version FROM skillsyncd.reach_version')
    return Number(row?.['version'] ?? 0)
  }

  /** Adds rows. What was seen later wins, and what was reported later of those below, each by itself. */
  async add(rows: readonly UnsharedRow[]): Promise<void> {
    const given = rows.map((row, index) => ({ ...row, key: hash('sha256', keyOfFollower(row)), number: index + 1 }))
    await this.#query(WRITING, ADD, [JSON.stringify(given), given.length])
  }

  /** Adds the sizes of logs. The smaller one counts: each process knows when it saw a recall, which can be later. */
  async addPublished(published: readonly PublishedAt[]): Promise<void> {
    const given = published.map((one, index) => ({ ...one, channel: one.channel ?? '', number: index + 1 }))
    await this.#query(WRITING, ADD_PUBLISHED, [JSON.stringify(given), given.length])
  }

  /** Yields the rows of versions after one and up to another, oldest first, in pages. */
  async *rowsBetween(after: number, upTo: number): AsyncGenerator<readonly FollowerRow[]> {
    for await (const page of this.#pages(ROWS, after, upTo)) yield page.flatMap(rowIn)
  }

  /** Yields the sizes of logs of these versions. */
  async *publishedBetween(after: number, upTo: number): AsyncGenerator<readonly PublishedAt[]> {
    for await (const page of this.#pages(PUBLISHED, after, upTo))
      yield page.map(({ recall, channel, size }) => ({
        recall: String(recall),
        channel: channel === '' ? undefined : String(channel),
        size: Number(size),
      }))
  }

  /** Removes what is beyond the limits that each process has, oldest first. */
  async prune(principals: Iterable<string>, mostPublished: number): Promise<void> {
    for (const principal of principals) {
      await this.#query(PRUNING, PRUNE_ROWS, [principal, MOST_FOLLOWERS])
      await this.#query(PRUNING, PRUNE_COUNTS, [principal, MOST_COUNTS])
    }
    await this.#query(PRUNING, PRUNE_ALL, [MOST_ROWS])
    await this.#query(PRUNING, PRUNE_PUBLISHED, [mostPublished])
  }

  async *#pages(text: string, after: number, upTo: number): AsyncGenerator<readonly QueryResultRow[]> {
    for (let from = after; ;) {
      const rows = await this.#query(READING, text, [from, upTo, AT_ONCE])
      if (rows.length > 0) yield rows
      if (rows.length < AT_ONCE) return
      from = Number(rows.at(-1)?.['version'])
    }
  }

  async #query(
    ...[attempt, text, values]: Parameters<PostgresDatabase['query']>
  ): ReturnType<PostgresDatabase['query']> {
    await this.#store.open()
    return this.#store.database.query(attempt, text, values)
  }
}

const READING = 'read the followers of the hub'
const WRITING = 'share the followers of this process'
const PRUNING = 'remove the oldest followers'

/** The rows of one query. Some have a hundred kilobytes of counts. */
const AT_ONCE = 500

/** The row of the version is locked until the end of the statement: a version is visible only with all before it. */
const COUNTED = `
  WITH counted AS (
    UPDATE skillsyncd.reach_version SET version = version + $2 RETURNING version - $2 AS base)`

const ADD = `${COUNTED}
  INSERT INTO skillsyncd.follower AS kept (key, channel, principal, follower, size, seen, below, reported, version)
  SELECT decode(key, 'hex'), channel, principal, follower, size,
    statement_timestamp() - age * interval '1 ms', coalesce(below, '[]'),
    coalesce(statement_timestamp() - "belowAge" * interval '1 ms', '-infinity'), base + number
  FROM counted, jsonb_to_recordset($1::jsonb) AS given (
    key text, channel text, principal text, follower text, size bigint, age float8, below jsonb, "belowAge" float8, number int)
  ON CONFLICT (key) DO UPDATE SET
    size = CASE WHEN excluded.seen >= kept.seen THEN excluded.size ELSE kept.size END,
    seen = greatest(excluded.seen, kept.seen),
    below = CASE WHEN excluded.reported > kept.reported THEN excluded.below ELSE kept.below END,
    reported = greatest(excluded.reported, kept.reported),
    version = excluded.version`

const ADD_PUBLISHED = `${COUNTED}
  INSERT INTO skillsyncd.recall_published AS kept (recall, channel, size, version)
  SELECT recall, channel, size, base + number
  FROM counted, jsonb_to_recordset($1::jsonb) AS given (recall text, channel text, size bigint, number int)
  ON CONFLICT (recall, channel) DO UPDATE SET size = least(kept.size, excluded.size), version = excluded.version`

const ROWS = `
  SELECT channel, principal, follower, size, seen, below, version FROM skillsyncd.follower
  WHERE version > $1 AND version <= $2 ORDER BY version LIMIT $3`

const PUBLISHED = `
  SELECT recall, channel, size, version FROM skillsyncd.recall_published
  WHERE version > $1 AND version <= $2 ORDER BY version LIMIT $3`

/** A row that has a later version by now was seen again meanwhile, and stays. */
const PRUNE_ROWS = `
  DELETE FROM skillsyncd.follower AS kept
  USING (
    SELECT key, version FROM skillsyncd.follower WHERE principal = $1 ORDER BY seen DESC, key OFFSET $2) AS old
  WHERE kept.key = old.key AND kept.version = old.version`

const PRUNE_COUNTS = `
  UPDATE skillsyncd.follower AS kept SET below = '[]'
  FROM (
    SELECT key, version, sum(jsonb_array_length(below)) OVER (ORDER BY seen DESC, key) AS counts
    FROM skillsyncd.follower WHERE principal = $1) AS old
  WHERE old.counts > $2 AND kept.below <> '[]' AND kept.key = old.key AND kept.version = old.version`

const PRUNE_ALL = `
  DELETE FROM skillsyncd.follower AS kept
  USING (SELECT key, version FROM skillsyncd.follower ORDER BY seen DESC, key OFFSET $1) AS old
  WHERE kept.key = old.key AND kept.version = old.version`

const PRUNE_PUBLISHED = `
  DELETE FROM skillsyncd.recall_published WHERE version IN (
    SELECT version FROM skillsyncd.recall_published ORDER BY version DESC OFFSET $1)`

const COUNT = z.number()
const BELOW = z.array(z.object({ recall: z.string(), obeyed: COUNT, behind: COUNT, unreachable: COUNT }))

/** A row that was changed by hand is as none. */
function rowIn({ channel, principal, follower, size, seen, below }: QueryResultRow): FollowerRow[] {
  const counts = BELOW.safeParse(below).data
  if (counts === undefined) return []
  return [
    {
      channel: typeof channel === 'string' ? channel : undefined,
      principal: String(principal),
      follower: String(follower),
      size: Number(size),
      seen: timeIn(seen).toISOString(),
      below: counts,
    },
  ]
}
