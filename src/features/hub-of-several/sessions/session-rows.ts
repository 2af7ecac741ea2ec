import { hash } from 'node:crypto'
import type { PoolClient, QueryResultRow } from 'pg'
import { parseJson } from '../../../base/json-value.ts'
import { markIn } from '../../../serve/mcp/transports/session-line.ts'
import { NOTHING_TOLD } from '../../../serve/mcp/transports/session-store.ts'
import type {
  ForeignSubscription,
  FoundSession,
  KeptSession,
  NotifiedCatalog,
  SessionLimits,
} from '../../../serve/mcp/transports/session-store.ts'
import { notify } from '../../../sync/postgres/notify.ts'
import type { PostgresDatabase } from '../../../sync/postgres/postgres-database.ts'
import { markIdOf } from './session-change.ts'
import type { Opening, SessionChange } from './session-change.ts'
import {
  ADD_SUBSCRIPTIONS,
  ANNOUNCE_NEWS,
  ANNOUNCE_ROWS,
  CHANGE_SESSIONS,
  END_SESSIONS,
  FIND_SESSIONS,
  MARK_REPLICA,
  OPEN_SESSIONS,
  OWNER_OF_SESSION,
  PUT_MARK,
  READ_SUBSCRIPTIONS,
  REMOVE_IDLE_SESSIONS,
  REMOVE_LEFT_SESSIONS,
  REMOVE_SUBSCRIPTIONS,
  REMOVE_UNUSED_ROWS,
  SEE_REPLICA,
  TAKE_NEWS,
  TAKE_SESSION,
  YIELD_SESSIONS,
} from './session-statements.ts'

/** A change of a session of this process, by another one. */
export type SessionNews =
  | ({ readonly kind: 'subscribed'; readonly key: string } & ForeignSubscription)
  | { readonly kind: 'unsubscribed'; readonly key: string; readonly asked: string }
  /** The row of the session changed. */
  | { readonly kind: 'row'; readonly key: string }

/** The row of a session, as its owner needs it. */
export interface SessionRow {
  readonly key: string
  readonly replica: string
  /** The process that asks for the session. */
  readonly wanted: string | undefined
}

/** The rows of sessions in the database. Each method is one transaction, or one statement. */
export class SessionRows {
  readonly #database: PostgresDatabase
  readonly #replica: string

  /** `replica`: the id of this process. */
  constructor(database: PostgresDatabase, replica: string) {
    this.#database = database
    this.#replica = replica
  }

  /** Writes the changes, then the mark of all sessions of this process. Owners are notified of what is theirs. */
  async write(changes: readonly SessionChange[], told: NotifiedCatalog | undefined): Promise<void> {
    await this.#database.transact('store sessions', async (client) => {
      await putMarks(client, [...changes.map((change) => change.told?.mark), told])
      const owners = await this.#lock(client, changes)
      await this.#open(client, changes, owners)
      await this.#change(client, changes, owners)
      const isOwn = ({ key }: SessionChange): boolean => owners.get(key) === this.#replica
      // Before the sessions end, because their rows name the owners.
      await this.#announce(
        client,
        changes.filter((change) => owners.has(change.key) && !isOwn(change)),
      )
      const ended = changes.filter(
        (change) => change.ends === 'everywhere' || (change.ends === 'here' && isOwn(change)),
      )
      if (ended.length > 0) await client.query(END_SESSIONS, [ended.map(({ key }) => key)])
      if (told !== undefined) await client.query(MARK_REPLICA, [this.#replica, markIdOf(told)])
    })
  }

  /** Locks the rows in one order, so that two processes never wait for each other. */
  async #lock(client: PoolClient, changes: readonly SessionChange[]): Promise<Map<string, string>> {
    const text = 'SELECT key, replica FROM skillsyncd.session WHERE key = ANY($1) ORDER BY key FOR UPDATE'
    const { rows } = await client.query(text, [changes.map(({ key }) => key)])
    return new Map(rows.map(({ key, replica }) => [String(key), String(replica)]))
  }

  async #open(client: PoolClient, changes: readonly SessionChange[], owners: Map<string, string>): Promise<void> {
    const opened = changes.flatMap(({ key, opened: opening, idleMs: idle }) => {
      if (opening === undefined || owners.has(key)) return []
      owners.set(key, this.#replica)
      return [{ key, idle, ...storedOpening(opening) }]
    })
    if (opened.length > 0) await client.query(OPEN_SESSIONS, [JSON.stringify(opened), this.#replica])
  }

  async #change(client: PoolClient, all: readonly SessionChange[], owners: Map<string, string>): Promise<void> {
    const changes = all.filter(({ key }) => owners.has(key))
    const rows = changes.flatMap(({ key, idleMs: idle, told }) => {
      if (idle === undefined && told === undefined) return []
      return [{ key, idle, has_mark: told !== undefined, mark: told?.mark && markIdOf(told.mark) }]
    })
    if (rows.length > 0) await client.query(CHANGE_SESSIONS, [JSON.stringify(rows), this.#replica])
    const subscriptions = changes.flatMap((change) => subscriptionsIn(change))
    const begun = subscriptions.filter(({ canonical }) => canonical !== undefined)
    const over = subscriptions.filter(({ canonical }) => canonical === undefined)
    if (over.length > 0) await client.query(REMOVE_SUBSCRIPTIONS, [JSON.stringify(over)])
    if (begun.length > 0) await client.query(ADD_SUBSCRIPTIONS, [JSON.stringify(begun)])
  }

  async #announce(client: PoolClient, changes: readonly SessionChange[]): Promise<void> {
    const news = changes.flatMap((change): readonly { readonly key: string }[] => {
      const { key, idleMs, ends } = change
      const subscriptions = subscriptionsIn(change)
      return idleMs === undefined && ends === undefined ? subscriptions : [...subscriptions, { key }]
    })
    if (news.length === 0) return
    await client.query(ANNOUNCE_NEWS, [JSON.stringify(news)])
    await notify(client)
  }

  async find(keys: readonly string[]): Promise<ReadonlyMap<string, FoundSession>> {
    const rows = await this.#database.query('find sessions', FIND_SESSIONS, [keys], FIND_MS)
    return new Map(
      rows.map((row) => [String(row['key']), { ...sessionIn(row), subscribed: Number(row['subscribed']) }]),
    )
  }

  /** Asks the owner for the session. Returns true if there is one that lives, as far as the database knows. */
  async want(key: string): Promise<boolean> {
    return this.#database.transact('ask for a session', async (client) => {
      const { rows } = await client.query(OWNER_OF_SESSION, [key])
      const [row] = rows
      if (row === undefined || row['replica'] === this.#replica || row['is_alive'] !== true) return false
      await client.query('UPDATE skillsyncd.session SET wanted = $2 WHERE key = $1', [key, this.#replica])
      await client.query(ANNOUNCE_ROWS, [row['replica'], [key]])
      await notify(client)
      return true
    })
  }

  /** Makes this process the owner. `undefined` if the session is gone. */
  async take(key: string): Promise<KeptSession | undefined> {
    return this.#database.transact('take over a session', async (client) => {
      const [owner] = (await client.query(OWNER_OF_SESSION, [key])).rows
      if (owner === undefined) return undefined
      const [row] = (await client.query(TAKE_SESSION, [key, this.#replica])).rows
      if (row === undefined) return undefined
      if (owner['replica'] !== this.#replica) {
        await client.query(ANNOUNCE_ROWS, [owner['replica'], [key]])
        await notify(client)
      }
      const { rows } = await client.query(READ_SUBSCRIPTIONS, [[key]])
      const told = (typeof row['mark'] === 'string' ? markIn(row['mark']) : undefined) ?? NOTHING_TOLD
      return { ...sessionIn(row), subscriptions: new Map(rows.map(pairIn)), told }
    })
  }

  /** Leaves the sessions to the processes that asked for them. */
  async yield(keys: readonly string[]): Promise<void> {
    await this.#database.transact('leave sessions', async (client) => {
      await client.query(YIELD_SESSIONS, [keys, this.#replica])
      await notify(client)
    })
  }

  /**
   * Takes what other processes announced to this one. `isLate`: so much time has passed since the last call that the
   * others may have taken this process for dead, and announced nothing.
   */
  async news(): Promise<{ readonly news: readonly SessionNews[]; readonly isLate: boolean }> {
    return this.#database.transact('read what changed in sessions', async (client) => {
      const { rows: seen } = await client.query(SEE_REPLICA, [this.#replica])
      const { rows } = await client.query(TAKE_NEWS, [this.#replica])
      const news = rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])).map(newsIn)
      return { news, isLate: seen[0]?.['is_late'] === true }
    })
  }

  async rowsOf(keys: readonly string[]): Promise<readonly SessionRow[]> {
    const text = 'SELECT key, replica, wanted FROM skillsyncd.session WHERE key = ANY($1)'
    return (await this.#database.query('read sessions', text, [keys])).map(({ key, replica, wanted }) => ({
      key: String(key),
      replica: String(replica),
      wanted: typeof wanted === 'string' ? wanted : undefined,
    }))
  }

  async subscriptionsOf(keys: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const found = new Map<string, Map<string, string>>(keys.map((key) => [key, new Map()]))
    const rows = await this.#database.query('read subscriptions', READ_SUBSCRIPTIONS, [keys])
    for (const row of rows) found.get(String(row['key']))?.set(...pairIn(row))
    return found
  }

  /**
   * Removes sessions that are certainly idle for longer, those of dead processes that are more than one process may have,
   * and what no session needs any more.
   */
  async removeIdle({ idleMs, sessions }: SessionLimits): Promise<void> {
    const attempt = 'remove idle sessions'
    await this.#removeAll(attempt, REMOVE_IDLE_SESSIONS, idleMs * 1.2 + LATE_MS)
    await this.#removeAll(attempt, REMOVE_LEFT_SESSIONS, sessions)
    for (const text of REMOVE_UNUSED_ROWS) await this.#database.query(attempt, text)
  }

  async #removeAll(attempt: string, text: string, limit: number): Promise<void> {
    for (let removed = AT_ONCE; removed === AT_ONCE;)
      removed = (await this.#database.query(attempt, text, [limit, AT_ONCE])).length
  }

  /** Tells the others that this process ends, so that none waits for it. */
  async leave(): Promise<void> {
    const text = "UPDATE skillsyncd.session_replica SET seen = '-infinity' WHERE replica = $1"
    await this.#database.query('leave the sessions', text, [this.#replica])
  }
}

/** The long form of a mark replaces the short one of the same catalog. */
async function putMarks(client: PoolClient, marks: readonly (NotifiedCatalog | undefined)[]): Promise<void> {
  const byId = new Map<string, NotifiedCatalog>()
  for (const mark of marks) {
    if (mark === undefined) continue
    const id = markIdOf(mark)
    if (byId.get(id)?.sources === undefined) byId.set(id, mark)
  }
  const sorted = [...byId].toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [id, mark] of sorted) await client.query(PUT_MARK, [id, JSON.stringify(mark), mark.sources !== undefined])
}

function storedOpening({ principal, address, view, revision }: Opening): object {
  return {
    ...(principal !== undefined && { principal: storedOf(principal) }),
    ...(address !== undefined && { address: storedOf(address) }),
    ...(view !== undefined && { view: storedOf(view) }),
    ...(revision !== undefined && { revision: storedOf(revision) }),
  }
}

interface StoredSubscription {
  readonly key: string
  readonly digest: string
  readonly requested: string
  readonly canonical: string | undefined
  readonly generation: number | undefined
}

function subscriptionsIn({ key, subscriptions }: SessionChange): readonly StoredSubscription[] {
  return [...(subscriptions ?? [])].map(([asked, begun]) => ({
    key,
    digest: hash('sha256', asked, 'hex'),
    requested: storedOf(asked),
    canonical: begun && storedOf(begun.canonical),
    generation: begun?.generation,
  }))
}

/** The database takes no NUL and no half of a surrogate pair in a text. As an escaped string of JSON it has neither. */
function storedOf(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function textIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = parseJson(`"${value}"`)
  return typeof text === 'string' ? text : undefined
}

function pairIn({ requested, canonical }: QueryResultRow): [string, string] {
  return [textIn(requested) ?? '', textIn(canonical) ?? '']
}

function newsIn({ key: value, requested, canonical: of, generation }: QueryResultRow): SessionNews {
  const key = String(value)
  const [asked, canonical] = [textIn(requested), textIn(of)]
  if (asked === undefined) return { kind: 'row', key }
  if (canonical === undefined) return { kind: 'unsubscribed', key, asked }
  return {
    kind: 'subscribed',
    key,
    asked,
    canonical,
    generation: generation === null ? undefined : Number(generation),
  }
}

function sessionIn(row: QueryResultRow): Omit<KeptSession, 'subscriptions' | 'told'> {
  const principalId = textIn(row['principal'])
  const address = textIn(row['address'])
  const view = textIn(row['view'])
  const revision = textIn(row['revision'])
  return {
    key: String(row['key']),
    idleMs: Math.max(0, Number(row['idle'])),
    ...(principalId !== undefined && { principalId }),
    ...(address !== undefined && { address }),
    ...(view !== undefined && { view }),
    ...(revision !== undefined && { revision }),
  }
}

/** A lookup that takes longer is not waited for by any request; the next one has another connection. */
const FIND_MS = 1_500

/** The use of a session is written so late: after a tenth of the idle time, and at the next sweep of its owner. */
const LATE_MS = 180_000

/** The most rows of one statement that removes. */
const AT_ONCE = 1_000
