import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { Reaction } from '../../../daemon/runtime/reaction.ts'
import { SyncError, unlessSyncError } from '../../../sync/model/sync-error.ts'
import type { FollowerRow } from './follower-rows.ts'
import { keyOfFollower } from './follower-rows.ts'
import { keyOfPublished } from './shared-reach.ts'
import type { PublishedAt, SharedReach, UnsharedRow } from './shared-reach.ts'

/** The followers that this process knows, of all processes of its hub. */
export interface KnownReach {
  /** The followers by their keys. */
  readonly rows: { entries(): Iterable<[string, FollowerRow]>; get(key: string): FollowerRow | undefined }
  published(): Iterable<PublishedAt>
  /** Takes followers as other processes have seen them. */
  take(rows: readonly FollowerRow[]): void
  takePublished(published: readonly PublishedAt[]): void
  /** Called after what was new in the database was taken. */
  onTaken(): void
}

/**
 * Shares the followers of this process with the other processes of its hub, and takes theirs, each second. While nothing
 * changes, that is one short query. While the database is away, what it lacks is kept.
 */
export class ReachSharing implements AsyncDisposable {
  readonly #shared: SharedReach
  readonly #known: KnownReach
  readonly #parts: Pick<DaemonContext, 'clock' | 'log'>
  #reaction: Reaction | undefined
  /** The followers that the database lacks, with the time of a new report of those below. */
  readonly #rows = new Map<string, string | undefined>()
  readonly #published = new Map<string, PublishedAt>()
  /** The principals that have more followers than are kept. */
  readonly #crowded = new Set<string>()
  /** True if this process has added recalls since it pruned. */
  #hasNewPublished = false
  /** The monotonic time at which it pruned last. */
  #prunedMs = -Infinity
  /** The monotonic time from which what the database lacks is sent. */
  #dueMs = Infinity
  /** The version of the database that was taken; `undefined` before the first one. */
  #version: number | undefined
  #isWhole = false

  constructor(shared: SharedReach, known: KnownReach, parts: Pick<DaemonContext, 'clock' | 'log'>) {
    this.#shared = shared
    this.#known = known
    this.#parts = parts
  }

  /** True if the last exchange has succeeded: the followers of all processes are known. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  isUnshared(key: string): boolean {
    return this.#rows.has(key)
  }

  /** Begins the exchanges, once `loaded` resolves. It rejects only with an error that ends the process. */
  start(loaded: Promise<void>): void {
    if (this.#reaction?.signal.aborted === false) return
    const run = async (): Promise<void> => loaded.then(async () => this.#tried())
    this.#reaction = new Reaction({ clock: this.#parts.clock, run, againMs: () => LOOK_MS })
    this.#reaction.start(0)
  }

  /** Notes a change of a follower. One that only was seen again can wait. `reported`: the time of a report of those below. */
  note(key: string, { isNews, reported }: { readonly isNews: boolean; readonly reported: string | undefined }): void {
    this.#rows.set(key, reported ?? this.#rows.get(key))
    this.#send(isNews ? 0 : SEEN_AGAIN_MS)
  }

  notePublished(published: PublishedAt): void {
    this.#published.set(keyOfPublished(published), published)
    const [oldest] = this.#published.keys()
    if (this.#published.size > MOST_PUBLISHED && oldest !== undefined) this.#published.delete(oldest)
    this.#send(0)
  }

  /** Notes that the principal has more followers than are kept. */
  noteCrowded(principal: string): void {
    this.#crowded.add(principal)
  }

  /** Shares what it has, and ends. It can be started again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction?.[Symbol.asyncDispose]()
    if (this.#isWhole && this.#rows.size + this.#published.size > 0) await this.#tried()
  }

  #send(withinMs: number): void {
    this.#dueMs = Math.min(this.#dueMs, this.#parts.clock.monotonicMs() + withinMs)
  }

  async #tried(): Promise<void> {
    try {
      await this.#exchange()
      this.#isWhole = true
      this.#parts.log.recovery(EVENT, '')
      await this.#pruneIfDue()
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#isWhole = false
      this.#parts.log.failure('warn', EVENT, { source: '', code: error.code, message: error.message })
    }
  }

  /** Writes what this process has seen, then reads: so what is read has the newest of each follower. */
  async #exchange(): Promise<void> {
    const isLast = this.#reaction?.signal.aborted === true
    if (isLast || this.#dueMs <= this.#parts.clock.monotonicMs()) await this.#write()
    const version = await this.#shared.version()
    if (version !== this.#version) await this.#read(version)
  }

  /** Keeps the limits in the database too, at most once a minute: each process does so, and a large fleet is always new. */
  async #pruneIfDue(): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs()
    const isDue = this.#crowded.size > 0 || this.#hasNewPublished
    if (!isDue || nowMs < this.#prunedMs + PRUNED_AFTER_MS) return
    this.#prunedMs = nowMs
    const crowded = [...this.#crowded]
    try {
      await this.#shared.prune(crowded, MOST_PUBLISHED)
      for (const principal of crowded) this.#crowded.delete(principal)
      this.#hasNewPublished = false
    } catch (error) {
      // Another process that prunes at the same time can be in the way. What is beyond a limit waits for the next time.
      unlessSyncError(error)
    }
  }

  async #write(): Promise<void> {
    this.#dueMs = Infinity
    try {
      while (this.#rows.size > 0) await this.#writeRows(this.#rows.entries().take(AT_ONCE).toArray())
      while (this.#published.size > 0) {
        const some = this.#published.entries().take(AT_ONCE).toArray()
        await this.#shared.addPublished(some.map(([, published]) => published))
        this.#hasNewPublished = true
        for (const [key] of some) this.#published.delete(key)
      }
    } catch (error) {
      this.#send(0)
      throw error
    }
  }

  async #writeRows(some: readonly (readonly [string, string | undefined])[]): Promise<void> {
    const rows = some.flatMap(([key, reported]) => this.#unsharedRow(key, reported) ?? [])
    // What is seen while it is written is written again.
    for (const [key] of some) this.#rows.delete(key)
    try {
      if (rows.length > 0) await this.#shared.add(rows)
    } catch (error) {
      for (const [key, reported] of some) this.#rows.set(key, this.#rows.get(key) ?? reported)
      throw error
    }
  }

  #unsharedRow(key: string, reported: string | undefined): UnsharedRow | undefined {
    const row = this.#known.rows.get(key)
    if (row === undefined) return undefined
    const { seen, below, ...rest } = row
    return { ...rest, age: this.#ageOf(seen), ...(reported && { below, belowAge: this.#ageOf(reported) }) }
  }

  #ageOf(time: string): number {
    return Math.max(0, this.#parts.clock.now().getTime() - Date.parse(time))
  }

  async #read(version: number): Promise<void> {
    // A database that was restored counts from an earlier version: all of it is read again, and gets what it lacks.
    const isFirst = this.#version === undefined || version < this.#version
    const after = isFirst ? 0 : (this.#version ?? 0)
    const lacking = isFirst ? new Lacking(this.#known) : undefined
    for await (const rows of this.#shared.rowsBetween(after, version)) {
      lacking?.found(rows)
      this.#known.take(rows.filter((row) => !this.#isNewerHere(row)))
    }
    for await (const published of this.#shared.publishedBetween(after, version)) {
      lacking?.foundPublished(published)
      this.#known.takePublished(published)
    }
    this.#version = version
    this.#known.onTaken()
    for (const [key, { seen }] of lacking?.rows ?? []) this.note(key, { isNews: true, reported: seen })
    for (const published of lacking?.published.values() ?? []) this.notePublished(published)
  }

  /** A follower was seen here since the last write: the next one decides. */
  #isNewerHere(row: FollowerRow): boolean {
    if (!this.isUnshared(keyOfFollower(row))) return false
    this.#send(0)
    return true
  }
}

/** The rows of this process that a database lacks. */
class Lacking {
  readonly rows: Map<string, FollowerRow>
  readonly published: Map<string, PublishedAt>

  constructor(known: KnownReach) {
    this.rows = new Map(known.rows.entries())
    this.published = new Map(Array.from(known.published(), (one) => [keyOfPublished(one), one]))
  }

  found(rows: readonly FollowerRow[]): void {
    for (const row of rows) this.rows.delete(keyOfFollower(row))
  }

  /** A process that saw a recall earlier knows its place better. */
  foundPublished(published: readonly PublishedAt[]): void {
    for (const one of published) {
      const here = this.published.get(keyOfPublished(one))
      if (here !== undefined && one.size <= here.size) this.published.delete(keyOfPublished(one))
    }
  }
}

const EVENT = 'reach-not-shared'

/** The most recalls of which it is known when they were published. */
export const MOST_PUBLISHED = 65_536

/** The rows of one statement. */
const AT_ONCE = 500

const LOOK_MS = 1_000
const PRUNED_AFTER_MS = 60_000

/** The time of the last contact of a follower may be so old at the other processes. */
const SEEN_AGAIN_MS = 30_000
