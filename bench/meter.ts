import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, rounds } from './figure.ts'
import type { Extent, Figure } from './figure.ts'
import { Client, ERAS } from './serve-clients.ts'
import type { Era } from './serve-clients.ts'
import { askAll, cpuOf } from './serve.ts'
import { runAlone } from './table.ts'
import { openWires } from './wire.ts'

/** What it costs to count each request, against the same server that counts nothing. */
export async function measureMeter({ quick }: Extent): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const era of ERAS) figures.push(await measureReads(era, quick))
  return figures
}

/** Processor time of a server for a thousand reads, with a meter and without one. */
async function measureReads(era: Era, quick: boolean): Promise<Figure> {
  await using metered = await startChild('./serve-process.ts', ['200', 'metered'])
  await using plain = await startChild('./serve-process.ts', ['200'])
  const count = quick ? 1_000 : 10_000
  const [with_, without] = [`counted reads ${era}`, `reads ${era}`]
  const [ours, reference] = [await readsOf(metered, era, count), await readsOf(plain, era, count)]
  const all = await rounds(quick ? 3 : 31, [
    async () => ({ [with_]: (await cpuOf(metered, ours)) / (count / 1_000) }),
    async () => ({ [without]: (await cpuOf(plain, reference)) / (count / 1_000) }),
  ])
  return figureOf('meter', all, [with_, without], 1.1)
}

/** What reads one document so many times, of one server. */
async function readsOf(child: Child, era: Era, count: number): Promise<() => Promise<void>> {
  const url = String(await child.tell('url'))
  const client = await Client.open(era, url)
  const wires = await openWires(url, 16)
  const request = client.request('resources/read', { uri: String(await child.tell('uri')) })
  return async () => askAll(wires, [request], count)
}

await runAlone(import.meta.url, measureMeter)
