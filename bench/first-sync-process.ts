import { writeSync } from 'node:fs'
import { BACKENDS } from './backends.ts'
import { openSource } from './source.ts'

// One first sync, in a process that did nothing before: opens an empty store, pulls, publishes, and has the catalog. Started
// with the address, the store's folder and, if it is not the default, the name of a backend; prints the milliseconds since its imports, the
// most memory that the process had resident, in KiB, and how many skills are served.

const [url = '', state = '', backend] = process.argv.slice(2)
const startMs = performance.now()
const source = await openSource(url, state, { settings: BACKENDS.find(({ name }) => name === backend)?.settings })
const skills = await source.firstSync()
writeSync(1, JSON.stringify({ ms: performance.now() - startMs, peakKiB: process.resourceUsage().maxRSS, skills }))
