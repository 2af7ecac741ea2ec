import type { Provider } from '../../serve/http/webhook-proof.ts'
import type { PackBudgetLimits } from '../../sync/catalog/budget/catalog-budget.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import type { Requirement } from '../../sync/model/signers.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { Retention } from '../../sync/store/garbage-collect.ts'
import type { HostAuth, ProgramValue, ProxyChoice, SecretReference } from './auth.ts'
import { ifHomeIsKnown } from './environment.ts'
import type { Environment } from './environment.ts'
import type { Limits } from './sections/limits.ts'
import type { AuditConfig } from './sections/machine.ts'
import type { ServeConfig } from './sections/serve.ts'

/** The checked configuration, with every default filled in and every path absolute. Each feature adds its own keys. */
export interface Config {
  /** Absolute. `undefined` if the sources were named on the command line. */
  readonly file: string | undefined
  /** The file as it was read; absent if there is none, or if the configuration is that of an edit. */
  readonly written?: WrittenConfig
  /** The enabled sources, in the order of the file, or those of the hub that is followed, in its order. */
  readonly sources: readonly ConfiguredSource[]
  /** Each source of the hub that is followed, but for its id; `undefined` if the file has the sources itself. */
  readonly follow: ConfiguredSource | undefined
  readonly serve: ServeConfig
  /** Parts of the catalog, each with an endpoint of its own. Their ids differ. */
  readonly packs: readonly Pack[]
  /** The limits of packs for their listing in an agent; those without one are absent. */
  readonly packBudgets: PackBudgetLimits
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
  readonly programs: { readonly git: string; readonly ssh: string }
}

/** The text of a configuration file, and the time at which it was read. */
export interface WrittenConfig {
  readonly text: string
  readonly readAt: string
}

/** A file of a git repository that is followed as the lock. */
export interface LockOrigin {
  /** The repository and the way to it, in the form of a source. No skill of it is read. */
  readonly repository: ConfiguredSource
  /** The path of the file from the root of the repository. */
  readonly path: string
  /** The full id of a commit that is taken although it does not continue the one in force. */
  readonly accepted: string | undefined
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
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
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
