import { writeSync } from 'node:fs'
import '../../bench/run-the-build.ts'
import { memoryOf } from '../support/effort.ts'

// A process that does nothing but fetch: the tree of a source and all of its files. Started with the address and, in JSON, how
// it is reached; prints what came of it, and the most memory that it took.

const { blobsOf, reach, STEADY } = await import('../sync/upstream/reached.ts')
const { SyncError } = await import('../../src/sync/model/sync-error.ts')

const [url = '', access = '{}'] = process.argv.slice(2)
// What is bounded here is memory: git says nothing for as long as it hashes a gigabyte, which is its time and not the host's.
const limits = { connectMs: 900_000, idleMs: 900_000, totalMs: 1_800_000 }
await using reached = await reach(url, { access: JSON.parse(access), limits })
const outcome = await fetched().catch((error: unknown) => {
  if (error instanceof SyncError) return `${error.code}: ${error.message}`
  throw error
})
const { most } = await memoryOf(process.pid)
writeSync(1, JSON.stringify({ outcome, peakMb: most / 2 ** 20 }))

async function fetched(): Promise<string> {
  await using tree = await reached.tree()
  const taken = await tree.take(blobsOf(tree), STEADY)
  const outcomes = [...taken.values()].map((blob) => (blob.kind === 'blob' ? 'taken' : blob.reason))
  return outcomes.sort().join()
}
