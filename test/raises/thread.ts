import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { lineOf, watchRaises } from './call-sites.ts'

// Preloaded by Node in each process of tests, and so in the threads that the program starts there.
const report = process.env['RAISES_OF_THREADS']

if (!isMainThread && report !== undefined) {
  const { SyncError } = await import(new URL('../../dist/sync/model/sync-error.js', import.meta.url).href)
  const told = new Set<string>()
  watchRaises([SyncError], (site) => {
    const line = lineOf(site)
    if (told.has(line) || !site.scriptName.includes('/dist/')) return
    told.add(line)
    // Before the thread answers, so that it is there when the test ends.
    appendFileSync(report, line)
  })
}
