import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ignoreAbort } from '../../base/abort-error.ts'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { parseJson } from '../../base/json-value.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { FollowerReport, ReachCounts, RecallCounts } from '../../sync/recall/follower-report.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import type { DaemonContext } from '../context.ts'
import { channelName, partOf } from './channel-names.ts'
import type { ChannelName } from './channel-names.ts'

/** The client that reports: it can report for itself alone. */
export interface Reporter {
  readonly channel: ChannelName
  /** The id of the principal; empty without tokens. */
  readonly principal: string
}

/** A follower of a channel of this hub, as it was seen last. */
export interface FollowerRow {
  readonly channel?: ChannelName
  readonly principal: string
  readonly follower: string
  /** The entries of the log whose recalls it obeys. */
  readonly size: number
  /** ISO 8601, UTC. */
  readonly seen: string
  readonly below: readonly RecallCounts[]
}

/** One follower in the report of a recall. */
export interface ReachRow extends Omit<FollowerRow, 'below' | 'channel'>, ReturnType<typeof partOf> {
  readonly state: 'obeyed' | 'behind'
  /** Its own followers, and those below them. */
  readonly below: ReachCounts
}

type ReachParts = Pick<DaemonContext, 'store' | 'clock' | 'log'>

/**
 * The followers of the channels of this process, and how far they obey. They are bounded for each principal, and nothing
 * of them is proved: a token can report too much, for itself alone.
 */
export class FollowerReach implements AsyncDisposable {
  readonly #parts: ReachParts
  /** In the order in which they were seen. */
  readonly #rows = new Map<string, FollowerRow>()
  /** The numbers of rows and of counts below them that each principal has. */
  readonly #shares = new Map<string, Share>()
  /** The size of the log of a channel at which each recall was published first, by channel and id. */
  readonly #published = new Map<string, number>()
  readonly #over = new AbortController()
  #loading: Promise<void> | undefined
  #saving: Promise<void> | undefined
  #onChange: () => void = () => {}

  constructor(parts: ReachParts) {
    this.#parts = parts
  }

  /** Calls back after each change of what followers below report or obey. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Reads what an earlier process has seen. An unreadable file is as none: followers report again. */
  async load(): Promise<void> {
    this.#loading ??= this.#load()
    await this.#loading
  }

  /** Takes the report of a follower. One that has no report keeps what it reported of its own followers. */
  report(
    { channel, principal }: Reporter,
    { follower, size, below }: Omit<FollowerReport, 'below'> & Partial<FollowerReport>,
  ): void {
    const key = keyOf(channel, principal, follower)
    const before = this.#rows.get(key)
    const seen = this.#parts.clock.now().toISOString()
    const known = below?.filter(isCount) ?? before?.below ?? []
    this.#drop(key)
    this.#put(key, { channel, principal, follower, size, seen, below: known })
    this.#makeRoom(principal)
    this.#save()
    if (before === undefined || before.size !== size || below !== undefined) this.#onChange()
  }

  /** Records that the log of a channel has these recalls, in so many entries. */
  published(channel: ChannelName, recalls: readonly string[], size: number): void {
    for (const recall of recalls) {
      const key = publishedKey(channel, recall)
      if (this.#published.has(key)) continue
      this.#published.set(key, size)
      this.#save()
    }
    if (this.#published.size > MOST_PUBLISHED) this.#forgetEnded(channel, new Set(recalls))
  }

  /** The followers of a recall, in a stable order. */
  followersOf(recall: string): readonly ReachRow[] {
    return [...this.#rows.values()]
      .map((row) => this.#reachOf(row, recall))
      .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }

  /** The followers that obey all of these recalls, and the others. */
  followersOfAll(recalls: readonly string[]): { readonly obeyed: number; readonly behind: number } {
    const rows = [...this.#rows.values()]
    const obeyed = rows.filter((row) => recalls.every((recall) => this.#obeys(row, recall))).length
    return { obeyed, behind: rows.length - obeyed }
  }

  #obeys({ channel, size }: FollowerRow, recall: string): boolean {
    const needed = this.#published.get(publishedKey(channel, recall))
    return needed !== undefined && size >= needed
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
    return new Set([...this.#rows.values()].map(({ principal }) => principal))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#saving
  }

  /** The hubs that are followed decide how many recalls begin and end. */
  #forgetEnded(channel: ChannelName, inForce: ReadonlySet<string>): void {
    const kept = new Set([...inForce].map((recall) => publishedKey(channel, recall)))
    const ofChannel = publishedKey(channel, '')
    for (const key of this.#published.keys()) if (key.endsWith(ofChannel) && !kept.has(key)) this.#published.delete(key)
  }

  #put(key: string, row: FollowerRow): void {
    const share = this.#shares.get(row.principal) ?? { rows: 0, counts: 0 }
    share.rows += 1
    share.counts += row.below.length
    this.#shares.set(row.principal, share)
    this.#rows.set(key, row)
  }

  #drop(key: string): void {
    const row = this.#rows.get(key)
    const share = row && this.#shares.get(row.principal)
    if (row === undefined || share === undefined) return
    share.rows -= 1
    share.counts -= row.below.length
    if (share.rows === 0) this.#shares.delete(row.principal)
    this.#rows.delete(key)
  }

  /** The oldest rows of the principal go, and the oldest counts: a follower that reports again has them again. */
  #makeRoom(principal: string): void {
    const share = this.#shares.get(principal)
    if (share === undefined) return
    for (const [key, row] of this.#rows) {
      if (share.rows <= MOST_FOLLOWERS && share.counts <= MOST_COUNTS) break
      if (row.principal !== principal) continue
      if (share.rows > MOST_FOLLOWERS) this.#drop(key)
      else {
        share.counts -= row.below.length
        this.#rows.set(key, { ...row, below: [] })
      }
    }
    const [oldest] = this.#rows.keys()
    if (this.#rows.size > MOST_ROWS && oldest !== undefined) this.#drop(oldest)
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
    // What was seen meanwhile is newer.
    const seen = [...this.#rows]
    for (const [key] of seen) this.#drop(key)
    const rows = stored?.rows.map(
      ({ pack: channel, ...row }) => [keyOf(channel, row.principal, row.follower), { ...row, channel }] as const,
    )
    for (const [key, row] of new Map<string, FollowerRow>([...(rows ?? []), ...seen])) this.#put(key, row)
    for (const [key, size] of Object.entries(stored?.published ?? {})) this.#published.set(key, size)
  }

  /** Writes once for all that is reported within some seconds. */
  #save(): void {
    this.#saving ??= this.#saveSoon()
  }

  async #saveSoon(): Promise<void> {
    await this.#parts.clock.wait(SAVED_AFTER_MS, this.#over.signal).catch(ignoreAbort)
    this.#saving = undefined
    try {
      await this.load()
      await this.#parts.store.folder.expectRight()
      const published = Object.fromEntries(this.#published)
      const rows = [...this.#rows.values()].map(storedRow)
      await writeWhole(this.#file, canonicalJson({ rows, published }))
      this.#parts.log.recovery(EVENT, '')
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#parts.log.failure('warn', EVENT, { source: '', code: error.code, message: error.message })
    }
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

/** The most followers of one principal: one token can be that of a whole fleet. */
const MOST_FOLLOWERS = 16_384

/** The most counts of recalls that the followers of one principal have reported of those below them. */
const MOST_COUNTS = 32_768

/** The most recalls of which it is known when they were published. */
const MOST_PUBLISHED = 65_536

/** The most followers of all principals. */
const MOST_ROWS = 65_536

const SAVED_AFTER_MS = 5_000

interface Share {
  rows: number
  counts: number
}

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

function storedRow({
  channel,
  principal,
  follower,
  size,
  seen,
  below,
}: FollowerRow): z.infer<typeof STORED>['rows'][0] {
  return { ...(channel !== undefined && { pack: channel }), principal, follower, size, seen, below: [...below] }
}

function keyOf(channel: ChannelName, principal: string, follower: string): string {
  return JSON.stringify([channel ?? '', principal, follower])
}

function publishedKey(channel: ChannelName, recall: string): string {
  return `${recall} ${channel ?? ''}`
}

function orderOf({ pack, ring, principal, follower }: ReachRow): string {
  return keyOf(channelName({ pack, ring }), principal, follower)
}
