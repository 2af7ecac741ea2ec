import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import type { RecallCounts } from '../recall/follower-report.ts'

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

/** The followers of a hub, in the order in which they were seen. They are bounded for each principal, and in all. */
export class FollowerRows {
  readonly #rows = new Map<string, FollowerRow>()
  /** The numbers of rows and of counts below them that each principal has. */
  readonly #shares = new Map<string, Share>()

  get(key: string): FollowerRow | undefined {
    return this.#rows.get(key)
  }

  get size(): number {
    return this.#rows.size
  }

  entries(): MapIterator<[string, FollowerRow]> {
    return this.#rows.entries()
  }

  values(): MapIterator<FollowerRow> {
    return this.#rows.values()
  }

  /** Principals that have followers here. */
  get principals(): MapIterator<string> {
    return this.#shares.keys()
  }

  /**
   * Adds a row as the one that was seen last. The oldest rows of its principal go to make room, and the oldest counts: a
   * follower that reports again has them again. Returns true if any went.
   */
  put(row: FollowerRow): boolean {
    const key = keyOfFollower(row)
    this.#drop(key)
    const share = this.#shares.get(row.principal) ?? { rows: 0, counts: 0 }
    share.rows += 1
    share.counts += row.below.length
    this.#shares.set(row.principal, share)
    this.#rows.set(key, row)
    return this.#makeRoom(row.principal, share)
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

  #makeRoom(principal: string, share: Share): boolean {
    let isFull = false
    for (const [key, row] of this.#rows) {
      if (share.rows <= MOST_FOLLOWERS && share.counts <= MOST_COUNTS) break
      isFull = true
      if (row.principal !== principal) continue
      if (share.rows > MOST_FOLLOWERS) this.#drop(key)
      else {
        share.counts -= row.below.length
        this.#rows.set(key, { ...row, below: [] })
      }
    }
    const [oldest] = this.#rows.keys()
    if (this.#rows.size <= MOST_ROWS || oldest === undefined) return isFull
    this.#drop(oldest)
    return true
  }
}

/** The key of a follower: one id counts for one principal and one channel. */
export function keyOfFollower({
  channel,
  principal,
  follower,
}: Pick<FollowerRow, 'channel' | 'principal' | 'follower'>): string {
  return JSON.stringify([channel ?? '', principal, follower])
}

interface Share {
  rows: number
  counts: number
}

/** The most followers of one principal: one token can be that of a whole fleet. */
export const MOST_FOLLOWERS = 16_384

/** The most counts of recalls that the followers of one principal have reported of those below them. */
export const MOST_COUNTS = 32_768

/** The most followers of all principals. */
export const MOST_ROWS = 65_536
