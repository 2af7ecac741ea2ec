import type { AuditConfig, HttpLimitsConfig, Limits, UsageConfig } from './config.ts'
import type { ConfigFile } from './schema/schema.ts'

type LimitsEntry = ConfigFile['limits']

/** The limits, each with the name that the code has for it. */
export function limitsOf({ skill, frontmatter, repository, fetch, listing, http, disk }: LimitsEntry): Limits {
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
export function auditConfigOf(entry: ConfigFile['audit']): AuditConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { bytes: entry?.bytes ?? AUDIT.bytes, files: entry?.files ?? AUDIT.files }
}

const AUDIT: AuditConfig = { bytes: 2 ** 23, files: 8 }

/** The counts of use; `undefined` if no use is counted. */
export function usageConfigOf(entry: ConfigFile['usage']): UsageConfig | undefined {
  if (entry?.enabled === false) return undefined
  return { principals: entry?.principals ?? false, days: entry?.days ?? USAGE_DAYS, otlp: entry?.otlp ?? false }
}

const USAGE_DAYS = 400
