import { openSync, writeSync } from 'node:fs'
import { corpusIn, inputOf } from './corpus.ts'
import { readHostile } from './targets.ts'

// The process of `run.ts`: reads inputs until the time is over or one does wrong. It notes in a file which one it is at, so
// that this is known even if it hangs or dies.

/** More than a process needs for all readers and inputs like these, which hold no more than a megabyte unfolded. */
const MOST_MEMORY = 400 * 2 ** 20

const [seed = 0, seconds = 60] = process.argv.slice(2, 4).map(Number)
const [scratch = '', progress = ''] = process.argv.slice(4)
const corpus = await corpusIn(scratch)
const handle = openSync(progress, 'w')
const end = Date.now() + seconds * 1000
const outcomes = { read: 0, refused: 0 }
let executions = 0
let why: string | undefined
while (why === undefined && Date.now() < end) {
  writeSync(handle, String(executions).padStart(12), 0)
  const { kind, bytes } = inputOf(corpus, seed, executions)
  try {
    outcomes[await readHostile(kind, bytes, scratch)] += 1
  } catch (error) {
    why = error instanceof Error ? `${error.stack}\n${String(error.cause)}` : String(error)
  }
  if (peak() > MOST_MEMORY) why ??= `it takes ${peak()} bytes of memory`
  executions += 1
}
const memory = `${Math.round(peak() / 2 ** 20)} MB of memory at most`
console.log(`${executions} executions, ${outcomes.read} read, ${outcomes.refused} refused, ${memory}`)
if (why !== undefined) {
  console.error(why)
  process.exitCode = 1
}

function peak(): number {
  return process.resourceUsage().maxRSS * 1024
}
