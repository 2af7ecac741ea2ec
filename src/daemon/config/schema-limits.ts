import { z } from 'zod'
import { SKILL_LIMITS } from '../../sync/model/skill.ts'
import { FRONTMATTER_LIMITS } from '../../sync/skill-md/frontmatter.ts'
import { RETENTION } from '../../sync/store/garbage-collect.ts'
import { FETCH_LIMITS } from '../../sync/upstream/upstream.ts'
import { bytes, shortestBytesText, count, duration, durationText } from './scalars.ts'

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

const HTTP_LIMITS = z.strictObject({
  body_bytes: ofBytes(2 ** 20, 'The body of one request.'),
  header_timeout: ofTimer(10_000, 'How long a client may take to send its headers.'),
  request_timeout: ofTimer(
    30_000,
    'How long a client may take to send a whole request, and the daemon to serve one batch of them.',
  ),
  connections: ofCount(10_000, 'Connections open at once.'),
  streams: ofCount(
    10_000,
    'Streams open at once; above it the client that holds most gives one to the others, and is refused more.',
  ),
  sessions: ofCount(
    10_000,
    'Sessions of the 2025 era; above it the client that holds most loses the one that it did not use for longest.',
  ),
  session_idle_timeout: ofTime(30 * 86_400_000, 'How long a session is kept that nobody uses.'),
  stream_bytes: ofBytes(2 ** 20, 'What may wait for a client that does not read, before its stream is closed.'),
  connections_per_address: count().optional().describe('Connections open at once from one address.'),
  rate: z
    .strictObject({
      requests: count().describe('How many requests; each message of a batch is one.'),
      per: duration().describe('In how long a time.'),
    })
    .optional()
    .describe('How many requests each client may send; above it the answer is 429 with Retry-After.'),
})

export const LIMITS = z.strictObject({
  skill: z
    .strictObject({
      files: ofCount(SKILL_LIMITS.files, 'Files of one skill. Above it the skill is withheld, never trimmed.'),
      bytes: ofBytes(
        SKILL_LIMITS.bytes,
        'Size of one skill, all of its files. Above it the skill is withheld, never trimmed.',
      ),
    })
    .prefault({})
    .describe('Bounds of one skill. The defaults are what every client of the extension must cope with.'),
  frontmatter: z
    .strictObject({
      bytes: ofBytes(FRONTMATTER_LIMITS.bytes, 'Size of the frontmatter of one SKILL.md.'),
      depth: ofCount(FRONTMATTER_LIMITS.depth, 'Levels of nesting in it.'),
    })
    .prefault({})
    .describe('Bounds of the frontmatter.'),
  repository: z
    .strictObject({
      bytes: ofBytes(FETCH_LIMITS.packBytes, 'What one fetch may bring over the wire.'),
      files: ofCount(FETCH_LIMITS.files, 'Entries of all folders of one commit, below `root` and `docs` alone.'),
      segment_bytes: ofBytes(FETCH_LIMITS.segmentBytes, 'Length of one name.'),
      path_bytes: ofBytes(FETCH_LIMITS.pathBytes, 'Length of one path.'),
      depth: ofCount(FETCH_LIMITS.depth, 'Levels of folders.'),
    })
    .prefault({})
    .describe('Bounds of one repository.'),
  fetch: z
    .strictObject({
      concurrency: ofCount(
        4,
        'Fetches at once. One that takes over 2 s leaves its place to the next, and goes on in one of twice as many besides.',
      ),
      concurrency_per_host: ofCount(2, 'Fetches at once from one host.'),
      connect_timeout: ofTimer(FETCH_LIMITS.connectMs, 'How long until the first byte.'),
      idle_timeout: ofTimer(FETCH_LIMITS.idleMs, 'How long without a byte.'),
      total_timeout: ofTimer(FETCH_LIMITS.totalMs, 'How long one fetch may take, all in all.'),
    })
    .prefault({})
    .describe('Bounds of fetching.'),
  listing: z
    .strictObject({
      entries: ofCount(1000, 'Entries of one page of a listing.'),
      bytes: ofBytes(2 ** 20, 'Size of one page of a listing.'),
    })
    .prefault({})
    .describe('Bounds of one page of a listing that we serve.'),
  http: HTTP_LIMITS.prefault({}).describe('Bounds of what HTTP clients can make us hold.'),
  disk: z
    .strictObject({
      bytes: ofBytes(
        RETENTION.bytes,
        'Size of what is kept, the served skills included. Older generations go first; no fetch starts above it.',
      ),
    })
    .prefault({})
    .describe('Bounds of the disk.'),
})

export const KEPT = z.strictObject({
  generations: ofCount(RETENTION.generations, 'Generations kept, whatever their age.'),
  younger_than: ofTime(RETENTION.youngerThanMs, 'Generations younger than this are kept, whatever their number.'),
})
