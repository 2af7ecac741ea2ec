import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { FetchThreads, startThread } from '../../../src/sync/upstream/fetch-threads.ts'
import { ObjectWorker } from '../../../src/sync/upstream/object-worker.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const run = promisify(execFile)
const BUILT = new URL('../../../dist/sync/upstream/fetch-threads.js', import.meta.url).href

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
  const fetch = new ObjectWorker({ place, scratch: folder.path, limits: FETCH_LIMITS }, threads)
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

/** Numbers that threads get in the order of their starts. */
async function endedIds(workers: readonly Worker[]): Promise<number[]> {
  const ids = workers.map(({ threadId }) => threadId)
  await Promise.all(workers.map((worker) => worker.terminate()))
  return ids
}
