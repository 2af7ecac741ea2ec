import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { utf8 } from '../../sync/skill-md/frontmatter.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { Retention } from '../../sync/store/garbage-collect.ts'
import type { FetchLimits } from '../../sync/upstream/upstream.ts'
import type { WebConfig } from '../../serve/page/http/web-routes.ts'
import type { Provider } from '../../serve/http/routes/webhook-proof.ts'
import type { ArchiveFormat } from '../../serve/mcp/resources/archive.ts'
import type { ResourceListing } from '../../serve/mcp/resources/compatibility.ts'
import type { Access, ProgramValue, SecretReference, OAuthConfig, ProxyChoice } from './auth.ts'
import type { Environment } from './environment.ts'
import type { GateConfig } from './gate.ts'
import { READING, faultsOf } from './error-messages.ts'
import { ConfigError, configErrorOf, keyText } from './config-error.ts'
import type { ConfigProblem, Fault } from './config-error.ts'
import { processEnvironment } from './process-environment.ts'
import { ruleFaults } from './cross-key-rules.ts'
import { nameable, plainSchema } from './schema-json.ts'
import type { SchemaNode } from './schema-json.ts'
import { CONFIG } from './schema.ts'
import { configOf } from './normalize.ts'
import { readYaml } from './yaml.ts'
import { codeOf } from '../../base/error-code.ts'
import type { Place } from './yaml.ts'
import type { Requirement } from '../../sync/model/signers.ts'

/** What the operator wants, checked, with every default filled in and every path absolute. */
export interface Config {
  /** Absolute. Undefined where the sources were named on the command line. */
  readonly file: string | undefined
  /** Those that are enabled, in the order of the file. */
  readonly sources: readonly ConfiguredSource[]
  readonly serve: ServeConfig
  /** Parts of what is served, each with an address of its own. Their ids differ. */
  readonly packs: readonly Pack[]
  /** The state folder. */
  readonly state: string
  /** The folder for sockets that the system gives this user, if it gives one. */
  readonly runtime?: string | undefined
  /** The lock file. Undefined where the sources were named on the command line. */
  readonly lock: string | undefined
  /** Whether a lock that is there is followed by sources that do not ask for it by `update: locked`. */
  readonly lockUse: 'follow' | 'ignore'
  readonly mode: Mode
  readonly retention: Retention
  readonly limits: Limits
  /** Undefined where nothing is recorded. */
  readonly audit: AuditConfig | undefined
  /** Asked before each publish. */
  readonly gate: GateConfig | undefined
  readonly programs: { readonly git: string; readonly ssh: string }
}

/** What the command line asked for, beside the file. */
export interface Mode {
  /** `--locked`: what the lock says and nothing else is served, for all sources. */
  readonly locked: boolean
  /** `--offline`: nothing is asked of any host. */
  readonly offline: boolean
}

/** The ids of the sources, in the order of the file. */
export function idsOf({ sources }: Config): SourceId[] {
  return sources.map(({ source }) => source.id)
}

/** Those of them that are folders. */
export function foldersIn({ sources }: Config): SourceId[] {
  return sources.flatMap(({ source: { id, kind } }) => (kind === 'directory' ? [id] : []))
}

/** The source of this id. Whoever asks has checked that there is one. */
export function configuredIn({ sources }: Config, id: SourceId): ConfiguredSource {
  const found = sources.find(({ source }) => source.id === id)
  if (found === undefined) throw new TypeError(`No source is called "${id}"`)
  return found
}

export interface ConfiguredSource {
  readonly source: Source
  readonly access: Access
  /** Of an MCP server that is a program: what its environment holds besides PATH and HOME. */
  readonly programEnv?: Readonly<Record<string, ProgramValue>>
  /** How its host tells that there may be news, if it may. */
  readonly webhook: { readonly provider: Provider; readonly secret: SecretReference } | undefined
  /** Who has to have signed what it serves; undefined if nobody has to. */
  readonly signed: SignedBy | undefined
  /** The MCP server that has its locked skills, should their commit vanish. It is configured too. */
  readonly fallback?: SourceId
  /** The file of certificates that are trusted for its host besides those of the system. */
  readonly ca: string | undefined
  readonly proxy: ProxyChoice
  /** Without it, as it should be, the daemon is not ready. */
  readonly required: boolean
  /** How old its last success may be; undefined for what follows from its schedule. */
  readonly maxAgeMs: number | undefined
  /** What each of its skills is offered as besides, for older clients. */
  readonly archives: readonly ArchiveFormat[]
}

export interface ServeConfig extends FormsConfig {
  readonly http: HttpAddress
  /** Where webhooks are taken, if not there. */
  readonly operations: ListenAddress | undefined
  /** How long clients may take an answer for fresh without asking. */
  readonly ttlMs: number
  /** What is offered besides MCP. */
  readonly web: WebConfig
  /** Whether there is /metrics; undefined where nothing is said: wherever it has its place. */
  readonly metrics: boolean | undefined
  /** Whose tokens are accepted besides ours. */
  readonly oauth: OAuthConfig | undefined
  /** The tools `list_skills` and `get_skill`; undefined where they are turned off. */
  readonly tools: ToolsConfig | undefined
  /** Whether there is the tool `search_skills` beside them. */
  readonly search: boolean
  /** Whether skills are prompts beside `init-skills` and `skills-catalog`; `off`: there is no prompt at all. */
  readonly prompts: 'off' | 'none' | 'user-invocable'
  /** What clients are told about this server when they connect. */
  readonly instructions: string | undefined
}

/** In which forms skills are offered beside the newest. */
export interface FormsConfig {
  /** `skill://index.json`, and whether the templates stand in it as entries. */
  readonly index: 'off' | 'omit' | 'include'
  /** Templates of the operator, checked. */
  readonly templates: readonly string[]
  readonly resources: ResourceListing
  /** Whether the `resource://` family is offered, of the sources that keep the contract. */
  readonly contract: boolean
}

export interface ToolsConfig {
  /** Whether callers that share the disk are told where a skill lies. */
  readonly paths: 'auto' | 'omit'
  /** How long a call may wait for a look at a stale source. */
  readonly waitMs: number
}

/** Bounds on the record of who read what. */
export interface AuditConfig {
  /** Of one file of each kind together, before the next is begun. */
  readonly bytes: number
  /** Kept of each kind, the one that is written included. */
  readonly files: number
}

/** Where MCP clients connect, and by which names. */
export interface HttpAddress extends ListenAddress {
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

/** Bounds on what others can make us do. */
export interface Limits {
  readonly skill: { readonly files: number; readonly bytes: number }
  readonly frontmatter: { readonly bytes: number; readonly depth: number }
  readonly fetch: FetchLimits
  /** Fetches at once. */
  readonly fetches: { readonly concurrency: number; readonly perHost: number }
  /** One page of a listing. */
  readonly listing: { readonly entries: number; readonly bytes: number }
  readonly http: HttpLimits
  /** The state folder, scratch included. */
  readonly disk: { readonly bytes: number }
}

export interface HttpLimits {
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

export interface ReadOptions {
  /** `--config`; without it the usual places are looked at. */
  readonly file?: string | undefined
  /** `--state`, which wins over the file. */
  readonly state?: string | undefined
}

/** Finds, reads and checks the configuration. All that is wrong with it is thrown as one `ConfigError`. */
export async function readConfig(options: ReadOptions = {}, environment = processEnvironment()): Promise<Config> {
  const file = await findConfig(options.file, environment)
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new ConfigError(`Cannot read the configuration "${file}": ${reasonOf(cause)}`, { cause })
  })
  const text = utf8(bytes)
  if (text === undefined) throw new ConfigError(`Cannot read the configuration "${file}": it is not valid UTF-8`)
  const config = parseConfig(text, file, environment)
  if (Array.isArray(config)) throw configErrorOf(config)
  return options.state === undefined ? config : { ...config, state: resolve(options.state) }
}

/** The file to read: the one named, else the first that exists of this folder's, the user's and the system's. */
export async function findConfig(explicit?: string, environment = processEnvironment()): Promise<string> {
  if (explicit !== undefined) return resolve(explicit)
  const places = [process.cwd(), join(environment.configHome, 'skillsyncd'), '/etc/skillsyncd']
  const files = places.map((folder) => join(folder, 'skillsyncd.yaml'))
  for (const file of files) {
    if (await exists(file)) return file
  }
  const looked = files.map((file) => `"${file}"`).join(', ')
  throw new ConfigError(
    `Cannot find a configuration: looked for ${looked}; name one with --config, or try --source URL`,
  )
}

/** One that cannot be looked at counts as there: reading it says why, where passing over it would hide it. */
async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    return codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR'
  }
}

function reasonOf(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file; try --source URL to start without one'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'it is a folder'
  return code ?? 'it cannot be opened'
}

/**
 * The configuration that the text is, or all that is wrong with it, in the order of the text. Never throws; no problem
 * repeats a value. Relative paths are meant from the folder of the file.
 */
export function parseConfig(text: string, fileName: string, environment: Environment): Config | ConfigProblem[] {
  const yaml = readYaml(text.replace(/^\uFEFF/, ''))
  if (!yaml.ok) return problemsOf(yaml.faults, fileName, plainSchema())
  const file = CONFIG.safeParse(yaml.value, READING)
  const betweenKeys = [...yaml.faults, ...ruleFaults(yaml.value)]
  if (file.success && betweenKeys.length === 0) return configOf(file.data, fileName, environment)
  const schema = plainSchema()
  const ofKeys = file.success ? [] : faultsOf(file.error.issues, schema)
  return problemsOf([...ofKeys, ...betweenKeys], fileName, schema, yaml.place)
}

/** One problem a key: the first says what to mend, and mending it often takes the others along. */
function problemsOf(faults: readonly Fault[], file: string, schema: SchemaNode, place?: Place): ConfigProblem[] {
  const problems = new Map<string, ConfigProblem>()
  for (const { path, at, message } of faults) {
    const { line, column } = typeof at === 'object' ? at : (place?.(path, at ?? 'value') ?? { line: 1, column: 1 })
    const slot = JSON.stringify([path, typeof at === 'object' ? at : ''])
    if (!problems.has(slot)) problems.set(slot, { file, line, column, key: keyText(nameable(schema, path)), message })
  }
  return [...problems.values()].toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** What of a source has to be signed, and the files that say by whom; one of them at least. */
export interface SignedBy {
  readonly require: Requirement
  /** Absolute paths. */
  readonly allowedSigners: string | undefined
  readonly keyring: string | undefined
  /** The time after the end of a key's validity in which something signed by it may come for the first time; undefined: for ever. */
  readonly graceMs: number | undefined
}
