import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { FetchThreads, startThread } from '../../../src/sync/git/fetch-threads.ts'
import { ObjectWorker } from '../../../src/sync/git/object-worker.ts'
import { FETCH_LIMITS, NOTHING_KNOWN } from '../../../src/sync/upstream/upstream.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { objectId, STEADY } from '../upstream/reached.ts'
import { ABSENT } from '../upstream/sample.ts'
import { contentOf, failureOf, serve, type Served } from '../upstream/served.ts'

const run = promisify(execFile)
const BUILT = new URL('../../../dist/sync/git/fetch-threads.js', import.meta.url).href

test('one thread stands ready, however often that is asked for, and is the next that is taken', async () => {
  await using threads = new FetchThreads()
  threads.prepare()
  threads.prepare()
  const other = startThread()

  const taken = [threads.take(), threads.take()]

  const [otherId, first, second] = await endedIds([other, ...taken])
  expect(first).toBe(otherId! - 1)
  expect(second).toBe(otherId! + 1)
})

test('where a fetch has ended, the thread of the next one stands ready', async () => {
  await using folder = await temporaryFolder()
  await using threads = new FetchThreads()
  const place = { kind: 'disk', folder: folder.path } as const
  const fetch = new ObjectWorker(
    { place, scratch: folder.path, database: join(folder.path, 'blobs.db'), limits: FETCH_LIMITS },
    { threads },
  )
  await fetch[Symbol.asyncDispose]()
  const other = startThread()

  const [otherId, nextId] = await endedIds([other, threads.take()])

  expect(nextId).toBeLessThan(otherId!)
})

test('none stands ready when none was asked for in a while', async () => {
  await using threads = new FetchThreads(1)
  threads.prepare()
  const other = startThread()
  await once(other, 'online')

  const [otherId, nextId] = await endedIds([other, threads.take()])

  expect(nextId).toBeGreaterThan(otherId!)
})

test('none stands ready when all is over', async () => {
  const threads = new FetchThreads()
  threads.prepare()
  await threads[Symbol.asyncDispose]()
  threads.prepare()
  const other = startThread()

  const [otherId, nextId] = await endedIds([other, threads.take()])

  expect(nextId).toBeGreaterThan(otherId!)
})

test('a thread that stands ready keeps no process from its end', async () => {
  const script = `import { FetchThreads, startThread } from '${BUILT}'; new FetchThreads().prepare(); process.stdout.write('done')`

  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script])

  expect(stdout).toBe('done')
})

test('a thread that has fetched fetches again, from another repository, and holds nothing open of the one before', async () => {
  await using threads = new FetchThreads()
  await using first = await serve({ threads })
  await using second = await serve({ threads })
  await second.repository.commit({ 'd.md': 'another' })
  expect(await fetched(first)).toEqual(first.content)
  const thread = spareId(threads)
  const held = await descriptorsBelow(first.reached.reach.scratch)

  const content = await fetched(second)

  expect(content).toEqual({ ...second.content, 'd.md': 'another' })
  expect(spareId(threads)).toBe(thread)
  expect(held).toEqual([])
})

test('of fetches at once each has a thread, and all of these stay for the next ones', async () => {
  await using threads = new FetchThreads()
  await using served = await serve({ threads })
  const trees = [await served.reached.tree(), await served.reached.tree()]
  for (const tree of trees) await tree[Symbol.asyncDispose]()
  const spares = [threads.take(), threads.take()]
  const ids = spares.map(({ threadId }) => threadId)
  for (const spare of spares) await threads.give(spare)

  const again = [await served.reached.tree(), await served.reached.tree()]
  const contents = [await contentOf(again[0]!), await contentOf(again[1]!)]
  for (const tree of again) await tree[Symbol.asyncDispose]()

  expect(contents).toEqual([served.content, served.content])
  expect(new Set(ids).size).toBe(2)
  expect(new Set(await endedIds([threads.take(), threads.take()]))).toEqual(new Set(ids))
})

test("a thread whose time is over is nobody else's while it ends", async () => {
  await using threads = new FetchThreads(1)
  const first = startThread()
  await once(first, 'online')
  await threads.give(first)
  // Longer than it is kept, and shorter than it takes to end.
  await setTimeout(2)

  const taken = threads.take()

  await taken.terminate()
  expect(taken).not.toBe(first)
})

test('a fetch that fails leaves a thread in which the next one comes through', async () => {
  await using threads = new FetchThreads()
  await using served = await serve({ threads })
  const { upstream } = served.reached
  const absent = { ...(await upstream.resolve(STEADY)), commit: objectId(ABSENT.sha1) }

  const failure = await failureOf(upstream.fetch(absent, NOTHING_KNOWN, STEADY))
  const thread = spareId(threads)

  expect(failure.code).toBe('ref-not-found')
  expect(await fetched(served)).toEqual(served.content)
  expect(spareId(threads)).toBe(thread)
})

test('a fetch that is aborted takes its thread along', async () => {
  await using threads = new FetchThreads()
  await using served = await serve({ threads })
  await fetched(served)
  const thread = spareId(threads)
  const revision = await served.reached.upstream.resolve(STEADY)
  served.server.fault = { kind: 'hang-before', on: 'upload-pack' }
  const stop = new AbortController()
  const begun = served.server.requests.length

  const fetching = served.reached.upstream.fetch(revision, NOTHING_KNOWN, stop.signal)
  const failure = fetching.catch((error: unknown) => error)
  await expect.poll(() => served.server.requests.length).toBeGreaterThan(begun)
  stop.abort(new Error('enough'))

  expect(await failure).toMatchObject({ message: 'enough' })
  expect(spareId(threads)).not.toBe(thread)
})

test('a thread that was given back is not ended by whoever had it', async () => {
  await using folder = await temporaryFolder()
  await using threads = new FetchThreads()
  const server = {
    base: 'http://127.0.0.1:9/',
    version: 2,
    format: 'sha1',
    filters: true,
    refs: [],
    words: [],
    isShallow: true,
  } as const
  const place = { kind: 'remote', url: server.base, server } as const
  const fetch = new ObjectWorker(
    { place, scratch: folder.path, database: join(folder.path, 'blobs.db'), limits: FETCH_LIMITS },
    { threads },
  )
  const stopped = AbortSignal.abort(new Error('enough'))

  await expect(fetch.ask({ kind: 'peel', id: objectId(ABSENT.sha1) }, stopped)).rejects.toThrow('enough')
  const spare = threads.take()
  await fetch[Symbol.asyncDispose]()

  // That of a thread that has ended is negative.
  expect(spare.threadId).toBeGreaterThan(0)
  await spare.terminate()
})

async function fetched({ reached }: Served): Promise<Record<string, string>> {
  await using tree = await reached.tree()
  return await contentOf(tree)
}

/** The number of the thread that the next fetch would have. */
function spareId(threads: FetchThreads): number {
  const spare = threads.take()
  void threads.give(spare)
  return spare.threadId
}

/** What this process has open there, as far as the system tells. */
async function descriptorsBelow(folder: string): Promise<string[]> {
  if (process.platform !== 'linux') return []
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(folder))
}

/** Numbers that threads get in the order of their starts. */
async function endedIds(workers: readonly Worker[]): Promise<number[]> {
  const ids = workers.map(({ threadId }) => threadId)
  await Promise.all(workers.map((worker) => worker.terminate()))
  return ids
}
