import { isMainThread } from 'node:worker_threads'

// Preloaded by Node in each process of tests, and so in the threads that the program starts there. It is JavaScript,
// because each of them would load a compiler first. It does in a thread what `recorder.ts` does in the process.
const report = process.env['RAISES_OF_THREADS']

if (!isMainThread && report !== undefined) {
  const [{ appendFileSync }, { getCallSites }] = await Promise.all([import('node:fs'), import('node:util')])
  const { SyncError } = await import(new URL('../../dist/sync/model/sync-error.js', import.meta.url).href)
  const told = new Set()
  class Watched extends Error {
    constructor(...given) {
      super(...given)
      for (const { scriptName, lineNumber, columnNumber } of getCallSites(8)) {
        const line = `${lineNumber} ${columnNumber} ${scriptName}\n`
        if (told.has(line) || !scriptName.includes('/dist/')) continue
        told.add(line)
        // Before the thread answers, so that it is there when the test ends.
        appendFileSync(report, line)
      }
    }
  }
  Object.setPrototypeOf(SyncError, Watched)
}
