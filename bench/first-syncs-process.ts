import { writeSync } from 'node:fs'
import { openSources } from './source.ts'

// As first-sync-process.ts, for many repositories at once. Started with the store's folder and the addresses.

const [state = '', ...urls] = process.argv.slice(2)
const startMs = performance.now()
const sources = await openSources(urls, state)
await sources.pull()
writeSync(1, JSON.stringify({ ms: performance.now() - startMs, skills: sources.skills }))
