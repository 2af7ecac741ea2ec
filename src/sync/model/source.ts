import type { HiddenPolicy } from '../skill-md/hidden-unicode.ts'
import type { AskedRef } from './revision.ts'
import type { SourceId } from './source-id.ts'

/** What the operator wrote about one place that skills come from, checked and with every default filled in. */
export type Source = GitSource | DirectorySource | McpSource

/** A git repository: over http(s) or ssh, or on this disk with a `file:` address. */
export interface GitSource extends FollowedSource {
  readonly kind: 'git'
  /** What speaks git: what the address asks for, our own reader alone, or the git program alone. */
  readonly backend: 'auto' | 'embedded' | 'system'
}

/** A plain folder of this disk. What lies in it at a moment is taken as one commit without history. */
export interface DirectorySource extends FollowedSource {
  readonly kind: 'directory'
  /** Absolute; `url` is its `file:` address. */
  readonly path: string
  /** `follow`: links in it that lead out of it to skills of its owner are read as those skills. `inside`: refused. */
  readonly links: 'inside' | 'follow'
}

/** Another MCP server that publishes skills: it says what they are, and is asked for a file when somebody wants it. */
export interface McpSource extends FollowedSource {
  readonly kind: 'mcp'
  readonly place: McpPlace
  /** Whether a skill waits until a person approved exactly its files. */
  readonly approval: 'required' | 'none'
  /** Whether a file is asked for when somebody wants it, or all of them at once. */
  readonly fetching: 'lazy' | 'all'
  readonly budgets: Budgets
  /** Whether a skill is taken that an older server offers as an archive alone. */
  readonly packed: 'ignore' | 'read'
  /** Whether a skill is taken whose files the server calls dynamic. */
  readonly unverifiable: 'withhold' | 'serve'
  /** Skills that the server lists nowhere. */
  readonly uris: readonly string[]
}

/** Where an MCP server is reached: at an endpoint, or as a program that is started for it, without a shell. */
export type McpPlace =
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'program'; readonly command: string; readonly args: readonly string[] }

/** Bounds on what one MCP server can make us do. */
export interface Budgets {
  /** Of one file whose size nobody declared. */
  readonly fileBytes: number
  readonly listing: ListingBudget
  /** What is kept of its files. */
  readonly storedBytes: number
  /** What is fetched in an hour. */
  readonly hourlyBytes: number
}

/** Bounds on one enumeration, all of its pages. */
export interface ListingBudget {
  readonly bytes: number
  readonly pages: number
  readonly entries: number
  readonly timeoutMs: number
}

/** Whether somebody has to be asked for it. What lies in a folder is there without a network. */
export function isAway({ kind }: Source): boolean {
  return kind !== 'directory'
}

/** What all kinds have. */
interface FollowedSource extends Selection {
  readonly id: SourceId
  /**
   * An absolute `http:`, `https:` or `file:` address that holds no user name, password, query or fragment; or one of ssh,
   * `ssh://…` or `git@host:path`, without a password. Of a program: `program:` and its command line.
   */
  readonly url: string
  readonly ref: AskedRef
  /** What moves it. `auto`: the ref. `locked`: the lock alone. `review`: the ref, once a person approved. */
  readonly update: 'auto' | 'locked' | 'review'
  readonly brakes: Brakes
  /** How often the ref is looked at: a cron expression, or a period in milliseconds. */
  readonly schedule: Schedule
}

/** What waits for a person, and what is followed. */
export interface Brakes {
  /** A tag that names another object than before. */
  readonly movedTag: 'hold' | 'follow'
  /** A commit with no skill where there were some, or, but for a folder, with fewer than half and over five fewer. */
  readonly massDeletion: 'hold' | 'follow'
  /** A branch that goes back to an ancestor of the commit that is served. */
  readonly olderCommit: 'hold' | 'follow'
}

export type Schedule =
  | { readonly kind: 'every'; readonly periodMs: number }
  | { readonly kind: 'cron'; readonly expression: string }

/** Which folders of a tree are skills of this source. A change here is a change of what is served, without a new commit. */
export interface Selection {
  /** Skill paths are relative to it. Slash-separated, no slash at either end; empty means the repository's root. */
  readonly root: string
  /** Globs over skill paths. A skill is taken if it matches one of `include` and none of `exclude`. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Globs over skill paths: served to whoever knows the URI, in no list. */
  readonly unlisted: readonly string[]
  /** What happens to a skill whose folder is not called as its frontmatter says. */
  readonly names: 'remap' | 'exact'
  /** A skill inside the folder of a skill: one of its own too, or files of the outer one alone. */
  readonly nested: 'as-skills' | 'as-files'
  /** Refuse a whole commit that holds an invalid skill, instead of withholding the one skill. */
  readonly strict: boolean
  /** What happens to a skill that holds a git LFS pointer in place of a file. */
  readonly lfs: 'leave-out' | 'withhold' | 'pointers'
  /** What happens to a skill that holds characters that nobody sees. */
  readonly hiddenUnicode: HiddenPolicy
  /** Whether every skill has to keep the frontmatter contract, and is served at `resource://` too. */
  readonly contract: boolean
  /** The folder of the repository, not of `root`, that is served at `resource://docs/`; undefined where there is none. */
  readonly docs: string | undefined
}
