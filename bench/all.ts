import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { measureChange } from './change.ts'
import { measureDuringSync } from './during-sync.ts'
import { measureFederation } from './federation.ts'
import { measureFirstSync } from './first-sync.ts'
import { measureGit } from './git.ts'
import { Ground } from './ground.ts'
import { measureMeter } from './meter.ts'
import { measureNotify } from './notify.ts'
import { measurePeers } from './peers.ts'
import { measurePoll } from './poll.ts'
import { measureRestart } from './restart.ts'
import { measureSearch } from './search.ts'
import { measureServe } from './serve.ts'
import { extentOf, tableOf } from './table.ts'

// Every figure, in one table and, with each sample, in results.json. A missed target is told, and fails nothing: what is
// measured on a busy machine is no verdict. `--quick` measures little, to see that all of it runs. The soak takes an hour, and
// runs by itself alone.

const extent = extentOf(process.argv)
await using ground = await Ground.open(extent)
const before = machine()
const figures = [
  ...(await measurePoll(ground)),
  ...(await measureFirstSync(ground)),
  ...(await measureChange(ground)),
  ...(await measureGit(ground)),
  ...(await measureNotify(ground)),
  ...(await measureFederation(ground)),
  ...(await measureRestart(ground)),
  ...(await measureDuringSync(ground)),
  ...(await measureServe(ground)),
  ...(await measureMeter(ground)),
  ...(await measureSearch(ground)),
  ...(await measurePeers(ground)),
]
const results = { at: new Date().toISOString(), ...extent, before, after: machine(), figures }
await writeFile(new URL('./results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
console.log(`\n${tableOf(figures)}\n\nload ${before.load} before, ${results.after.load} after; ${before.cores} cores`)

/** What the figures depend on besides the program. */
function machine() {
  return {
    node: process.version,
    git: execFileSync('git', ['--version'], { encoding: 'utf8' }).trim(),
    cores: availableParallelism(),
    load: loadavg()
      .map((load) => load.toFixed(1))
      .join(' '),
  }
}
