import { z } from 'zod'
import { SKILL_LIMITS } from '../../../sync/model/skill.ts'
import { FRONTMATTER_LIMITS } from '../../../sync/skill/frontmatter.ts'
import { RETENTION } from '../../../sync/store/garbage-collect.ts'
import { FETCH_LIMITS } from '../../../sync/upstream/upstream.ts'
import { bytes, shortestBytesText, count, duration, durationText } from '../schema/scalars.ts'

// `limits` and `retention`: the limits that an operator sets. Most defaults come from the module that enforces the limit.

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
    connections: ofCount(
      10_000,
      'Connections at once, and streams among them; above 10000 also the sessions of the 2025 era. Of streams and sessions, the client with the most loses one to the others.',
    ),
    connections_per_address: count()
      .optional()
      .describe('Connections at once from one address; an IPv6 network of 64 bits is one. Default: no limit.'),
    rate: z
      .strictObject({
        requests: count().describe('Requests; each message of a batch is one.'),
        per: duration().describe('The time in which they may be sent.'),
      })
      .optional()
      .describe('Requests of a token, else of an address; above it, the answer is 429. Default: no limit.'),
  })
  .transform(({ connections, connections_per_address: connectionsPerAddress, rate }) => ({
    ...HTTP_BOUNDS,
    connections,
    connectionsPerAddress,
    rate: rate && { requests: rate.requests, perMs: rate.per },
    streams: connections,
    sessions: Math.max(LEAST_SESSIONS, connections),
  }))

/** The bounds that no operator sets. */
const HTTP_BOUNDS = {
  bodyBytes: 2 ** 20,
  headersMs: 10_000,
  requestMs: 30_000,
  streamBytes: 2 ** 20,
  sessionIdleMs: 30 * 86_400_000,
}

/** Sessions outlive the connections of their clients. */
const LEAST_SESSIONS = 10_000

export const LIMITS = z
  .strictObject({
    skill: z
      .strictObject({
        files: ofCount(SKILL_LIMITS.files, 'Its files.'),
        bytes: ofBytes(SKILL_LIMITS.bytes, 'All of its files together.'),
      })
      .prefault({})
      .describe(
        'One skill; above it, it is withheld, never trimmed. The defaults are what every client of the extension must support.',
      ),
    repository: z
      .strictObject({
        bytes: ofBytes(FETCH_LIMITS.packBytes, 'One fetch over the network.'),
        files: ofCount(FETCH_LIMITS.files, 'Entries of all folders of one commit, below `root` and `docs` only.'),
      })
      .prefault({})
      .describe('One repository.'),
    fetch: z
      .strictObject({
        concurrency: ofCount(
          4,
          'Fetches at once. One of more than 2 s gives its place to the next, and continues in one of twice as many further places.',
        ),
        concurrency_per_host: ofCount(2, 'Fetches at once from one host.'),
        connect_timeout: ofTimer(FETCH_LIMITS.connectMs, 'The time until the first byte.'),
        idle_timeout: ofTimer(FETCH_LIMITS.idleMs, 'The time between two bytes.'),
        total_timeout: ofTimer(FETCH_LIMITS.totalMs, 'The time for one whole fetch.'),
      })
      .prefault({})
      .describe('Fetching.'),
    listing: z
      .strictObject({
        entries: ofCount(1000, 'Its entries.'),
        bytes: ofBytes(2 ** 20, 'Its size.'),
      })
      .prefault({})
      .describe('One page of a served listing. Some clients read the first page alone.'),
    http: HTTP_LIMITS.prefault({}).describe('What HTTP clients can use.'),
    disk: z
      .strictObject({
        bytes: ofBytes(
          RETENTION.bytes,
          'All stored content. Older generations are removed first; no fetch starts above it.',
        ),
      })
      .prefault({})
      .describe('The disk.'),
  })
  .transform(({ skill, repository, fetch, listing, http, disk }) => ({
    skill,
    frontmatter: FRONTMATTER_LIMITS,
    fetch: {
      ...FETCH_LIMITS,
      connectMs: fetch.connect_timeout,
      idleMs: fetch.idle_timeout,
      totalMs: fetch.total_timeout,
      packBytes: repository.bytes,
      files: repository.files,
      // A file larger than the limit of a skill is useless.
      blobBytes: skill.bytes,
    },
    fetches: { concurrency: fetch.concurrency, perHost: fetch.concurrency_per_host },
    listing,
    http,
    disk,
  }))
  .prefault({})
  .describe('Above a limit, the content or request is refused, and the limit is named.')

/** Limits on what other parties can make the daemon do. */
export type Limits = z.output<typeof LIMITS>

export const RETENTION_PERIOD = z
  .strictObject({
    generations: ofCount(RETENTION.generations, 'Generations that are kept, whatever their age.'),
    younger_than: ofTime(RETENTION.youngerThanMs, 'Younger ones are kept, whatever their number.'),
  })
  .transform(({ generations, younger_than: youngerThanMs }) => ({ generations, youngerThanMs }))
  .prefault({})
  .describe(
    'The generations that are kept for a rollback. Served and locked content always stays. Names of all stay for 90 days, in 128 MiB.',
  )
