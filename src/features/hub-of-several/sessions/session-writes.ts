import type { Clock } from '../../../base/async/clock.ts'
import { resultWithin } from '../../../base/async/wait-at-most.ts'
import type { Log } from '../../../base/log.ts'
import type { NotifiedCatalog } from '../../../serve/mcp/transports/session-store.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { changeAfter, changeOf } from './session-change.ts'
import type { OneSessionRecord, SessionChange } from './session-change.ts'

type Write = (changes: readonly SessionChange[], told: NotifiedCatalog | undefined) => Promise<void>

interface Batch {
  readonly changes: Map<string, SessionChange>
  told: NotifiedCatalog | undefined
  /** Resolves when the batch is written, or is known not to get there yet. */
  readonly done: PromiseWithResolvers<void>
}

/**
 * The changes of sessions that are not written yet. They are written in batches: while one is written, the next one
 * collects. A batch that fails is joined with the next, so that what waits is at most one change for each session.
 */
export class SessionWrites {
  readonly #write: Write
  readonly #clock: Pick<Clock, 'monotonicMs' | 'wait'>
  readonly #log: Log
  #next = emptyBatch()
  #writing: Batch | undefined
  #isRunning = false
  /** True if the write that runs has taken too long. */
  #isLate = false
  #failedAt: number | undefined

  constructor(
    write: Write,
    { clock, log }: { readonly clock: Pick<Clock, 'monotonicMs' | 'wait'>; readonly log: Log },
  ) {
    this.#write = write
    this.#clock = clock
    this.#log = log
  }

  /** True if something is left to write because the last write failed, or is not answered. */
  get isAway(): boolean {
    return this.#isLate || (this.#failedAt !== undefined && (this.#isRunning || !isEmptyBatch(this.#next)))
  }

  isPending(key: string): boolean {
    return this.#next.changes.has(key) || this.#writing?.changes.has(key) === true
  }

  /**
   * Resolves when the record is written, or is known not to get there yet: after a second at most. `isOwn`: the session belongs to this process,
   * so that its end is none if another has taken it meanwhile.
   */
  async add(record: OneSessionRecord, isOwn: boolean): Promise<void> {
    const change = changeOf(record)
    put(this.#next.changes, isOwn && change.ends !== undefined ? { ...change, ends: 'here' } : change)
    return this.#soon()
  }

  /** Writes the mark of all sessions of this process, after the changes so far. */
  async tell(mark: NotifiedCatalog): Promise<void> {
    this.#next.told = mark
    return this.#soon()
  }

  /** Writes what was added so far, even if the last write has just failed. */
  async flush(): Promise<void> {
    if (isEmptyBatch(this.#next)) return this.#writing?.done.promise
    const { promise } = this.#next.done
    if (!this.#isRunning) void this.#run()
    return promise
  }

  /** Tries a database that is away again, in the background, unless the last attempt has just failed. */
  retry(): void {
    if (this.#failedAt !== undefined && this.#clock.monotonicMs() - this.#failedAt >= RETRY_MS) void this.flush()
  }

  /** No request waits long for the database, and none for one that is away. */
  async #soon(): Promise<void> {
    if (this.isAway) return this.retry()
    const written = this.flush().then(() => true)
    if ((await resultWithin(WRITTEN_MS, written, this.#clock)) === undefined) this.#isLate = this.#isRunning
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // The records of one turn of the event loop share a batch.
    await Promise.resolve()
    while (!isEmptyBatch(this.#next)) {
      this.#writing = this.#next
      this.#next = emptyBatch()
      const failure = await this.#writeBatch(this.#writing)
      this.#isLate = false
      const written = this.#writing
      this.#writing = undefined
      if (failure === undefined) written.done.resolve()
      else {
        this.#putBack(written)
        break
      }
    }
    this.#isRunning = false
  }

  async #writeBatch({ changes, told }: Batch): Promise<SyncError | undefined> {
    try {
      const all = [...changes.values()]
      for (let from = 0; from < all.length || from === 0; from += AT_ONCE)
        await this.#write(all.slice(from, from + AT_ONCE), from + AT_ONCE < all.length ? undefined : told)
      this.#failedAt = undefined
      this.#log.recovery('sessions-not-kept', '')
      return undefined
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#failedAt = this.#clock.monotonicMs()
      this.#log.failure('warn', 'sessions-not-kept', { source: '', code: error.code, message: error.message })
      return error
    }
  }

  #putBack(failed: Batch): void {
    const joined = emptyBatch()
    for (const change of [...failed.changes.values(), ...this.#next.changes.values()]) put(joined.changes, change)
    joined.told = this.#next.told ?? failed.told
    const waiting = this.#next
    this.#next = joined
    for (const { done } of [failed, waiting]) done.resolve()
  }
}

/** A session that ends before it is written leaves nothing. */
function put(changes: Map<string, SessionChange>, change: SessionChange): void {
  const before = changes.get(change.key)
  if (before?.opened !== undefined && change.ends !== undefined) changes.delete(change.key)
  else changes.set(change.key, changeAfter(before, change))
}

function emptyBatch(): Batch {
  return { changes: new Map(), told: undefined, done: Promise.withResolvers<void>() }
}

function isEmptyBatch({ changes, told }: Batch): boolean {
  return changes.size === 0 && told === undefined
}

/** A request waits so long for its write. */
const WRITTEN_MS = 1_000

/** A database that is away is tried again after so long, if a record comes. */
const RETRY_MS = 1_000

/** The sessions of one transaction. */
const AT_ONCE = 1_000
