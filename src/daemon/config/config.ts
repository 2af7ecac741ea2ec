import { AGENTS } from '../../features/agent-folders/agents.ts'
import type { UserFolders } from '../../features/agent-folders/agents.ts'
import type { MarketplaceConfig } from '../../features/marketplace/plugins.ts'
import type { RingConfig } from '../../features/rings/ring-config.ts'
import type { GateConfig } from '../../features/scan/gate-config.ts'
import type { Provider } from '../../serve/http/webhook-proof.ts'
import type { ArchiveFormat } from '../../serve/mcp/resources/derived/archive-cache.ts'
import type { FamilyOptions } from '../../serve/mcp/resources/families.ts'
import type { WebConfig } from '../../serve/page/http/web-routes.ts'
import type { PackBudgetLimits } from '../../sync/catalog/budget/catalog-budget.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import type { Requirement } from '../../sync/model/signers.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { Retention } from '../../sync/store/garbage-collect.ts'
import type { FetchLimits } from '../../sync/upstream/upstream.ts'
import type { HostAuth, OAuthConfig, ProgramValue, ProxyChoice, SecretReference } from './auth.ts'
import { ifHomeIsKnown } from './environment.ts'
import type { Environment } from './environment.ts'

/** The checked configuration, with every default filled in and every path absolute. */
export interface Config {
  /** Absolute. `undefined` if the sources were named on the command line. */
  readonly file: string | undefined
  /** The enabled sources, in the order of the file, or those of the hub that is followed, in its order. */
  readonly sources: readonly ConfiguredSource[]
  /** Each source of the hub that is followed, but for its id; `undefined` if the file has the sources itself. */
  readonly follow: ConfiguredSource | undefined
  readonly serve: ServeConfig
  /** Parts of the catalog, each with an endpoint of its own. Their ids differ. */
  readonly packs: readonly Pack[]
  /** The rings, that of the newest content first; none, or two at least. */
  readonly rings: readonly RingConfig[]
  /** The limits of packs for their listing in an agent; those without one are absent. */
  readonly packBudgets: PackBudgetLimits
  /** The folders that the daemon keeps up to date with the catalog. */
  readonly links: readonly KeptFolder[]
  /** The repositories that the daemon publishes the marketplace to. */
  readonly publications: readonly Publication[]
  /** The name and the keys of the channel; `undefined` if there is none. */
  readonly channel: ChannelConfig | undefined
  /** The folders that the channel is written to. */
  readonly channelFolders: readonly ChannelFolder[]
  /** The access that hosts are given by the beginning of an address, for addresses that a command names. */
  readonly hosts: readonly HostDefaults[]
  /** The state folder. */
  readonly state: string
  /** The database that the processes of the hub share; `undefined` for a hub of one process. */
  readonly postgres: { readonly url: SecretReference } | undefined
  /** The folder for sockets that the system provides for this user, if any. */
  readonly runtime?: string | undefined
  /**
   * The lock file: in the state folder, if it is followed from a repository. `undefined` if the sources were named on
   * the command line.
   */
  readonly lock: string | undefined
  /** The repository whose lock is followed; `undefined` if the lock is a file of this machine. */
  readonly lockFrom: LockOrigin | undefined
  /** Controls whether sources without `update: locked` follow an existing lock. */
  readonly lockUse: 'follow' | 'ignore'
  readonly mode: Mode
  readonly retention: Retention
  readonly limits: Limits
  /** `undefined` if nothing is recorded. */
  readonly audit: AuditConfig | undefined
  /** `undefined` if no use is counted. */
  readonly usage: UsageConfig | undefined
  /** Queried before each publish. */
  readonly gate: GateConfig | undefined
  readonly programs: { readonly git: string; readonly ssh: string }
}

/** A file of a git repository that is followed as the lock. */
export interface LockOrigin {
  /** The repository and the way to it, in the form of a source. No skill of it is read. */
  readonly repository: ConfiguredSource
  /** The path of the file from the root of the repository. */
  readonly path: string
  readonly everyMs: number
  /** The full id of a commit that is taken although it does not continue the one in force. */
  readonly accepted: string | undefined
}

/** A folder of skills: that of an agent, or the one at an absolute path. */
export type KeptFolder = { readonly copies: boolean } & ({ readonly agent: string } | { readonly to: string })

/** The log of the channel, which is signed with each of the keys. */
export interface ChannelConfig {
  readonly name: string
  readonly keys: readonly SecretReference[]
  readonly witnesses: readonly WitnessConfig[]
  /** The number of witnesses whose cosignatures are enough; 0 without witnesses. */
  readonly quorum: number
}

/** A witness of the logs of this hub, and the way to it. */
export interface WitnessConfig extends Pick<HostConfig, 'ca' | 'proxy'> {
  /** Ends with a slash. */
  readonly url: string
  /** The public key, as a text. */
  readonly key: string
}

/** A folder with one of the channels. */
export interface ChannelFolder {
  /** Absolute. */
  readonly to: string
  readonly pack: string | undefined
  /** `undefined` for the last ring. */
  readonly ring: string | undefined
}

/** A branch of a git repository to which the marketplace is published. */
export interface Publication extends HostConfig {
  readonly kind: 'git'
  /** An http(s) address. */
  readonly url: string
  readonly branch: string
  /** The pack whose marketplace it is; `undefined` for that of all that is served. */
  readonly pack: string | undefined
}

/** The credential, the trust and the proxy for a host. */
export interface HostConfig {
  readonly access: HostAuth
  /** The file of certificates that are trusted for its host in addition to those of the system. */
  readonly ca: string | undefined
  readonly proxy: ProxyChoice
}

/** The access to the hosts whose addresses begin with `match`, as far as the entry has it. */
export type HostDefaults = Partial<HostConfig> & { readonly match: string }

/** An address, and the access to its host: a source, or a publication under an id of its own. */
export interface ReachedHost extends HostConfig {
  readonly source: { readonly id: string; readonly url: string; readonly kind: string; readonly backend?: string }
}

/** The path of the folder. Links in it are not resolved. */
export function pathOfKept(kept: KeptFolder, user: UserFolders): string {
  if ('to' in kept) return kept.to
  const agent = AGENTS.find(({ id }) => id === kept.agent)
  // The schema refuses an unknown agent before this point.
  if (agent === undefined) throw new TypeError(`An agent "${kept.agent}" was let through`)
  return agent.user(user)
}

/** The modes that the command line sets in addition to the file. */
export interface Mode {
  /** `--locked`: all sources serve only what the lock contains. */
  readonly locked: boolean
  /** `--offline`: no host is contacted. */
  readonly offline: boolean
}

/**
 * The sources, and the repository of the lock. Before the sources of a followed hub are known, what they have in common
 * counts as one.
 */
export function reachedBy({ sources, follow, lockFrom }: Config): readonly ConfiguredSource[] {
  const reached = sources.length === 0 && follow !== undefined ? [follow] : sources
  return lockFrom === undefined ? reached : [...reached, lockFrom.repository]
}

/** The ids of the sources, in the order of the file. */
export function idsOf({ sources }: Config): SourceId[] {
  return sources.map(({ source }) => source.id)
}

/** The ids of the sources that are folders. */
export function foldersIn({ sources }: Config): SourceId[] {
  return sources.flatMap(({ source: { id, kind } }) => (kind === 'directory' ? [id] : []))
}

/** The source with this id. The caller has checked that it exists. */
export function configuredIn({ sources }: Config, id: SourceId): ConfiguredSource {
  const found = sources.find(({ source }) => source.id === id)
  if (found === undefined) throw new TypeError(`No source is called "${id}"`)
  return found
}

/** Equal for sources that share the same repository with the same access. */
export function repositoryOf({ source, access, ca, proxy }: ConfiguredSource): string {
  const backend = source.kind === 'git' ? source.backend : undefined
  return JSON.stringify([source.url, backend, access, ca, proxy])
}

/**
 * The folders in which this program keeps copies of skills: its state folder, and the default state folder, where other
 * daemons of this user keep theirs.
 */
export function ownFolders(config: Config, environment: Environment): readonly string[] {
  return [config.state, ifHomeIsKnown(() => environment.state) ?? []].flat()
}

export interface ConfiguredSource extends HostConfig {
  readonly source: Source
  /** For an MCP server that is a program: its environment variables in addition to PATH and HOME. */
  readonly programEnv?: Readonly<Record<string, ProgramValue>>
  /** The webhook through which its host reports changes; `undefined` if there is none. */
  readonly webhook: { readonly provider: Provider; readonly secret: SecretReference } | undefined
  /** The signatures that its content needs; `undefined` if none. */
  readonly signed: SignedBy | undefined
  /** The MCP server that has its locked skills, in case their commit vanishes. It is configured too. */
  readonly fallback?: SourceId
  /** True if the daemon is not ready while this source has nothing to serve, or only outdated content. */
  readonly required: boolean
  /** The maximum age of its last success; `undefined` if its schedule determines it. */
  readonly maxAgeMs: number | undefined
  /** The archive formats in which each of its skills is offered as well, for older clients. */
  readonly archives: readonly ArchiveFormat[]
}

export interface ServeConfig extends FormsConfig {
  readonly http: HttpListenAddress
  /** The separate address for webhooks and /metrics, if configured. */
  readonly operations: ListenAddress | undefined
  /** The time for which clients may treat an answer as fresh. */
  readonly ttlMs: number
  /** The HTTP pages and files that are served in addition to MCP. */
  readonly web: WebConfig
  /** The plugin marketplace as a git remote, if configured. */
  readonly marketplace: MarketplaceConfig | undefined
  /** True if /metrics is served; `undefined` serves it wherever there is a place for it. */
  readonly metrics: boolean | undefined
  /** The issuer whose tokens are accepted in addition to ours. */
  readonly oauth: OAuthConfig | undefined
  /** The tools `list_skills` and `get_skill`; `undefined` if they are disabled. */
  readonly tools: ToolsConfig | undefined
  /** True if the tool `search_skills` is offered as well. */
  readonly search: boolean
  /** The skills that are prompts in addition to `init-skills` and `skills-catalog`; `off` means no prompts at all. */
  readonly prompts: 'off' | 'none' | 'user-invocable'
  /** The instructions that clients receive when they connect. */
  readonly instructions: string | undefined
}

/** The forms in which skills are offered in addition to the newest. */
export interface FormsConfig {
  /** Serves `skill://index.json`, with or without entries for the templates. */
  readonly index: 'off' | 'omit' | 'include'
  /** Templates of the operator, checked. */
  readonly templates: readonly string[]
  readonly resources: Pick<FamilyOptions, 'list' | 'synthetic'>
  /** True if the `resource://` family is offered, for sources that keep the contract. */
  readonly contract: boolean
}

export interface ToolsConfig {
  /** Controls whether callers on the same disk receive the path of a skill. */
  readonly paths: 'auto' | 'omit'
  /** The time that a call may wait for a check of a stale source. */
  readonly waitMs: number
}

/** Limits of the audit log. */
export interface AuditConfig {
  /** The total size of one file of each kind, before the next files are begun. */
  readonly bytes: number
  /** The number of files kept per kind, including the current one. */
  readonly files: number
}

/** The counts of use. */
export interface UsageConfig {
  /** True if people are counted too, by the ids of their tokens. */
  readonly principals: boolean
  /** The days that are kept, today included. */
  readonly days: number
  /** True if the telemetry of Claude Code is counted too. */
  readonly otlp: boolean
}

/** The address of MCP clients, and the host names and origins that are accepted. */
export interface HttpListenAddress extends ListenAddress {
  /** Without a slash at its end. */
  readonly publicUrl: string | undefined
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** Addresses and networks. */
  readonly trustedProxies: readonly string[]
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Limits on what other parties can make the daemon do. */
export interface Limits {
  readonly skill: { readonly files: number; readonly bytes: number }
  readonly frontmatter: { readonly bytes: number; readonly depth: number }
  readonly fetch: FetchLimits
  /** Concurrent fetches. */
  readonly fetches: { readonly concurrency: number; readonly perHost: number }
  /** One page of a listing. */
  readonly listing: { readonly entries: number; readonly bytes: number }
  readonly http: HttpLimitsConfig
  /** The state folder, including scratch space. */
  readonly disk: { readonly bytes: number }
}

export interface HttpLimitsConfig {
  readonly bodyBytes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  readonly connectionsPerAddress: number | undefined
  readonly rate: { readonly requests: number; readonly perMs: number } | undefined
  readonly streams: number
  readonly streamBytes: number
  readonly sessions: number
  readonly sessionIdleMs: number
}

/** The signatures that a source requires, and the files with the trusted signers; at least one file. */
export interface SignedBy {
  readonly require: Requirement
  /** Absolute paths. */
  readonly allowedSigners: string | undefined
  readonly keyring: string | undefined
  /** The time after the end of a key's validity in which a commit signed by it may arrive first; `undefined`: no limit. */
  readonly graceMs: number | undefined
}

/**
 * A configuration, or a part of one, as text for comparison: equal ones have equal texts. Both must come from the same
 * schema, so that their keys have the same order. JSON alone would turn every set into `{}`.
 */
export function configText(part: unknown): string {
  return JSON.stringify(part, (_, value: unknown) =>
    value instanceof Set ? [...value].map((one) => JSON.stringify(one)).toSorted() : value,
  )
}
