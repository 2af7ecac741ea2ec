import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { measureBackendMemory } from './backend-memory.ts'
import { measureChange } from './change.ts'
import { measureChannel } from './channel.ts'
import { measureDuringSync } from './during-sync.ts'
import { measureFederation } from './federation.ts'
import type { Figure } from './figure.ts'
import { measureFirstSync } from './first-sync.ts'
import { measureFollowers } from './followers.ts'
import { measureGit } from './git.ts'
import { Ground } from './ground.ts'
import { measureHubOfSeveral } from './hub-of-several.ts'
import { measureMarketplace } from './marketplace.ts'
import { measureMeter } from './meter.ts'
import { measureNotify } from './notify.ts'
import { measurePeers, SIZES } from './peers.ts'
import { measurePoll } from './poll.ts'
import { measureRestart } from './restart.ts'
import { measureSearch } from './search.ts'
import { measureServe } from './serve.ts'
import { measureShares } from './shares.ts'
import { measureSources } from './sources.ts'
import { measureState } from './state.ts'
import { extentOf, tableOf } from './table.ts'
import { measureTurns } from './turns.ts'

// Every figure, in one table and, with each sample, in results.json. A missed target is told, and fails nothing: what is
// measured on a busy machine is no verdict. `--quick` measures little, to see that all of it runs. The soak takes an hour, and
// runs by itself alone.

const extent = extentOf(process.argv)
const MEASURES: readonly ((ground: Ground) => Promise<readonly Figure[]>)[] = [
  measurePoll,
  measureFirstSync,
  measureSources,
  measureState,
  measureChange,
  measureNotify,
  measureRestart,
  measureDuringSync,
  measureServe,
  measureMarketplace,
  measureMeter,
  measureSearch,
  measureShares,
  measureTurns,
  measureChannel,
  measureFollowers,
  measureFederation,
  measureHubOfSeveral,
  ...(extent.quick ? SIZES.slice(0, 1) : SIZES).map((size) => (ground: Ground) => measurePeers(ground, [size])),
  measureGit,
  measureBackendMemory,
]

await using ground = await Ground.open(extent)
const before = machine()
const figures: Figure[] = []
for (const measure of MEASURES) {
  figures.push(...(await measure(ground)))
  // What was measured is there, whatever becomes of the rest: all of it takes hours.
  const results = { at: new Date().toISOString(), ...extent, before, after: machine(), figures }
  await writeFile(new URL('./results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
}
console.log(`\n${tableOf(figures)}\n\nload ${before.load} before, ${machine().load} after; ${before.cores} cores`)

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
