import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { makeBulk } from './bulk.ts'
import { startOver } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { latencies, p99 } from './latencies.ts'
import { Client } from './serve-clients.ts'
import { makeSkills } from './skills.ts'
import type { Skills } from './skills.ts'
import { runAlone } from './table.ts'
import { serveSkills, slicesOf } from './upstream.ts'
import { openWires } from './wire.ts'

/**
 * What readers of one source notice while a large one is synced, against reads with nothing besides, and against reads while git
 * clones the same on the same machine, of which the daemon knows nothing.
 */
export async function measureDuringSync(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const small = await ground.skills(quick ? 20 : 200)
  const large = new Large(quick ? 4 : 68, quick ? 1 : 15)
  await using served = await serveSkills(large.next())
  const sources = { bench: [`url: ${small.url}`], large: [`url: ${served.url}`] }
  await using daemon = await startOver(await ground.fresh(), sources, 'warn')
  await daemon.sync()
  const client = await Client.open('modern', daemon.url)
  const uri = `skill://bench/${small.skills.documents[0]}`
  const reads = { url: daemon.url, request: client.request('resources/read', { uri }) }
  const [during, cloning] = [`p99 while ${large.mebibytes} MiB come`, `p99 while git clones them`]
  const clone = async (): Promise<void> => cloned(served.url, join(await ground.fresh(), 'clone'))
  const runs = [
    () => p99While(() => daemon.sync(['large']), reads, [during, 'p99 of reads']),
    () => p99While(clone, reads, [cloning, 'p99 of reads beside it']),
  ]
  const all = await rounds(quick ? 1 : 5, runs, async () => {
    for (const files of slicesOf(large.next().files)) await served.repository.commit(files)
    await ground.fresh()
  })
  return [
    figureOf('during-sync', all, [during, 'p99 of reads'], 3),
    figureOf('during-sync', all, [cloning, 'p99 of reads beside it']),
    figureOf('during-sync', all, [during, cloning]),
  ]
}

/** A sync brings what belongs to skills alone, so that is where the bytes are: each skill has a file of nearly all that it may. */
class Large {
  readonly mebibytes: number
  readonly #skills: Skills
  readonly #each: number
  #number = 0

  constructor(count: number, each: number) {
    this.mebibytes = count * each
    this.#skills = makeSkills(count)
    this.#each = each
  }

  /** Other bytes each time, so that all of them have to come again. */
  next(): Skills {
    this.#number += 1
    const paths = this.#skills.documents.map((path) => path.replace(/SKILL\.md$/, 'assets/data.bin'))
    const bulk = makeBulk(paths, this.#each * 2 ** 20, this.#number)
    return { ...this.#skills, files: { ...this.#skills.files, ...bulk } }
  }
}

/** Without a checkout, which would write all of the bytes a second time. */
async function cloned(url: string, folder: string): Promise<void> {
  await runGit(['clone', '--quiet', '--depth', '1', '--no-checkout', url, folder])
}

/** Of reads while something is done, and of as many after it. */
async function p99While(
  work: () => Promise<void>,
  { url, request }: { readonly url: string; readonly request: Buffer },
  [during, besides]: readonly [string, string],
): Promise<Times> {
  // Connections of the round before would have been idle for long, and closed.
  const wires = await openWires(url, 4)
  let isDone = false
  const working = timed(work).finally(() => (isDone = true))
  const meanwhile = await latencies(wires, request, () => !isDone)
  console.log(`during-sync: ${meanwhile.length} reads in ${((await working) / 1_000).toFixed(1)} s, ${during}`)
  let left = Math.min(meanwhile.length, MOST_READS)
  const others = await latencies(wires, request, () => (left -= 1) >= 0)
  for (const wire of wires) wire[Symbol.dispose]()
  return { [during]: p99(meanwhile), [besides]: p99(others) }
}

/** More make a p99 no truer. */
const MOST_READS = 20_000

await runAlone(import.meta.url, measureDuringSync)
