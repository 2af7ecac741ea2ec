import { dirname, join, resolve } from 'node:path'
import type { Schedule, Source } from '../../sync/model/source.ts'
import { TOKEN_USERNAME } from './access.ts'
import type { Access, SecretReference } from './access.ts'
import type { Environment } from './environment.ts'
import type { ConfigFile } from './schema.ts'
import type { Config, HttpLimits, Limits } from '../config.ts'

type SourceEntry = ConfigFile['sources'][number]
type AuthEntry = NonNullable<SourceEntry['auth']>
type SecretEntry = NonNullable<AuthEntry['token']>
type LimitsEntry = ConfigFile['limits']

/** What a checked file means here: paths made absolute, access settled, and what is disabled left out. */
export function configOf(file: ConfigFile, fileName: string, environment: Environment): Config {
  const absolute = (path: string) => absolutePath(path, dirname(fileName), environment)
  const enabled = file.sources.filter((source) => source.enabled)
  return {
    file: resolve(fileName),
    sources: enabled.map((entry) => ({ source: sourceOf(entry), access: accessOf(entry.auth, absolute) })),
    serve: {
      http: { host: file.serve.http.host, port: file.serve.http.port },
      instructions: file.serve.instructions,
    },
    state: file.state === undefined ? environment.state : absolute(file.state),
    retention: {
      generations: file.retention.generations,
      youngerThanMs: file.retention.younger_than,
      bytes: file.limits.disk.bytes,
    },
    limits: limitsOf(file.limits),
    programs: {
      git: programOf(file.programs?.git ?? 'git', absolute),
      ssh: programOf(file.programs?.ssh ?? 'ssh', absolute),
    },
  }
}

/** A bare name is looked up in PATH. */
function programOf(program: string, absolute: (path: string) => string): string {
  return program.includes('/') ? absolute(program) : program
}

function absolutePath(path: string, folder: string, environment: Environment): string {
  if (path === '~' || path.startsWith('~/')) return join(environment.home, path.slice(1))
  return resolve(folder, path)
}

function sourceOf(entry: SourceEntry): Source {
  const { id, url, ref, root, include, exclude, unlisted, names, strict, lfs } = entry
  // The table of later keys refuses a file with another kind of source or of ref before this is asked.
  if (url === undefined || typeof ref === 'object') throw new TypeError('A source of a later version was let through')
  const selection = { root, include, exclude, unlisted, names, strict, lfs }
  return { kind: 'git', id, url, ref, schedule: scheduleOf(entry), ...selection }
}

/** Every five minutes, if nothing else is said. */
const PERIOD_MS = 300_000

function scheduleOf({ schedule, every }: SourceEntry): Schedule {
  if (schedule !== undefined) return { kind: 'cron', expression: schedule }
  return { kind: 'every', periodMs: every ?? PERIOD_MS }
}

function accessOf(auth: AuthEntry | undefined, absolute: (path: string) => string): Access {
  if (auth?.basic !== undefined) {
    return { kind: 'basic', username: auth.basic.username, password: referenceOf(auth.basic.password, absolute) }
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
  if (auth?.token !== undefined) {
    return { kind: 'basic', username: auth.username ?? TOKEN_USERNAME, password: referenceOf(auth.token, absolute) }
  }
  return { kind: 'none' }
}

function referenceOf(entry: SecretEntry, absolute: (path: string) => string): SecretReference {
  if (entry.env !== undefined) return { kind: 'env', name: entry.env }
  if (entry.file !== undefined) return { kind: 'file', path: absolute(entry.file) }
  return { kind: 'credential', name: entry.credential ?? '' }
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
      // A file larger than a skill may be is of no use to us.
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

function httpLimitsOf(entry: LimitsEntry['http']): HttpLimits {
  return {
    bodyBytes: entry.body_bytes,
    headersMs: entry.header_timeout,
    requestMs: entry.request_timeout,
    connections: entry.connections,
    streams: entry.streams,
    sessions: entry.sessions,
    sessionIdleMs: entry.session_idle_timeout,
  }
}
