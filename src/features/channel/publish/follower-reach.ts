import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ignoreAbort } from '../../../base/async/abort-error.ts'
import { canonicalJson, isTime } from '../../../base/canonical-json.ts'
import { parseJson } from '../../../base/json-value.ts'
import { partOf } from '../../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { HubDatabase } from '../../../sync/postgres/postgres-database.ts'
import { writeWhole } from '../../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import type { FollowerReport, ReachCounts, RecallCounts } from '../recall/follower-report.ts'
import { FollowerRows, keyOfFollower, MOST_ROWS } from './follower-rows.ts'
import type { FollowerRow } from './follower-rows.ts'
import { MOST_PUBLISHED, ReachSharing } from './reach-sharing.ts'
import type { KnownReach } from './reach-sharing.ts'
import { keyOfPublished, SharedReach } from './shared-reach.ts'
import type { PublishedAt } from './shared-reach.ts'

/** The client that reports: it can report for itself alone. */
export interface Reporter {
  readonly channel: ChannelName
  /** The id of the principal; empty without tokens. */
  readonly principal: string
}

/** One follower in the report of a recall. */
export interface ReachRow extends Omit<FollowerRow, 'below' | 'channel'>, ReturnType<typeof partOf> {
  readonly state: 'obeyed' | 'behind'
  /** Its own followers, and those below them. */
  readonly below: ReachCounts
}

interface ReachParts extends Pick<DaemonContext, 'store' | 'clock' | 'log'> {
  /** The database of a hub of several processes. */
  readonly shared?: HubDatabase | undefined
}

/**
 * The followers of the channels of this hub, and how far they obey. They are bounded for each principal, and nothing of
 * them is proved: a token can report too much, for itself alone. The processes of a hub of several share what they know.
 */
export class FollowerReach implements AsyncDisposable {
  readonly #parts: ReachParts
  readonly #rows = new FollowerRows()
  /** The recalls, with the size of the log of a channel at which each was published first. */
  readonly #published = new Map<string, PublishedAt>()
  readonly #sharing: ReachSharing | undefined
  #over = new AbortController()
  #loading: Promise<void> | undefined
  #saving: Promise<void> | undefined
  #isNewBelow = false
  #onChange: () => void = () => {}

  constructor(parts: ReachParts) {
    this.#parts = parts
    const { shared } = parts
    this.#sharing = shared && new ReachSharing(new SharedReach(shared), this.#known, parts)
  }

  /** Calls back after each change of what followers below report or obey. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /**
   * Takes what earlier processes have seen, and what the others of the hub see from now on. An unreadable file is as none:
   * followers report again. One that was disposed can go on with that.
   */
  follow(): void {
    if (this.#over.signal.aborted) this.#over = new AbortController()
    this.#loading ??= this.#load()
    // Any other failure to read it must end the process.
    if (this.#sharing === undefined) void this.#loading
    else this.#sharing.start(this.#loading)
  }

  /** True if the followers of all processes of the hub are known, as of a few seconds ago at most. */
  get isWhole(): boolean {
    return this.#sharing?.isWhole ?? true
  }

  /** Takes the report of a follower. One that has no report keeps what it reported of its own followers. */
  report(
    { channel, principal }: Reporter,
    { follower, size, below }: Omit<FollowerReport, 'below'> & Partial<FollowerReport>,
  ): void {
    const key = keyOfFollower({ channel, principal, follower })
    const before = this.#rows.get(key)
    const seen = this.#parts.clock.now().toISOString()
    const known = below?.filter(isCount) ?? before?.below ?? []
    const isNews = before === undefined || before.size !== size || below !== undefined
    this.#put({ channel, principal, follower, size, seen, below: known })
    this.#save()
    this.#sharing?.note(key, { isNews, reported: below && seen })
    if (isNews) this.#onChange()
  }

  /** Records that the log of a channel has these recalls, in so many entries. */
  published(channel: ChannelName, recalls: readonly string[], size: number): void {
    for (const recall of recalls) {
      const published = { recall, channel, size }
      const key = keyOfPublished(published)
      if (this.#published.has(key)) continue
      this.#published.set(key, published)
      this.#sharing?.notePublished(published)
      this.#save()
    }
    if (this.#published.size > MOST_PUBLISHED) this.#forgetEnded(channel, new Set(recalls))
  }

  /** The followers of a recall, in a stable order. */
  followersOf(recall: string): readonly ReachRow[] {
    return [...this.#rows.entries()]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, row]) => this.#reachOf(row, recall))
  }

  /** The followers that obey all of these recalls, and the others. */
  followersOfAll(recalls: readonly string[]): { readonly obeyed: number; readonly behind: number } {
    const rows = [...this.#rows.values()]
    const obeyed = rows.filter((row) => recalls.every((recall) => this.#obeys(row, recall))).length
    return { obeyed, behind: rows.length - obeyed }
  }

  #obeys({ channel, size }: FollowerRow, recall: string): boolean {
    const published = this.#published.get(keyOfPublished({ recall, channel }))
    return published !== undefined && size >= published.size
  }

  #reachOf(row: FollowerRow, recall: string): ReachRow {
    const { channel, below, ...seen } = row
    const { obeyed = 0, behind = 0, unreachable = 0 } = below.find((one) => one.recall === recall) ?? {}
    const state = this.#obeys(row, recall) ? 'obeyed' : 'behind'
    return { ...partOf(channel), ...seen, state, below: { obeyed, behind, unreachable } }
  }

  /** True if any follower was ever seen. */
  get isAny(): boolean {
    return this.#rows.size > 0
  }

  /** Principals that have followers here. */
  get principals(): ReadonlySet<string> {
    return new Set(this.#rows.principals)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sharing?.[Symbol.asyncDispose]()
    this.#over.abort()
    await this.#saving
  }

  #put(row: FollowerRow): void {
    if (this.#rows.put(row)) this.#sharing?.noteCrowded(row.principal)
  }

  get #known(): KnownReach {
    return {
      rows: this.#rows,
      published: () => this.#published.values(),
      take: (rows) => this.#take(rows),
      takePublished: (published) => this.#takePublished(published),
      onTaken: () => {
        if (this.#isNewBelow) this.#onChange()
        this.#isNewBelow = false
      },
    }
  }

  /** Takes what other processes have seen, and what this one has written. */
  #take(rows: readonly FollowerRow[]): void {
    for (const row of rows) {
      const before = this.#rows.get(keyOfFollower(row))
      this.#isNewBelow ||= before?.size !== row.size || canonicalJson(before.below) !== canonicalJson(row.below)
      this.#put(row)
    }
    if (rows.length > 0) this.#save()
  }

  #takePublished(published: readonly PublishedAt[]): void {
    for (const one of published) {
      const key = keyOfPublished(one)
      const before = this.#published.get(key)
      if (before === undefined ? this.#published.size >= MOST_PUBLISHED : before.size <= one.size) continue
      this.#published.set(key, one)
      this.#isNewBelow = true
      this.#save()
    }
  }

  /** The hubs that are followed decide how many recalls begin and end. */
  #forgetEnded(channel: ChannelName, inForce: ReadonlySet<string>): void {
    for (const [key, one] of this.#published)
      if (one.channel === channel && !inForce.has(one.recall)) this.#published.delete(key)
  }

  get #file(): string {
    return this.#parts.store.folder.at('logs', FILE)
  }

  async #load(): Promise<void> {
    const text = await unlessAbsent(readFile(this.#file, 'utf8')).catch((error: unknown) => {
      if (isDiskError(error)) return undefined
      throw error
    })
    const stored = text === undefined ? undefined : STORED.safeParse(parseJson(text)).data
    // What was seen meanwhile is newer, and so are its counts.
    const seen = [...this.#rows.values()]
    for (const { shared, pack: channel, ...rest } of stored?.rows ?? []) {
      const row = { ...rest, channel }
      this.#put(row)
      const reported = row.below.length > 0 ? row.seen : undefined
      if (shared !== true) this.#sharing?.note(keyOfFollower(row), { isNews: true, reported })
    }
    for (const row of seen) this.#put(row)
    for (const [key, size] of Object.entries(stored?.published ?? {})) {
      const [recall = '', channel = ''] = key.split(' ')
      this.#published.set(key, { recall, channel: channel === '' ? undefined : channel, size })
    }
  }

  /** Writes once for all that is reported within some seconds. */
  #save(): void {
    this.#saving ??= this.#saveSoon()
  }

  async #saveSoon(): Promise<void> {
    await this.#parts.clock.wait(SAVED_AFTER_MS, this.#over.signal).catch(ignoreAbort)
    this.#saving = undefined
    try {
      this.#loading ??= this.#load()
      await this.#loading
      await this.#parts.store.folder.expectRight()
      await writeWhole(this.#file, this.#text)
      this.#parts.log.recovery(EVENT, '')
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#parts.log.failure('warn', EVENT, { source: '', code: error.code, message: error.message })
    }
  }

  get #text(): string {
    const sharing = this.#sharing
    const rows = Array.from(this.#rows.entries(), ([key, row]) =>
      storedRow(row, sharing !== undefined && !sharing.isUnshared(key)),
    )
    const published = Object.fromEntries(Array.from(this.#published, ([key, { size }]) => [key, size]))
    return canonicalJson({ rows, published })
  }
}

/** The sum of the counts. */
export function sumOfReach(counts: Iterable<ReachCounts>): ReachCounts {
  const sum = { obeyed: 0, behind: 0, unreachable: 0 }
  for (const { obeyed, behind, unreachable } of counts) {
    sum.obeyed += obeyed
    sum.behind += behind
    sum.unreachable += unreachable
  }
  return sum
}

const EVENT = 'reach-not-written'
const FILE = 'reach.rows'

const SAVED_AFTER_MS = 5_000

/** A recall that is missing counts as none. */
function isCount({ obeyed, behind, unreachable }: RecallCounts): boolean {
  return obeyed + behind + unreachable > 0
}

const COUNT = z.number()
const STORED = z.object({
  rows: z
    .array(
      z.object({
        /** The name of the channel, of which earlier versions have the packs. */
        pack: z.string().exactOptional(),
        /** True if the database has it. */
        shared: z.boolean().exactOptional(),
        principal: z.string(),
        follower: z.string(),
        size: COUNT,
        seen: z.string().refine(isTime),
        below: z.array(z.object({ recall: z.string(), obeyed: COUNT, behind: COUNT, unreachable: COUNT })),
      }),
    )
    .max(MOST_ROWS),
  published: z.record(z.string(), COUNT),
})

function storedRow({ channel, ...row }: FollowerRow, isShared: boolean): z.infer<typeof STORED>['rows'][0] {
  const { principal, follower, size, seen, below } = row
  const named = { principal, follower, size, seen, below: [...below] }
  return { ...(channel !== undefined && { pack: channel }), ...(isShared && { shared: true }), ...named }
}
