import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, rounds } from './figure.ts'
import type { Extent, Figure } from './figure.ts'
import { Client, ERAS } from './serve-clients.ts'
import type { Era } from './serve-clients.ts'
import { askAll, cpuOf } from './serve.ts'
import { runAlone } from './table.ts'
import { openWires } from './wire.ts'

/** The cost of counting each request, against the same server that counts nothing; then of counting the use of skills too. */
export async function measureMeter({ quick }: Extent): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const era of ERAS) figures.push(await measureReads(era, quick, METERED))
  for (const era of ERAS) figures.push(await measureReads(era, quick, USED))
  return figures
}

/** Two servers, by their arguments, the names of their rows, and the target of the ratio. */
interface Compared {
  readonly ours: { readonly args: readonly string[]; readonly name: string }
  readonly reference: { readonly args: readonly string[]; readonly name: string }
  readonly target: number
}

const METERED: Compared = {
  ours: { args: ['metered'], name: 'counted reads' },
  reference: { args: [], name: 'reads' },
  target: 1.1,
}

const USED: Compared = {
  ours: { args: ['used'], name: 'reads with usage' },
  reference: { args: ['metered'], name: 'reads without usage' },
  target: 1.05,
}

/** Processor time of two servers for a thousand reads. */
async function measureReads(era: Era, quick: boolean, compared: Compared): Promise<Figure> {
  await using metered = await startChild('./serve-process.ts', ['200', ...compared.ours.args])
  await using plain = await startChild('./serve-process.ts', ['200', ...compared.reference.args])
  const count = quick ? 1_000 : 10_000
  const [with_, without] = [`${compared.ours.name} ${era}`, `${compared.reference.name} ${era}`]
  const [ours, reference] = [await readsOf(metered, era, count), await readsOf(plain, era, count)]
  const all = await rounds(quick ? 3 : 31, [
    async () => ({ [with_]: (await cpuOf(metered, ours)) / (count / 1_000) }),
    async () => ({ [without]: (await cpuOf(plain, reference)) / (count / 1_000) }),
  ])
  return figureOf('meter', all, [with_, without], compared.target)
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
