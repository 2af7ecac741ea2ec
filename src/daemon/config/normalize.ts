import { dirname, join, resolve } from 'node:path'
import { channelOf, hostDefaultsOf, publicationOf } from '../../features/channel/normalize-channel.ts'
import type { DefaultsEntry } from '../../features/channel/normalize-channel.ts'
import { earlierRing, ringsOf } from '../../features/rings/ring-config.ts'
import { gateOf } from '../../features/scan/gate-config.ts'
import type { BudgetTerms } from '../../sync/catalog/budget/context-budget.ts'
import type { Pack, PackSelection } from '../../sync/catalog/pack.ts'
import { followedLockFile } from '../../sync/store/followed-lock.ts'
import type {
  AuditConfig,
  Config,
  ConfiguredSource,
  HttpLimitsConfig,
  KeptFolder,
  Limits,
  LockOrigin,
  Mode,
  UsageConfig,
} from './config.ts'
import type { Environment } from './environment.ts'
import { absolutePath, fixedAccessOf, programOf, referenceOf } from './normalize-access.ts'
import type { Absolute, AuthEntry, SecretEntry, SourceEntry } from './normalize-access.ts'
import {
  formsOf,
  httpAddressOf,
  marketplaceConfigOf,
  modelSurfacesOf,
  oauthConfigOf,
  webConfigOf,
} from './normalize-serve.ts'
import { configuredOf } from './normalize-source.ts'
import { withDefaults } from './rules/defaults.ts'
import type { ConfigFile } from './schema/schema.ts'
import { OF_LOCK } from './sections/lock.ts'
import { OF_HUB } from './sections/sources.ts'

/** The configuration of a checked file: paths are absolute, access is resolved, and disabled sources are left out. */
export function configOf(file: ConfigFile, fileName: string, environment: Environment, ofOption?: string): Config {
  const absolute = (path: string) => absolutePath(path, dirname(fileName), environment)
  const state = ofOption ?? (file.state === undefined ? environment.state : absolute(file.state))
  const settling = {
    absolute,
    access: (auth: AuthEntry | undefined) => fixedAccessOf(auth, absolute),
    reference: (entry: SecretEntry) => referenceOf(entry, absolute),
  }
  const settled = (source: SourceEntry): ConfiguredSource =>
    configuredOf(withDefaults(source, addressOf(source), file.defaults ?? []), absolute)
  return {
    file: resolve(fileName),
    sources: (file.sources ?? []).filter(({ enabled }) => enabled).map(settled),
    follow: file.follow && namesakeOf(settled(hubEntryOf(file.follow))),
    serve: {
      http: httpAddressOf(file.serve.http),
      operations: file.serve.operations,
      ttlMs: file.serve.ttl,
      web: webConfigOf(file.serve),
      marketplace: marketplaceConfigOf(file.serve.marketplace),
      oauth: oauthConfigOf(file.serve.oauth, settling.reference),
      metrics: file.serve.metrics?.enabled,
      instructions: file.serve.instructions,
      ...formsOf(file.serve),
      ...modelSurfacesOf(file.serve),
    },
    packs: file.packs?.map(packOf) ?? [],
    rings: ringsOf(file),
    packBudgets: Object.fromEntries(
      (file.packs ?? []).flatMap(({ id, budget }) => (budget === undefined ? [] : [[id, termsOf(budget)]])),
    ),
    links: file.links?.map((entry) => keptFolderOf(entry, absolute)) ?? [],
    publications: (file.publish ?? []).flatMap((entry) => publicationOf(entry, file.defaults ?? [], absolute)),
    channel: file.channel && channelOf(file.channel, file.defaults ?? [], settling),
    channelFolders: (file.publish ?? []).flatMap(({ to, pack, ring }) =>
      to === undefined ? [] : [{ to: absolute(to), pack, ring: earlierRing(ring, file.rings ?? []) }],
    ),
    hosts: (file.defaults ?? []).map((entry) => hostDefaultsOf(entry, absolute)),
    state,
    postgres: file.store && { url: settling.reference(file.store.postgres.url) },
    runtime: environment.runtime,
    lock: lockFileIn(file.lock, { state, beside: dirname(resolve(fileName)), absolute }),
    lockFrom: typeof file.lock === 'object' ? lockOriginOf(file.lock, file.defaults ?? [], absolute) : undefined,
    lockUse: file.lock === 'ignore' ? 'ignore' : 'follow',
    mode: FREE,
    retention: {
      generations: file.retention.generations,
      youngerThanMs: file.retention.younger_than,
      bytes: file.limits.disk.bytes,
    },
    limits: limitsOf(file.limits),
    audit: auditConfigOf(file.audit),
    usage: usageConfigOf(file.usage),
    gate: file.gate && gateOf(file.gate, settling),
    programs: {
      git: programOf(file.programs?.git ?? 'git', absolute),
      ssh: programOf(file.programs?.ssh ?? 'ssh', absolute),
    },
  }
}

/** The entry of each source of the hub, but for its id, which the hub chooses. */
function hubEntryOf(entry: NonNullable<ConfigFile['follow']>): SourceEntry {
  const { url, path, key, max_age, witnesses, quorum, ...rest } = entry
  return { ...OF_HUB, ...rest, follow: { url, path, key, max_age, witnesses, quorum } }
}

function namesakeOf({ source, ...rest }: ConfiguredSource): ConfiguredSource {
  return { ...rest, source: source.kind === 'channel' ? { ...source, isNamesake: true } : source }
}

/** A keyword instead of a path means the usual path, and a repository the copy in the state folder. */
function lockFileIn(
  lock: ConfigFile['lock'],
  { state, beside, absolute }: { readonly state: string; readonly beside: string; readonly absolute: Absolute },
): string {
  if (typeof lock === 'object') return followedLockFile(state)
  return lock === undefined || lock === 'follow' || lock === 'ignore' ? join(beside, 'skills.lock') : absolute(lock)
}

type FollowedLockEntry = Extract<ConfigFile['lock'], object>

function lockOriginOf(
  { from, every: everyMs = LOCK_PERIOD_MS }: FollowedLockEntry,
  defaults: readonly DefaultsEntry[],
  absolute: Absolute,
): LockOrigin {
  const { git: url, path, accept, ...rest } = from
  const entry: SourceEntry = withDefaults({ ...OF_LOCK, ...rest, url, every: everyMs }, url, defaults)
  return { repository: configuredOf(entry, absolute), path, everyMs, accepted: accept }
}

/** The default: each minute, since a person waits for what was merged. */
const LOCK_PERIOD_MS = 60_000

function termsOf(budget: NonNullable<PackEntry['budget']>): BudgetTerms {
  if (typeof budget === 'number') return { client: 'claude-code', characters: budget }
  const { client, characters, window } = budget
  const number = characters !== undefined && (client === undefined ? { characters } : { list: characters })
  return { client: client ?? 'claude-code', ...number, ...(window !== undefined && { window }) }
}

type PackEntry = NonNullable<ConfigFile['packs']>[number]

function packOf({ id, description, include, exclude = [] }: PackEntry): Pack {
  return { id, description, include: include.map(choiceOf), exclude: exclude.map(choiceOf) }
}

function choiceOf({
  source,
  path,
  name,
  tag,
  plugin,
}: { readonly [Key in keyof PackSelection]: string | undefined }): PackSelection {
  return {
    ...(source !== undefined && { source }),
    ...(path !== undefined && { path }),
    ...(name !== undefined && { name }),
    ...(tag !== undefined && { tag }),
    ...(plugin !== undefined && { plugin }),
  }
}

function keptFolderOf(entry: NonNullable<ConfigFile['links']>[number], absolute: Absolute): KeptFolder {
  if (typeof entry === 'string') return { agent: entry, copies: false }
  const { agent, to, copy: copies = false } = entry
  if (to !== undefined) return { to: absolute(to), copies }
  // The schema refuses an entry without either before this point.
  if (agent === undefined) throw new TypeError('A folder without an agent and a path was let through')
  return { agent, copies }
}

/** The address that `defaults` are matched against. */
function addressOf({ url, mcp, follow }: SourceEntry): string {
  return url ?? follow?.url ?? (typeof mcp === 'string' ? mcp : '')
}

const FREE: Mode = { locked: false, offline: false }

type LimitsEntry = ConfigFile['limits']

/** The limits, each with the name that the code has for it. */
function limitsOf({ skill, frontmatter, repository, fetch, listing, http, disk }: LimitsEntry): Limits {
  return {
    skill,
    frontmatter,
    fetch: {
      connectMs: fetch.connect_timeout,
      idleMs: fetch.idle_timeout,
      totalMs: fetch.total_timeout,
      packBytes: repository.bytes,
      files: repository.files,
      // A file larger than the limit of a skill is useless.
      blobBytes: skill.bytes,
      segmentBytes: repository.segment_bytes,
      pathBytes: repository.path_bytes,
      depth: repository.depth,
    },
    fetches: { concurrency: fetch.concurrency, perHost: fetch.concurrency_per_host },
    listing,
    http: httpLimitsOf(http),
    disk,
  }
}

function httpLimitsOf(entry: LimitsEntry['http']): HttpLimitsConfig {
  return {
    bodyBytes: entry.body_bytes,
    headersMs: entry.header_timeout,
    requestMs: entry.request_timeout,
    connections: entry.connections,
    connectionsPerAddress: entry.connections_per_address,
    rate: entry.rate && { requests: entry.rate.requests, perMs: entry.rate.per },
    streams: entry.streams,
    streamBytes: entry.stream_bytes,
    sessions: entry.sessions,
    sessionIdleMs: entry.session_idle_timeout,
  }
}

/** The audit log; `undefined` if nothing is recorded. */
function auditConfigOf(entry: ConfigFile['audit']): AuditConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { bytes: entry?.bytes ?? AUDIT.bytes, files: entry?.files ?? AUDIT.files }
}

const AUDIT: AuditConfig = { bytes: 2 ** 23, files: 8 }

/** The counts of use; `undefined` if no use is counted. */
function usageConfigOf(entry: ConfigFile['usage']): UsageConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { principals: entry?.principals ?? false, days: entry?.days ?? USAGE_DAYS, otlp: entry?.otlp ?? false }
}

const USAGE_DAYS = 400
