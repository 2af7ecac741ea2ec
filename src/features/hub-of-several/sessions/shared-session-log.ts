import type { Clock } from '../../../base/async/clock.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { resultWithin } from '../../../base/async/wait-at-most.ts'
import type { Log } from '../../../base/log.ts'
import { catalogOfMark } from '../../../serve/mcp/transports/session-journal.ts'
import type {
  FoundSession,
  KeptSession,
  NotifiedCatalog,
  SessionLimits,
  SessionLog,
  SessionRecord,
  SessionsElsewhere,
  SessionsHere,
} from '../../../serve/mcp/transports/session-store.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { LifecycleRules } from '../../../sync/catalog/operator-lifecycle.ts'
import { unlessSyncError } from '../../../sync/model/sync-error.ts'
import type { SharedStore } from '../../../sync/postgres/shared-store.ts'
import type { PastStore } from '../../../sync/pull/generation-catalog.ts'
import { GenerationStore } from '../../../sync/store/generation-store.ts'
import { SnapshotStore } from '../../../sync/store/snapshot-store.ts'
import type { Store } from '../../../sync/store/store.ts'
import { SessionLookups } from './session-lookups.ts'
import { SessionRows } from './session-rows.ts'
import { SessionWrites } from './session-writes.ts'

interface Parts {
  readonly store: Store
  readonly shared: SharedStore
  readonly clock: Clock
  readonly log: Log
  /** An owner has so long to release a session that another process asks for, in milliseconds. */
  readonly handoverMs?: number
}

interface Taking {
  /** Resolves when the owner has left the session. */
  readonly left: PromiseWithResolvers<void>
  readonly done: Promise<void>
}

/**
 * The sessions of clients in the database that the processes of a hub share. While it is away, sessions live in memory,
 * and are written when it is back. `SessionsElsewhere` has the rule by which processes share them.
 */
export class SharedSessionLog implements SessionLog, SessionsElsewhere, AsyncDisposable {
  readonly elsewhere = this
  readonly #parts: Parts
  readonly #rows: SessionRows
  readonly #writes: SessionWrites
  readonly #lookups: SessionLookups
  /** The keys of the sessions that belong to this process, as far as it knows. */
  readonly #own = new Set<string>()
  /** The sessions that are about to belong to this process. */
  readonly #taking = new Map<string, Taking>()
  /** Sessions whose rows must be read again. */
  readonly #unread = new Set<string>()
  /**
   * The sessions that were taken, and those whose subscriptions changed, while rows are read, which may be older.
   * `undefined` while none are read.
   */
  #changed: Set<string> | undefined
  readonly #refreshing = new SerialQueue()
  #here: SessionsHere | undefined
  #told: NotifiedCatalog | undefined
  /** True if news may have been lost: the rows of all own sessions are read again. */
  #isUnsure = false
  #isOver = false
  #lifecycles: () => LifecycleRules = () => new Map()

  constructor(parts: Parts) {
    this.#parts = parts
    const { shared, clock, log } = parts
    this.#rows = new SessionRows(shared.database, shared.id)
    this.#writes = new SessionWrites(
      async (changes, told) => {
        await shared.open()
        await this.#rows.write(changes, told)
      },
      { clock, log },
    )
    this.#lookups = new SessionLookups(async (keys) => {
      await shared.open()
      return this.#rows.find(keys)
    }, clock)
  }

  attach(here: SessionsHere): void {
    this.#here = here
  }

  /** A new process has no sessions: it takes over each one whose client comes to it. */
  async load(all: () => Iterable<SessionRecord>): Promise<readonly KeptSession[]> {
    for (const record of all()) void this.append(record)
    return []
  }

  async append(record: SessionRecord): Promise<void> {
    if (record.kind === 'told') {
      this.#told = record.mark
      return this.#writes.tell(record.mark)
    }
    const { key, kind } = record
    if (kind === 'subscribed' || kind === 'unsubscribed') this.#changed?.add(key)
    if (kind === 'opened') this.#own.add(key)
    const isOwn = kind === 'ended' && this.#own.delete(key)
    return this.#writes.add(record, isOwn)
  }

  /** Follows the statements of the operator about skills over reloads. */
  followLifecycles(lifecycles: () => LifecycleRules): void {
    this.#lifecycles = lifecycles
  }

  /** The store of this process has the newest generations; the shared one has older ones, unless it is away. */
  async catalogOf(mark: NotifiedCatalog, ring?: string): Promise<Catalog | undefined> {
    const { store, shared } = this.#parts
    const lifecycles = this.#lifecycles()
    const own = await catalogOfMark(store, mark, ring, lifecycles)
    if (own !== undefined) return own
    try {
      return await catalogOfMark(await sharedPast(store, shared), mark, ring, lifecycles)
    } catch (error) {
      unlessSyncError(error)
      return undefined
    }
  }

  async find(key: string): Promise<FoundSession | 'unknown' | undefined> {
    if (this.#writes.isAway) {
      this.#writes.retry()
      return 'unknown'
    }
    try {
      return await this.#lookups.find(key)
    } catch (error) {
      unlessSyncError(error)
      return 'unknown'
    }
  }

  /** Two requests for one stream take the session once. If that takes long, it goes on, and the client comes back. */
  async take(key: string, add: (session: KeptSession) => void): Promise<boolean> {
    const taking = this.#taking.get(key) ?? this.#beginTaking(key, add)
    try {
      const done = taking.done.then(() => true)
      return (await resultWithin(TAKE_MS, done, this.#parts.clock)) === true
    } catch (error) {
      unlessSyncError(error)
      return false
    }
  }

  #beginTaking(key: string, add: (session: KeptSession) => void): Taking {
    const left = Promise.withResolvers<void>()
    const done = this.#take(key, add, left.promise).finally(() => this.#taking.delete(key))
    const taking = { left, done }
    this.#taking.set(key, taking)
    return taking
  }

  async #take(key: string, add: (session: KeptSession) => void, left: Promise<void>): Promise<void> {
    const { clock, handoverMs = HANDOVER_MS } = this.#parts
    await this.#writes.flush()
    if (await this.#rows.want(key)) await resultWithin(handoverMs, left, clock)
    const kept = await this.#rows.take(key)
    if (kept === undefined) return
    this.#own.add(key)
    this.#changed?.add(key)
    add(kept)
  }

  async removeIdle(limits: SessionLimits): Promise<void> {
    // The next minute, or another process, removes what this one cannot.
    await this.#rows.removeIdle(limits).catch(unlessSyncError)
  }

  /**
   * Writes what is left to write, and applies what other processes did with the sessions of this one. Call it on each
   * announced change before a new catalog is served, and each second or so: a process that does not call it for fifteen
   * seconds counts as dead for the others.
   */
  async refresh(): Promise<void> {
    if (this.#isOver) return
    return this.#refreshing.next(async () => {
      try {
        await this.#refresh()
      } catch (error) {
        this.#isUnsure = true
        unlessSyncError(error)
      }
    })
  }

  async #refresh(): Promise<void> {
    await this.#parts.shared.open()
    await this.#writes.flush()
    if (this.#writes.isAway) return
    const { news, isLate } = await this.#rows.news()
    this.#lookups.retry()
    const isUnsure = this.#isUnsure || isLate
    for (const one of news) {
      if (one.kind === 'subscribed') this.#here?.subscribed(one.key, one)
      else if (one.kind === 'unsubscribed') this.#here?.unsubscribed(one.key, one.asked)
      else this.#unread.add(one.key)
    }
    if (isUnsure) for (const key of this.#own) this.#unread.add(key)
    this.#isUnsure = false
    await this.#readRows(isUnsure)
    // Others may have removed the row of this process.
    if (isLate && this.#told !== undefined) void this.#writes.tell(this.#told)
  }

  async #readRows(isUnsure: boolean): Promise<void> {
    const keys = [...this.#unread]
    for (let from = 0; from < keys.length; from += AT_ONCE) {
      const changed = new Set<string>()
      this.#changed = changed
      const some = keys.slice(from, from + AT_ONCE)
      const settled = some.filter((key) => !this.#writes.isPending(key))
      if (isUnsure && settled.length < some.length) this.#isUnsure = true
      await this.#readSome(settled, changed)
      if (isUnsure) await this.#readSubscriptions(settled, changed)
    }
    this.#changed = undefined
  }

  async #readSubscriptions(keys: readonly string[], changed: ReadonlySet<string>): Promise<void> {
    const own = keys.filter((key) => this.#own.has(key))
    if (own.length === 0) return
    for (const [key, subscriptions] of await this.#rows.subscriptionsOf(own)) {
      if (changed.has(key)) this.#isUnsure = true
      else this.#here?.adopt(key, subscriptions)
    }
  }

  async #readSome(keys: readonly string[], changed: ReadonlySet<string>): Promise<void> {
    const { id } = this.#parts.shared
    const rows = new Map((await this.#rows.rowsOf(keys)).map((row) => [row.key, row]))
    const wanted: string[] = []
    for (const key of keys) {
      const row = rows.get(key)
      const taking = this.#taking.get(key)
      if (row?.replica === id) taking?.left.resolve()
      // Its row is read again by the next refresh.
      if (taking !== undefined || changed.has(key)) continue
      this.#unread.delete(key)
      if (row?.replica !== id) this.#release(key)
      else if (row.wanted !== undefined && row.wanted !== id) wanted.push(key)
      else this.#here?.used(key)
    }
    if (wanted.length > 0) await this.#yield(wanted)
  }

  /** Writes the last catalog that each client was notified of, before another process notifies it. */
  async #yield(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#release(key)
    await this.#writes.flush()
    await this.#rows.yield(keys)
  }

  #release(key: string): void {
    this.#own.delete(key)
    this.#here?.release(key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#refreshing.idle()
    await this.#writes.flush()
    if (!this.#writes.isAway) await this.#rows.leave().catch(unlessSyncError)
  }
}

const HANDOVER_MS = 1_000

/** A request for a stream waits so long for its session: for the handover, and for the database. */
const TAKE_MS = 3_000

/** The rows of one statement. */
const AT_ONCE = 1_000

/** The shared generations, with the decisions that this process knows. */
async function sharedPast({ folder, decisions }: Store, shared: SharedStore): Promise<PastStore> {
  const objects = await shared.open()
  const snapshots = new SnapshotStore(objects)
  return { generations: new GenerationStore(folder, objects, snapshots), snapshots, decisions }
}
