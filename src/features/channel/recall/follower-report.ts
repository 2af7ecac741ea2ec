/** The followers of one recall, by what they report. */
export interface ReachCounts {
  /** Followers that serve without it. */
  readonly obeyed: number
  /** Followers that were not seen since it was published. */
  readonly behind: number
  /** Known readers that report nothing, such as a folder or a branch. */
  readonly unreachable: number
}

/** The counts of one recall at the followers of a follower, and below them. */
export interface RecallCounts extends ReachCounts {
  /** The id of the recall. */
  readonly recall: string
}

/** The report of a follower to its hub. Nothing in it is proved. */
export interface FollowerReport {
  /** A random id that the follower has for this log alone: 32 lower-case hex digits. */
  readonly follower: string
  /** The entries of the log whose recalls it obeys. */
  readonly size: number
  /** For recalls in force there, if it has followers of its own. */
  readonly below: readonly RecallCounts[]
}

/** The name of the header in which a follower has its id and the size with each request for a checkpoint. */
export const FOLLOWER_HEADER = 'skillsyncd-follower'

/** The path of reports, below the address of a channel. */
export const REPORT_PATH = 'reach'

/** The most bytes of a report. */
export const MOST_REPORT_BYTES = 2 ** 18
