import { writeSync } from 'node:fs'
import { openSource } from './source.ts'

// One first sync, in a process that did nothing before: opens an empty store, pulls, publishes, and has the catalog. Started
// with the address and the store's folder; prints the milliseconds since its imports, and how many skills are served.

const [url = '', state = ''] = process.argv.slice(2)
const startMs = performance.now()
const source = await openSource(url, state)
const skills = await source.firstSync()
writeSync(1, JSON.stringify({ ms: performance.now() - startMs, skills }))
