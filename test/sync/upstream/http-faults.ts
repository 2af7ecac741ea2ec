import { describe, expect, test } from 'vitest'
import type { GitSource } from '../../../src/sync/model/source.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { NOTHING_KNOWN } from '../../../src/sync/upstream/upstream.ts'
import { GitServer, type Fault, type GitRequest, type RequestKind } from '../../support/git/git-server.ts'
import { blobsOf, STEADY, workers } from './reached.ts'
import { contentOf, failureOf, serve, type Served } from './served.ts'

interface Backend {
  readonly backend: GitSource['backend']
  /** How many flipped bytes are tried, and how many of them may do no harm: where progress is told, many are of that. */
  readonly flips: number
  readonly harmless: number
}

/** What a git host does wrong, and what becomes of it, whoever speaks git with it. */
export function refusesTheFaultsOfAHost({ backend, flips, harmless: most }: Backend): void {
  describe.each(EVERYWHERE)('a fault of %s', (on) => {
    test.each(faultsOf(on))('%s is refused and leaves nothing', async (_, fault, expected) => {
      // A busy machine may be long in answering anything.
      await using served = await serve({ backend, ...(isHang(fault) && { limits: SOON }), authorization: SECRET })
      served.server.fault = { ...fault, on }

      const failure = await failureOf(served.reached.tree())

      expect(failure).toMatchObject(expected)
      expect(JSON.stringify([failure.message, String(failure.cause)])).not.toContain('5ecret')
      expect(await served.reached.scratch()).toEqual([])
      expect(workers()).toBe(0)
    })

    test('a redirect to another origin is refused, and the credential stays here', async () => {
      await using served = await serve({ backend, headers: { authorization: SECRET, 'x-api-key': '5ecret' } })
      await using elsewhere = await GitServer.start()
      elsewhere.serve('team', served.repository)
      served.server.fault = { kind: 'redirect', status: 302, to: elsewhere.origin, on }

      const failure = await failureOf(served.reached.tree())

      expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirect') })
      expect(elsewhere.requests).toEqual([])
    })
  })

  test('one byte that is another, anywhere, is refused or does no harm', async () => {
    await using served = await serve({ backend })
    await using tree = await served.reached.tree()
    await tree.take(blobsOf(tree), STEADY)
    const posts = served.server.requests.filter(({ method }) => method === 'POST')
    const lengths = await Promise.all(posts.map((request) => lengthOf(served.url, request)))
    expect(lengths).toHaveLength(3)
    const outcomes: unknown[] = []

    for (let round = 0; round < flips; round += 1) {
      const postsBefore = round % 3
      const at = (round * 7919 + 13) % lengths[postsBefore]!
      outcomes.push(await flipped(served, postsBefore, at))
      expect(await served.reached.scratch()).toHaveLength(1)
    }

    const harmless = outcomes.filter((outcome) => !(outcome instanceof SyncError))
    expect(harmless).toEqual(harmless.map(() => served.content))
    expect(harmless.length).toBeLessThan(most)
    expect(workers()).toBe(1)
  })
}

const SECRET = 'Bearer 5ecret-5ecret'
const SOON = { connectMs: 1500, idleMs: 1500 }

const EVERYWHERE: readonly RequestKind[] = ['info-refs', 'ls-refs', 'fetch']

function faultsOf(on: RequestKind): readonly [string, Fault, Record<string, unknown>][] {
  return [
    ['401', status(401), { code: 'credentials-rejected' }],
    ['403', status(403), { code: 'credentials-rejected' }],
    ['403 with a pause', status(403, { 'retry-after': '60' }), { code: 'rate-limited', retryAfterMs: 60_000 }],
    ['404', status(404), { code: 'repository-not-found' }],
    ['410', status(410), { code: 'repository-not-found' }],
    ['429 with seconds', status(429, { 'retry-after': '7' }), { code: 'rate-limited', retryAfterMs: 7000 }],
    ['429 with a date', status(429, DATES), { code: 'rate-limited', retryAfterMs: 90_000 }],
    ['429 without a word', status(429), { code: 'rate-limited', retryAfterMs: undefined }],
    ['500', status(500), { code: 'source-unreachable' }],
    ['503', status(503, { 'retry-after': '5' }), { code: 'source-unreachable', retryAfterMs: 5000 }],
    ['a web page', status(200, { 'content-type': 'text/html; charset=utf-8' }), { code: 'source-unreachable' }],
    ['some text', status(200, { 'content-type': 'text/plain' }), { code: 'protocol-not-spoken' }],
    ['a web page as git', status(200, GIT_TYPES[on]), { code: 'source-unreachable' }],
    ['no answer', { kind: 'hang-before' }, { code: 'source-unreachable' }],
    ['half an answer', { kind: 'hang', at: 30 }, { code: 'source-unreachable' }],
    ['a cut connection', { kind: 'truncate', at: 30 }, { code: 'source-unreachable' }],
    ['an early end', { kind: 'end', at: 30 }, { code: 'source-unreachable' }],
    ['an early end between lines', { kind: 'end-on-packet', at: 5 }, { code: 'source-unreachable' }],
    ['nothing at all', { kind: 'end', at: 0 }, { code: 'source-unreachable' }],
  ]
}

function isHang({ kind }: Fault): boolean {
  return kind === 'hang-before' || kind === 'hang'
}

function status(code: number, headers: Readonly<Record<string, string>> = {}): Fault {
  return { kind: 'status', status: code, headers, body: '<html>no</html>' }
}

const DATES = { date: 'Wed, 21 Oct 2026 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2026 07:29:30 GMT' }

const GIT_TYPES: Readonly<Record<string, Record<string, string>>> = {
  'info-refs': { 'content-type': 'application/x-git-upload-pack-advertisement' },
  'ls-refs': { 'content-type': 'application/x-git-upload-pack-result' },
  fetch: { 'content-type': 'application/x-git-upload-pack-result' },
}

/** Resolves, fetches and takes, while byte `at` of the answer to the request of that number is another. */
async function flipped(served: Served, number: number, at: number): Promise<unknown> {
  const { server, reached } = served
  const flipWhen = (now: boolean) =>
    void (server.fault = now ? { kind: 'flip', at, on: 'upload-pack' } : { kind: 'none' })
  try {
    flipWhen(number === 0)
    const revision = await reached.upstream.resolve(STEADY)
    flipWhen(number === 1)
    await using tree = await reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY)
    flipWhen(number === 2)
    return await contentOf(tree)
  } catch (error) {
    return error
  } finally {
    flipWhen(false)
  }
}

async function lengthOf(url: string, request: GitRequest): Promise<number> {
  const headers = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2' }
  const answer = await fetch(`${url}/git-upload-pack`, { method: 'POST', headers, body: new Uint8Array(request.body) })
  return (await answer.arrayBuffer()).byteLength
}
