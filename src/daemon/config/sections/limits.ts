import { z } from 'zod'
import { SKILL_LIMITS } from '../../../sync/model/skill.ts'
import { FRONTMATTER_LIMITS } from '../../../sync/skill/frontmatter.ts'
import { RETENTION } from '../../../sync/store/garbage-collect.ts'
import { FETCH_LIMITS } from '../../../sync/upstream/upstream.ts'
import { bytes, shortestBytesText, count, duration, durationText } from '../schema/scalars.ts'

// `limits` and `retention`: every limit of this program. Most defaults come from the module that enforces the limit.

function ofBytes(fallback: number, description: string) {
  return bytes().prefault(shortestBytesText(fallback)).describe(description)
}

function ofTime(fallbackMs: number, description: string) {
  return duration().prefault(durationText(fallbackMs)).describe(description)
}

/** For values that a timer measures: a Node timer longer than 2^31-1 ms fires at once. */
function ofTimer(fallbackMs: number, description: string) {
  return duration({ most: '24d' }).prefault(durationText(fallbackMs)).describe(description)
}

function ofCount(fallback: number, description: string) {
  return count().default(fallback).describe(description)
}

const HTTP_LIMITS = z
  .strictObject({
    body_bytes: ofBytes(2 ** 20, 'Size of the body of one request.'),
    header_timeout: ofTimer(10_000, 'Time limit for a client to send its headers.'),
    request_timeout: ofTimer(
      30_000,
      'Time limit for a client to send a whole request, and for the daemon to serve one batch.',
    ),
    connections: ofCount(10_000, 'Connections open at once.'),
    streams: ofCount(
      10_000,
      'Streams open at once; above it, the client with the most streams loses one to the others, and gets no further one.',
    ),
    sessions: ofCount(
      10_000,
      'Sessions of the 2025 era; above it, the client with the most sessions loses its least recently used one.',
    ),
    session_idle_timeout: ofTime(30 * 86_400_000, 'Time after which an unused session is closed.'),
    stream_bytes: ofBytes(2 ** 20, 'Size of the data that may wait for a slow client before its stream is closed.'),
    connections_per_address: count().optional().describe('Connections open at once from one address.'),
    rate: z
      .strictObject({
        requests: count().describe('Number of requests; each message of a batch counts as one.'),
        per: duration().describe('The period that the number applies to.'),
      })
      .optional()
      .describe('Requests per client; above it, the answer is 429 with Retry-After.'),
  })
  .transform((entry) => ({
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
  }))

export const LIMITS = z
  .strictObject({
    skill: z
      .strictObject({
        files: ofCount(SKILL_LIMITS.files, 'Files of one skill. Above it the skill is withheld, never trimmed.'),
        bytes: ofBytes(
          SKILL_LIMITS.bytes,
          'Size of one skill, all of its files. Above it the skill is withheld, never trimmed.',
        ),
      })
      .prefault({})
      .describe('Limits for one skill. The defaults are what every client of the extension must support.'),
    frontmatter: z
      .strictObject({
        bytes: ofBytes(FRONTMATTER_LIMITS.bytes, 'Size of the frontmatter of one SKILL.md.'),
        depth: ofCount(FRONTMATTER_LIMITS.depth, 'Levels of nesting in it.'),
      })
      .prefault({})
      .describe('Limits for the frontmatter.'),
    repository: z
      .strictObject({
        bytes: ofBytes(FETCH_LIMITS.packBytes, 'Size of one fetch over the network.'),
        files: ofCount(FETCH_LIMITS.files, 'Entries of all folders of one commit, below `root` and `docs` only.'),
        segment_bytes: ofBytes(FETCH_LIMITS.segmentBytes, 'Length of one name.'),
        path_bytes: ofBytes(FETCH_LIMITS.pathBytes, 'Length of one path.'),
        depth: ofCount(FETCH_LIMITS.depth, 'Levels of folders.'),
      })
      .prefault({})
      .describe('Limits for one repository.'),
    fetch: z
      .strictObject({
        concurrency: ofCount(
          4,
          'Fetches at once. A fetch of more than 2 s gives its place to the next, and continues in one of twice as many further places.',
        ),
        concurrency_per_host: ofCount(2, 'Fetches at once from one host.'),
        connect_timeout: ofTimer(FETCH_LIMITS.connectMs, 'Time limit for the first byte.'),
        idle_timeout: ofTimer(FETCH_LIMITS.idleMs, 'Time limit between two bytes.'),
        total_timeout: ofTimer(FETCH_LIMITS.totalMs, 'Time limit for one whole fetch.'),
      })
      .prefault({})
      .describe('Limits for fetching.'),
    listing: z
      .strictObject({
        entries: ofCount(1000, 'Entries of one page of a listing.'),
        bytes: ofBytes(2 ** 20, 'Size of one page of a listing.'),
      })
      .prefault({})
      .describe('Limits for one page of a served listing.'),
    http: HTTP_LIMITS.prefault({}).describe('Limits for the resources that HTTP clients can use.'),
    disk: z
      .strictObject({
        bytes: ofBytes(
          RETENTION.bytes,
          'Size of all stored content, including the served skills. Older generations are removed first; no fetch starts above it.',
        ),
      })
      .prefault({})
      .describe('Limits for the disk.'),
  })
  .transform(({ skill, frontmatter, repository, fetch, listing, http, disk }) => ({
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
    http,
    disk,
  }))
  .prefault({})
  .describe('Limits for content and clients. Above a limit, the request or content is refused, and the limit is named.')

/** Limits on what other parties can make the daemon do. */
export type Limits = z.output<typeof LIMITS>

export const RETENTION_PERIOD = z
  .strictObject({
    generations: ofCount(RETENTION.generations, 'Generations kept, whatever their age.'),
    younger_than: ofTime(RETENTION.youngerThanMs, 'Generations younger than this are kept, whatever their number.'),
  })
  .transform(({ generations, younger_than: youngerThanMs }) => ({ generations, youngerThanMs }))
  .prefault({})
  .describe('The generations that are kept for a rollback.')
