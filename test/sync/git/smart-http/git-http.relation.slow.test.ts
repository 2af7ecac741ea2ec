import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import type { Fault } from '../../../support/git/git-server.ts'
import { objectId, reach, STEADY, workers } from '../../upstream/reached.ts'
import { serve, type Served } from '../../upstream/served.ts'

test('that a branch moved on takes one request, for a bounded number of commits and nothing that they hold', async () => {
  await using served = await serve()
  const [from, to] = await moved(served, 20)
  await served.reached.upstream.resolve(STEADY)
  const before = served.server.requests.length

  const relation = await served.reached.upstream.relation(from, to, STEADY)

  expect(relation).toBe('descends')
  expect(linesSince(served, before)).toEqual([[`want ${to}`, 'deepen 64', 'filter tree:0', `have ${from}`]])
})

test('no request asks for more than a bounded number of commits, whatever the answers are', async () => {
  await using served = await serve()
  const [from, to] = await moved(served, 70)
  await served.reached.upstream.resolve(STEADY)
  const before = served.server.requests.length

  const relation = await served.reached.upstream.relation(to, from, STEADY)

  expect(relation).toBe('rewritten')
  expect(linesSince(served, before)).toEqual([
    [`want ${from}`, 'deepen 64', 'filter tree:0', `have ${to}`],
    [`want ${to}`, 'deepen 64', 'filter tree:0'],
    [`want ${from}`, 'deepen 4096', 'filter tree:0', `have ${to}`],
    [`want ${to}`, 'deepen 4096', 'filter tree:0'],
  ])
})

test('a server that cannot leave out what commits hold is asked without a filter, for what is new', async () => {
  await using served = await serve()
  await served.repository.git('config', 'uploadpack.allowFilter', 'false')
  const [from, to] = await moved(served, 2)
  await served.reached.upstream.resolve(STEADY)
  const before = served.server.requests.length

  const relation = await served.reached.upstream.relation(from, to, STEADY)

  expect(relation).toBe('descends')
  expect(linesSince(served, before)).toEqual([[`want ${to}`, 'deepen 64', `have ${from}`]])
})

test('a server that leaves out file contents but no trees is asked once more, without a filter', async () => {
  await using served = await serve()
  await served.repository.git('config', 'uploadpackfilter.tree.allow', 'false')
  const [from, to] = await moved(served, 2)
  await served.reached.upstream.resolve(STEADY)
  const before = served.server.requests.length

  expect(await served.reached.upstream.relation(from, to, STEADY)).toBe('descends')
  expect(linesSince(served, before)).toEqual([
    [`want ${to}`, 'deepen 64', 'filter tree:0', `have ${from}`],
    [`want ${to}`, 'deepen 64', `have ${from}`],
  ])
})

test('a server whose filters were turned off since it was asked is asked without one the next time', async () => {
  await using served = await serve()
  await served.reached.upstream.resolve(STEADY)
  await served.repository.git('config', 'uploadpack.allowFilter', 'false')
  const [from, to] = await moved(served, 2)

  expect(await served.reached.upstream.relation(from, to, STEADY)).toBe('unknown')
  expect(await served.reached.upstream.relation(from, to, STEADY)).toBe('descends')
})

test.each<Fault>([
  { kind: 'status', status: 500 },
  { kind: 'status', status: 401 },
  { kind: 'status', status: 429, headers: { 'retry-after': '3' } },
  { kind: 'truncate', at: 200 },
  { kind: 'end-on-packet', at: 1 },
  { kind: 'hang', at: 40 },
  { kind: 'hang-before' },
  { kind: 'flip', at: 120 },
])('a server that fails (%o) makes it unknown, and no error', async (fault) => {
  await using served = await serve({ limits: { idleMs: 500, connectMs: fault.kind === 'hang-before' ? 500 : 10_000 } })
  const [from, to] = await moved(served, 2)
  served.server.fault = fault

  const relation = await served.reached.upstream.relation(from, to, STEADY)

  expect(relation).toBe('unknown')
  expect(workers()).toBe(0)
  expect(await served.reached.scratch()).toEqual([])
})

test('commits of more bytes than are looked at make it unknown', async () => {
  await using served = await serve()
  // Looking for what is alike in noise takes git long.
  await served.repository.git('config', 'pack.window', '0')
  const noise = Array.from({ length: 40 }, (_, n) => noiseOf(300_000, n))
  const to = objectId(await served.repository.commits('refs/heads/noise', noise))
  const from = objectId(await served.repository.commits('refs/heads/other', ['other']))

  const relation = await served.reached.upstream.relation(from, to, STEADY)

  expect(relation).toBe('unknown')
})

test('a relation that is asked for with the right credential is told, and else unknown', async () => {
  await using served = await serve({ authorization: 'Bearer right' })
  const [from, to] = await moved(served, 2)
  served.server.access = { token: 'right' }
  await using wrong = await reach(served.url, { authorization: 'Bearer wrong' })

  expect(await wrong.upstream.relation(from, to, STEADY)).toBe('unknown')
  expect(await served.reached.upstream.relation(from, to, STEADY)).toBe('descends')
})

/** Where `main` is, and where it is so many commits later. */
async function moved({ repository }: Served, count: number): Promise<readonly [ObjectId, ObjectId]> {
  const from = await repository.git('rev-parse', 'main')
  const to = await repository.commits(
    'refs/heads/main',
    Array.from({ length: count }, (_, n) => `commit ${n}`),
  )
  return [objectId(from), objectId(to)]
}

/** What each request since then asks for, but for how it wants to have it. */
function linesSince({ server }: Served, since: number): string[][] {
  return server.requests.slice(since).map(({ body }) => body.toString().match(/(?:want|deepen|filter|have) \S+/g) ?? [])
}

/** Text that does not shrink much. */
function noiseOf(size: number, seed: number): string {
  return createHash('shake256', { outputLength: size }).update(`${seed}`).digest('base64')
}
