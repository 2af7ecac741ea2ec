import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, median, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { latencies, p99 } from './latencies.ts'
import { Client } from './serve-clients.ts'
import { heapGrowth } from './serve.ts'
import { runAlone } from './table.ts'
import { openWires } from './wire.ts'

/** What a search costs, what its index does, and what readers notice of that while it is made. */
export async function measureSearch(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const skills = quick ? 200 : 10_000
  await using child = await startChild('./search-process.ts', [String(skills), await ground.fresh()])
  const memory = await measureMemory(child, skills)
  const queries = await measureQueries(child, skills, quick)
  const making = await measureMaking(child, skills, quick)
  return [...queries, ...making, memory]
}

/** The median of many queries; half of them have a typing error. */
async function measureQueries(child: Child, skills: number, quick: boolean): Promise<Figure[]> {
  const queries = [(await child.tell('queries', quick ? '20' : '50')) ?? []].flat().map(String)
  const [found, scanned] = [`query of ${skills}`, 'scan for the words']
  const medianOf = async (what: string): Promise<number> => {
    const all: number[] = []
    for (const query of queries) all.push(await msOf(child, what, query))
    return median(all)
  }
  const all = await rounds(quick ? 1 : 5, [
    async () => ({ [found]: await medianOf('search') }),
    async () => ({ [scanned]: await medianOf('scan') }),
  ])
  return [figureOf('search', all, [found, scanned])]
}

/** From the first search to its answer, and what reads of a file take meanwhile. */
async function measureMaking(child: Child, skills: number, quick: boolean): Promise<Figure[]> {
  const url = String(await child.tell('url'))
  const client = await Client.open('modern', url)
  const request = client.request('resources/read', { uri: String(await child.tell('uri')) })
  const [made, read, changed] = [`index of ${skills}`, 'reading the files', 'index of one change']
  const [during, besides] = ['p99 while it is made', 'p99 of reads']
  const all = await rounds(quick ? 1 : 5, [
    async () => {
      await child.tell('forget')
      return { [made]: await msOfNext(child) }
    },
    async () => ({ [read]: await msOf(child, 'read') }),
    async () => {
      // Whether the turn before has left an index is not certain.
      await child.tell('search', ANY)
      return { [changed]: await msOfNext(child) }
    },
    async () => p99While(child, { url, request }, [during, besides]),
  ])
  return [
    figureOf('search', all, [made, read]),
    figureOf('search', all, [changed, made]),
    figureOf('search', all, [during, besides], 1.5),
  ]
}

/** From a catalog that nobody has searched to the first answer. */
async function msOfNext(child: Child): Promise<number> {
  await child.tell('prepare')
  return msOf(child, 'publish-and-search', ANY)
}

/** A word that is there. */
const ANY = 'generation'

/** As many reads besides as there were while the index was made. */
async function p99While(
  child: Child,
  { url, request }: { readonly url: string; readonly request: Buffer },
  [during, besides]: readonly [string, string],
): Promise<Times> {
  await child.tell('forget')
  await child.tell('prepare')
  // Connections of the turn before would have been idle for long, and closed.
  const wires = await openWires(url, 4)
  let isMade = false
  const making = child.tell('publish-and-search', ANY).then(() => (isMade = true))
  const meanwhile = await latencies(wires, request, () => !isMade)
  await making
  let left = meanwhile.length
  const others = await latencies(wires, request, () => (left -= 1) >= 0)
  for (const wire of wires) wire[Symbol.dispose]()
  return { [during]: p99(meanwhile), [besides]: p99(others) }
}

/** In the heap of a process, where it can be told from all else. */
async function measureMemory(child: Child, skills: number): Promise<Figure> {
  const [index, texts] = [`index of ${skills}`, 'names and descriptions']
  // What the catalog makes once is there before.
  await child.tell('texts')
  await child.tell('drop')
  const ours = await heapGrowth(child, async () => child.tell('index'))
  await child.tell('drop')
  const theirs = await heapGrowth(child, async () => child.tell('texts'))
  await child.tell('drop')
  return figureOf('search', [{ [index]: ours, [texts]: theirs }], [index, texts], undefined, 'KiB')
}

async function msOf(child: Child, what: string, ...values: readonly string[]): Promise<number> {
  const answer = await child.tell(what, ...values)
  if (typeof answer === 'object' && answer !== null && 'ms' in answer) return Number(answer.ms)
  throw new Error(`"${what}" told no time`)
}

await runAlone(import.meta.url, measureSearch)
