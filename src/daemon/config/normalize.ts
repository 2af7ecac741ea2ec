import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ARCHIVE_FORMATS } from '../../serve/mcp/resources/derived/archive.ts'
import type { BudgetTerms } from '../../sync/budget/context-budget.ts'
import type { PackSelection, Pack } from '../../sync/catalog/pack.ts'
import type { AskedRef } from '../../sync/model/revision.ts'
import type {
  Brakes,
  Budgets,
  ChannelSource,
  LifecycleRule,
  McpPlace,
  McpSource,
  Schedule,
  Source,
} from '../../sync/model/source.ts'
import { followedLockFile } from '../../sync/store/followed-lock.ts'
import type { ProxyChoice, HostAuth, CredentialHelper, FixedAccess, ProgramValue, SecretReference } from './auth.ts'
import { TOKEN_USERNAME } from './auth.ts'
import type {
  AuditConfig,
  UsageConfig,
  Config,
  ConfiguredSource,
  HostConfig,
  HostDefaults,
  HttpLimitsConfig,
  KeptFolder,
  Limits,
  LockOrigin,
  Mode,
  ChannelConfig,
  WitnessConfig,
  Publication,
  SignedBy,
} from './config.ts'
import { withDefaults } from './defaults.ts'
import type { Environment } from './environment.ts'
import { gateOf } from './gate.ts'
import {
  formsOf,
  httpAddressOf,
  marketplaceConfigOf,
  modelSurfacesOf,
  oauthConfigOf,
  webConfigOf,
} from './normalize-serve.ts'
import { earlierRing, ringsOf } from './rings.ts'
import { OF_HUB, OF_LOCK } from './schema-source.ts'
import type { ConfigFile } from './schema.ts'

type SourceEntry = NonNullable<ConfigFile['sources']>[number]
type AuthEntry = NonNullable<SourceEntry['auth']>
type HelperEntry = NonNullable<AuthEntry['helper']>
type SecretEntry = NonNullable<AuthEntry['token']>
type SignedEntry = NonNullable<SourceEntry['signed']>
type PublicationEntry = NonNullable<ConfigFile['publish']>[number]
type DefaultsEntry = NonNullable<ConfigFile['defaults']>[number]
type LimitsEntry = ConfigFile['limits']

/** The configuration of a checked file: paths are absolute, access is resolved, and disabled sources are left out. */
export function configOf(file: ConfigFile, fileName: string, environment: Environment): Config {
  const absolute = (path: string) => absolutePath(path, dirname(fileName), environment)
  const state = file.state === undefined ? environment.state : absolute(file.state)
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
    audit: auditOf(file.audit),
    usage: usageOf(file.usage),
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
  const { client = 'claude-code', characters, window } = budget
  return { client, ...(characters !== undefined && { characters }), ...(window !== undefined && { window }) }
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

function publicationOf(entry: PublicationEntry, defaults: readonly DefaultsEntry[], absolute: Absolute): Publication[] {
  const { git: url, branch = 'main', pack } = entry
  if (url === undefined) return []
  const { auth, ca, proxy } = withDefaults(entry, url, defaults)
  return [{ kind: 'git', url, branch, pack, ...hostConfigOf({ auth, ca, proxy }, absolute) }]
}

function channelOf(
  { name, key, witnesses = [], quorum }: NonNullable<ConfigFile['channel']>,
  defaults: readonly DefaultsEntry[],
  { reference, absolute }: { readonly reference: (entry: SecretEntry) => SecretReference; readonly absolute: Absolute },
): ChannelConfig {
  return {
    name,
    keys: [key].flat().map(reference),
    witnesses: witnesses.map((witness) => witnessOf(witness, defaults, absolute)),
    quorum: quorumOf(witnesses.length, quorum),
  }
}

/** A witness needs no credential: the checkpoint is signed. */
function witnessOf(
  { url, key }: { readonly url: string; readonly key: string },
  defaults: readonly DefaultsEntry[],
  absolute: Absolute,
): WitnessConfig {
  const { ca, proxy } = hostConfigOf(withDefaults<Pick<PublicationEntry, 'ca' | 'proxy'>>({}, url, defaults), absolute)
  return { url: url.endsWith('/') ? url : `${url}/`, key, ca, proxy }
}

/** The majority, unless another number is set. */
function quorumOf(witnesses: number, quorum: number | undefined): number {
  if (witnesses === 0) return 0
  return quorum ?? Math.floor(witnesses / 2) + 1
}

function hostDefaultsOf({ match, auth, ca, proxy }: DefaultsEntry, absolute: Absolute): HostDefaults {
  return {
    match,
    ...(auth !== undefined && { access: accessOf(auth, absolute) }),
    ...(ca !== undefined && { ca: absolute(ca) }),
    ...(proxy !== undefined && { proxy: proxyOf(proxy, absolute) }),
  }
}

function hostConfigOf(
  { auth, ca, proxy }: Pick<PublicationEntry, 'auth' | 'ca' | 'proxy'>,
  absolute: Absolute,
): HostConfig {
  return {
    access: accessOf(auth, absolute),
    ca: ca === undefined ? undefined : absolute(ca),
    proxy: proxyOf(proxy, absolute),
  }
}

/** The address that `defaults` are matched against. */
function addressOf({ url, mcp, follow }: SourceEntry): string {
  return url ?? follow?.url ?? (typeof mcp === 'string' ? mcp : '')
}

/** A bare name is looked up in PATH. */
function programOf(program: string, absolute: (path: string) => string): string {
  return program.includes('/') ? absolute(program) : program
}

function auditOf(entry: ConfigFile['audit']): AuditConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { bytes: entry?.bytes ?? AUDIT.bytes, files: entry?.files ?? AUDIT.files }
}

function usageOf(entry: ConfigFile['usage']): UsageConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { principals: entry?.principals ?? false, days: entry?.days ?? USAGE_DAYS, otlp: entry?.otlp ?? false }
}

const USAGE_DAYS = 400

const AUDIT: AuditConfig = { bytes: 2 ** 23, files: 8 }

const FREE: Mode = { locked: false, offline: false }

function absolutePath(path: string, folder: string, environment: Environment): string {
  if (path === '~' || path.startsWith('~/')) return join(environment.home, path.slice(1))
  return resolve(folder, path)
}

type Absolute = (path: string) => string

function configuredOf(entry: SourceEntry, absolute: Absolute): ConfiguredSource {
  const program = typeof entry.mcp === 'object' ? programValuesOf(entry.mcp.env, absolute) : undefined
  return {
    source: sourceOf(entry, absolute),
    access:
      entry.mcp === undefined && entry.follow === undefined
        ? accessOf(entry.auth, absolute)
        : bearerOf(entry.auth, absolute),
    ...(program !== undefined && { programEnv: program }),
    ca: entry.ca === undefined ? undefined : absolute(entry.ca),
    proxy: proxyOf(entry.proxy, absolute),
    webhook: webhookOf(entry.webhook, absolute),
    signed: signedOf(entry.signed, absolute),
    ...(entry.fallback !== undefined && { fallback: entry.fallback }),
    required: entry.required,
    maxAgeMs: entry.max_age,
    archives: ARCHIVE_FORMATS.filter((format) => entry.archives?.includes(format)),
  }
}

function sourceOf(entry: SourceEntry, absolute: Absolute): Source {
  const {
    id,
    url,
    path,
    links = 'inside',
    update,
    contract = false,
    docs,
    root,
    include,
    exclude,
    unlisted,
    names,
    nested,
    strict,
    on_broken: onBroken,
    lfs,
    policy,
  } = entry
  const hiddenUnicode = policy?.['hidden-unicode'] ?? 'deceptive'
  const marketplace = entry.mcp === undefined && entry.marketplace === true
  const taken = { root, include, exclude, unlisted, names, nested, strict, onBroken, lfs }
  const selection = { ...taken, hiddenUnicode, contract, docs, marketplace }
  const lifecycle = entry.lifecycle?.map(lifecycleRuleOf)
  const moves = { ref: askedOf(entry), update, brakes: brakesOf(entry), schedule: scheduleOf(entry) }
  const following = { ...moves, ...(lifecycle !== undefined && { lifecycle }) }
  if (path !== undefined) {
    const folder = absolute(path)
    return { kind: 'directory', id, url: pathToFileURL(folder).href, path: folder, links, ...following, ...selection }
  }
  if (entry.follow !== undefined) return { id, ...channelSourceOf(entry.follow, absolute), ...following, ...selection }
  if (entry.mcp !== undefined) return { ...mcpOf(entry, entry.mcp, absolute), ...following, ...selection }
  // The rules between keys refuse a source without an address before this point.
  if (url === undefined) throw new TypeError('A source without an address was let through')
  return { kind: 'git', id, url, backend: entry.backend ?? 'auto', ...following, ...selection }
}

function lifecycleRuleOf({
  include,
  deprecated,
  replaced_by: replacedBy,
  owner,
  depends_on: dependsOn,
}: NonNullable<SourceEntry['lifecycle']>[number]): LifecycleRule {
  const edit = {
    ...(deprecated !== undefined && { deprecated }),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(owner !== undefined && { owner }),
    ...(dependsOn !== undefined && { dependsOn }),
  }
  return { include, edit }
}

function channelSourceOf(
  { url, path, key, max_age: maxAgeMs, witnesses = [], quorum }: NonNullable<SourceEntry['follow']>,
  absolute: Absolute,
): Pick<ChannelSource, 'kind' | 'url' | 'place' | 'keys' | 'maxAgeMs' | 'witnesses' | 'quorum'> {
  const signed = { keys: [key].flat(), maxAgeMs, witnesses, quorum: quorumOf(witnesses.length, quorum) }
  if (url !== undefined)
    return { kind: 'channel', url: url.endsWith('/') ? url : `${url}/`, place: { kind: 'http' }, ...signed }
  const folder = absolute(path ?? '')
  return { kind: 'channel', url: pathToFileURL(folder).href, place: { kind: 'folder', path: folder }, ...signed }
}

type OfMcp = Pick<
  McpSource,
  'kind' | 'id' | 'url' | 'place' | 'approval' | 'fetching' | 'folders' | 'budgets' | 'packed' | 'unverifiable' | 'uris'
>

function mcpOf(entry: SourceEntry, mcp: NonNullable<SourceEntry['mcp']>, absolute: Absolute): OfMcp {
  const place = placeOf(mcp, absolute)
  return {
    kind: 'mcp',
    id: entry.id,
    url: place.kind === 'http' ? place.url : `program:${[place.command, ...place.args].map(encodeURI).join(' ')}`,
    place,
    approval: entry.approval ?? 'required',
    fetching: entry.fetch ?? 'lazy',
    folders: entry.folders ?? false,
    budgets: budgetsOf(entry.budgets),
    packed: entry.packed ?? 'ignore',
    unverifiable: entry.unverifiable ?? 'withhold',
    uris: entry.uris ?? [],
  }
}

function placeOf(mcp: NonNullable<SourceEntry['mcp']>, absolute: Absolute): McpPlace {
  if (typeof mcp === 'string') return { kind: 'http', url: mcp }
  return { kind: 'program', command: programOf(mcp.command, absolute), args: mcp.args ?? [] }
}

function budgetsOf(entry: SourceEntry['budgets']): Budgets {
  return {
    fileBytes: entry?.file_bytes ?? 2 ** 24,
    listing: {
      bytes: entry?.listing_bytes ?? 2 ** 26,
      pages: entry?.listing_pages ?? 1000,
      entries: entry?.listing_entries ?? 50_000,
      timeoutMs: entry?.listing_timeout ?? 60_000,
    },
    storedBytes: entry?.stored_bytes ?? 2 ** 30,
    hourlyBytes: entry?.hourly_bytes ?? 200 * 2 ** 20,
  }
}

function askedOf({ ref }: SourceEntry): AskedRef {
  if (typeof ref !== 'object') return ref
  return { range: ref.range, prefix: ref.prefix ?? '', prereleases: ref.prereleases ?? false }
}

function brakesOf({ brakes }: SourceEntry): Brakes {
  return {
    movedTag: brakes?.moved_tag ?? 'hold',
    massDeletion: brakes?.mass_deletion ?? 'hold',
    olderCommit: brakes?.older_commit ?? 'hold',
  }
}

/** The default: every five minutes. */
const PERIOD_MS = 300_000

/** Checking an unchanged folder needs no network. It is also watched, if watching works. */
const FOLDER_PERIOD_MS = 30_000

function scheduleOf({ schedule, every, path }: SourceEntry): Schedule {
  if (schedule !== undefined) return { kind: 'cron', expression: schedule }
  return { kind: 'every', periodMs: every ?? (path === undefined ? PERIOD_MS : FOLDER_PERIOD_MS) }
}

function accessOf(auth: AuthEntry | undefined, absolute: Absolute): HostAuth {
  if (auth?.github_app !== undefined) {
    const { app_id: appId, installation_id: installationId, private_key: key, api_url: apiUrl } = auth.github_app
    const privateKey = referenceOf(key, absolute)
    return { kind: 'github-app', appId, installationId, privateKey, apiUrl: apiUrl ?? GITHUB_API }
  }
  if (auth?.ssh !== undefined) {
    const { key, passphrase, known_hosts: hosts } = auth.ssh
    return {
      kind: 'ssh',
      key: referenceOf(key, absolute),
      passphrase: passphrase && referenceOf(passphrase, absolute),
      knownHosts: hosts && absolute(hosts),
    }
  }
  return auth?.helper === undefined ? fixedAccessOf(auth, absolute) : helperOf(auth.helper, absolute)
}

const GITHUB_API = 'https://api.github.com'

function fixedAccessOf(
  auth: (Pick<AuthEntry, 'basic' | 'header'> & Partial<Pick<AuthEntry, 'token' | 'username'>>) | undefined,
  absolute: Absolute,
): FixedAccess {
  if (auth?.basic !== undefined) {
    return { kind: 'basic', username: auth.basic.username, password: referenceOf(auth.basic.password, absolute) }
  }
  if (auth?.token !== undefined) {
    return { kind: 'basic', username: auth.username ?? TOKEN_USERNAME, password: referenceOf(auth.token, absolute) }
  }
  if (auth?.header !== undefined) {
    return { kind: 'header', name: auth.header.name, value: referenceOf(auth.header.value, absolute) }
  }
  return { kind: 'none' }
}

function webhookOf(entry: SourceEntry['webhook'], absolute: (path: string) => string): ConfiguredSource['webhook'] {
  return entry && { provider: entry.provider, secret: referenceOf(entry.secret, absolute) }
}

/** The credential for an MCP server or another hub: there a token is a bearer token, unlike for git hosts. */
function bearerOf(auth: AuthEntry | undefined, absolute: Absolute): HostAuth {
  if (auth?.token === undefined || auth.username !== undefined) return accessOf(auth, absolute)
  return { kind: 'bearer', token: referenceOf(auth.token, absolute) }
}

function helperOf({ command, args = [], env, timeout }: HelperEntry, absolute: Absolute): CredentialHelper {
  return {
    kind: 'helper',
    command: programOf(command, absolute),
    args,
    env: programValuesOf(env, absolute),
    timeoutMs: timeout ?? HELPER_MS,
  }
}

function programValuesOf(env: HelperEntry['env'], absolute: Absolute): Readonly<Record<string, ProgramValue>> {
  const values = Object.entries(env ?? {}).map(([name, entry]): [string, ProgramValue] => [
    name,
    'value' in entry ? { kind: 'value', value: entry.value } : referenceOf(entry, absolute),
  ])
  return Object.fromEntries(values)
}

const HELPER_MS = 30_000

function proxyOf(proxy: SourceEntry['proxy'], absolute: Absolute): ProxyChoice {
  if (proxy === undefined) return { kind: 'variables' }
  if (proxy === 'none') return { kind: 'none' }
  return { kind: 'named', url: new URL(proxy.url).origin, access: fixedAccessOf(proxy.auth, absolute) }
}

function referenceOf(entry: SecretEntry, absolute: Absolute): SecretReference {
  if (entry.env !== undefined) return { kind: 'env', name: entry.env }
  if (entry.file !== undefined) return { kind: 'file', path: absolute(entry.file) }
  return { kind: 'credential', name: entry.credential ?? '' }
}

function signedOf(entry: SignedEntry | undefined, absolute: (path: string) => string): SignedBy | undefined {
  if (entry === undefined) return undefined
  const { require, allowed_signers: signers, keyring, grace: graceMs } = entry
  return {
    require,
    allowedSigners: signers === undefined ? undefined : absolute(signers),
    keyring: keyring === undefined ? undefined : absolute(keyring),
    graceMs,
  }
}

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
