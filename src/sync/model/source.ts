import type { HiddenPolicy } from '../skill/hidden-unicode.ts'
import type { LifecycleEdit } from '../skill/lifecycle.ts'
import type { AskedRef } from './revision.ts'
import type { SourceId } from './source-id.ts'

/** The operator's configuration of one origin of skills, validated and with every default filled in. */
export type Source = GitSource | DirectorySource | McpSource | ChannelSource

/** A git repository: over http(s) or ssh, or on the local disk with a `file:` address. */
export interface GitSource extends FollowedSource {
  readonly kind: 'git'
  /** The implementation of git: chosen by the address, only our own reader, only isomorphic-git, or only the git program. */
  readonly backend: 'auto' | 'embedded' | 'isomorphic' | 'system'
}

/** A plain folder on the local disk. Its content at one moment counts as one commit without history. */
export interface DirectorySource extends FollowedSource {
  readonly kind: 'directory'
  /** Absolute; `url` is its `file:` address. */
  readonly path: string
  /** `follow`: links in it that lead out of it to skills of its owner are read as those skills. `inside`: refused. */
  readonly links: 'inside' | 'follow'
}

/** Another MCP server that publishes skills: it declares them, and a file is requested when a client needs it. */
export interface McpSource extends FollowedSource {
  readonly kind: 'mcp'
  readonly place: McpPlace
  /** `required`: a skill waits until the operator approved exactly its files. */
  readonly approval: 'required' | 'none'
  /** `lazy`: a file is requested when a client needs it. `all`: all files are requested at once. */
  readonly fetching: 'lazy' | 'all'
  /** True if its skills may be put into folders of agents: then all files are fetched in advance. */
  readonly folders: boolean
  readonly budgets: Budgets
  /** `read`: skills that an older server offers only as an archive are taken too. */
  readonly packed: 'ignore' | 'read'
  /** `serve`: skills whose files the server calls dynamic are taken too. */
  readonly unverifiable: 'withhold' | 'serve'
  /** Skills that the server does not list. */
  readonly uris: readonly NamedSkill[]
}

/** The channel of another hub: its skills as they are there, proved by its log. */
export interface ChannelSource extends FollowedSource {
  readonly kind: 'channel'
  /** At `url`, which ends with a slash, or in a folder of this machine; `url` is its `file:` address then. */
  readonly place: { readonly kind: 'http' } | { readonly kind: 'folder'; readonly path: string }
  /** The public keys of the log, as `parseVerifier` reads them: one has signed what is followed. All have its name. */
  readonly keys: readonly string[]
  /** The age of the newest entry above which the log counts as stale; `undefined` for any age. */
  readonly maxAgeMs: number | undefined
  /** The public keys of the witnesses of the log, as texts. */
  readonly witnesses: readonly string[]
  /** The number of witnesses that must have cosigned what is followed; 0 without witnesses. */
  readonly quorum: number
  /** True to take the source of the hub that has the same id, and no other. Its skills are at their own paths. */
  readonly isNamesake?: true
  /** True if the hub is known to have that source no more. */
  readonly isGone?: true
}

/** True for a source of a followed hub that the hub is known to have no more. */
export function isGoneAtHub(source: Source): boolean {
  return source.kind === 'channel' && source.isGone === true
}

/** The location of an MCP server: an endpoint, or a program that is started for it, without a shell. */
export type McpPlace =
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'program'; readonly command: string; readonly args: readonly string[] }

/** A skill that the operator named by the URI of its SKILL.md. */
export interface NamedSkill {
  readonly uri: string
  /** True if it may be read from a server without `skills/get`, and accepted with its content at that time. */
  readonly isUnverified: boolean
}

/** Limits on the work that one MCP server can cause. */
export interface Budgets {
  /** For one file of undeclared size. */
  readonly fileBytes: number
  readonly listing: ListingBudget
  /** For the stored files of the server. */
  readonly storedBytes: number
  /** For the data that is fetched in an hour. */
  readonly hourlyBytes: number
}

/** Limits on one enumeration, over all of its pages. */
export interface ListingBudget {
  readonly bytes: number
  readonly pages: number
  readonly entries: number
  readonly timeoutMs: number
}

/** True if the source needs a remote party. A folder is available without a network. */
export function isAway(source: Source): boolean {
  if (source.kind === 'channel') return source.place.kind !== 'folder'
  return source.kind !== 'directory'
}

/** The settings that all kinds have. */
interface FollowedSource extends Selection {
  readonly id: SourceId
  /**
   * An absolute `http:`, `https:` or `file:` address without user name, password, query or fragment; or an ssh address,
   * `ssh://…` or `git@host:path`, without a password. For a program: `program:` and its command line.
   */
  readonly url: string
  readonly ref: AskedRef
  /** The cause of a move. `auto`: the ref. `locked`: only the lock. `review`: the ref, after approval. */
  readonly update: 'auto' | 'locked' | 'review'
  /** The statements of the operator about its skills. Later ones win. */
  readonly lifecycle?: readonly LifecycleRule[]
  /** Controls whether moved tags, branches that go back, and mass deletions wait for the operator. */
  readonly brakes: 'hold' | 'follow'
  /** The interval of checks of the ref: a cron expression, or a period in milliseconds. */
  readonly schedule: Schedule
}

/** Statements about all skills of a source whose paths match one of the globs. */
export interface LifecycleRule {
  readonly include: readonly string[]
  readonly edit: LifecycleEdit
}

export type Schedule =
  | { readonly kind: 'every'; readonly periodMs: number }
  | { readonly kind: 'cron'; readonly expression: string }

/** The folders of a tree that are skills of this source. A change here changes what is served, without a new commit. */
export interface Selection {
  /** Skill paths are relative to it. Slash-separated, no slash at either end; empty means the repository's root. */
  readonly root: string
  /** Globs over skill paths. A skill is taken if it matches one of `include` and none of `exclude`. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Globs over skill paths: served by URI, in no list. */
  readonly unlisted: readonly string[]
  /** The treatment of a skill whose folder has another name than its frontmatter. */
  readonly names: 'remap' | 'exact'
  /** The treatment of a skill inside the folder of a skill: a skill too, or only files of the outer one. */
  readonly nested: 'as-skills' | 'as-files'
  /**
   * The treatment of a skill whose version in a new commit is broken: keep the earlier version, which a repository alone
   * has, withhold the skill, or refuse the whole commit. `refuse` is also for a skill that was never valid.
   */
  readonly onBroken: 'keep' | 'withhold' | 'refuse'
  /** The treatment of a skill that has a Git LFS pointer instead of a file. */
  readonly lfs: 'leave-out' | 'withhold' | 'pointers'
  /** The treatment of a skill with invisible characters. */
  readonly hiddenUnicode: HiddenPolicy
  /** The use of the frontmatter contract. */
  readonly contract: ContractUse
  /**
   * The folder that is served at `resource://docs/`, relative to the repository and not to `root`; `undefined` if there
   * is none.
   */
  readonly docs: string | undefined
  /** True if the plugin marketplace of the repository is read. It adds groups of skills, and decides no skill. */
  readonly marketplace: boolean
}

/**
 * `true`: every skill must satisfy the frontmatter contract, and is served at `resource://` too. `offer`: the skills
 * that satisfy it are served there, and it is required of none. `false`: none is served there.
 */
export type ContractUse = boolean | 'offer'
