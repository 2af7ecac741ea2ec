import { execFileSync } from 'node:child_process'
import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Extent, Figure, Times } from './figure.ts'
import { ERAS, Client, listenOf, sessionOf } from './serve-clients.ts'
import type { Era } from './serve-clients.ts'
import { runAlone } from './table.ts'
import { Streams, openWires } from './wire.ts'
import type { Wire } from './wire.ts'

/** What answers and notifications cost, against a server that sends the same bytes and understands nothing. */
export async function measureServe({ quick }: Extent): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const era of ERAS) figures.push(...(await measureRequests(era, quick)))
  for (const era of ERAS) figures.push(await measureListing(era, quick))
  for (const era of ERAS) figures.push(await measureBurst(era, quick ? 500 : 5_000, quick))
  for (const count of quick ? [100] : [100, 1_000, 5_000]) {
    for (const era of ERAS) figures.push(...(await measureChange(era, count, quick)))
  }
  return figures
}

/** Both servers, each in a process of its own. */
class Pair implements AsyncDisposable {
  readonly ours: Child
  readonly plain: Child
  readonly url: string
  readonly plainUrl: string

  private constructor(ours: Child, plain: Child, url: string, plainUrl: string) {
    this.ours = ours
    this.plain = plain
    this.url = url
    this.plainUrl = plainUrl
  }

  static async start(skills: number): Promise<Pair> {
    const ours = await startChild('./serve-process.ts', [String(skills)])
    const plain = await startChild('./plain-process.ts')
    return new Pair(ours, plain, String(await ours.tell('url')), String(await plain.tell('url')))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ours[Symbol.asyncDispose]()
    await this.plain[Symbol.asyncDispose]()
  }
}

/** Processor time of a server for a thousand requests: a figure in milliseconds is one in microseconds a request. */
async function measureRequests(era: Era, quick: boolean): Promise<Figure[]> {
  await using pair = await Pair.start(200)
  const client = await Client.open(era, pair.url)
  const uri = String(await pair.ours.tell('uri'))
  const asked = {
    'resources/read': { uri },
    'tools/call': { name: 'echo', arguments: { text: 'x'.repeat(2_000) } },
  }
  const wires = { ours: await openWires(pair.url, 16), plain: await openWires(pair.plainUrl, 16) }
  const count = quick ? 1_000 : 10_000
  const runs = Object.entries(asked).flatMap(([method, params]) => [
    async () => ({
      [`${method} ${era}`]:
        (await cpuOf(pair.ours, () => askAll(wires.ours, [client.request(method, params)], count))) / (count / 1_000),
    }),
    async () => {
      await pair.plain.tell('answer', `/${method}`, await client.bodyOf(method, params))
      const request = client.request(method, params, `${pair.plainUrl}/${method}`)
      return {
        [`bytes of ${method} ${era}`]:
          (await cpuOf(pair.plain, () => askAll(wires.plain, [request], count))) / (count / 1_000),
      }
    },
  ])
  const all = await rounds(quick ? 3 : 15, runs)
  for (const wire of [...wires.ours, ...wires.plain]) wire[Symbol.dispose]()
  return [
    figureOf('serve', all, [`resources/read ${era}`, `bytes of resources/read ${era}`], 2),
    figureOf('serve', all, [`tools/call ${era}`, `bytes of tools/call ${era}`], 4),
  ]
}

/** All pages of `skills/list`, one after another, ten times. */
async function measureListing(era: Era, quick: boolean): Promise<Figure> {
  const skills = quick ? 1_000 : 10_000
  await using pair = await Pair.start(skills)
  const client = await Client.open(era, pair.url)
  const pages = await client.pages()
  for (const [index, { body }] of pages.entries()) await pair.plain.tell('answer', `/${index}`, body)
  const requests = {
    ours: pages.map(({ params }) => client.request('skills/list', params)),
    plain: pages.map(({ params }, index) => client.request('skills/list', params, `${pair.plainUrl}/${index}`)),
  }
  using wire = await client.wire()
  using plainWire = (await openWires(pair.plainUrl, 1))[0]
  const walks = 10 * pages.length
  const [ours, plain] = [`${skills} listed ${era}`, `bytes of ${skills} listed ${era}`]
  const all = await rounds(quick ? 3 : 11, [
    async () => ({ [ours]: (await cpuOf(pair.ours, () => askAll([wire], requests.ours, walks))) / 10 }),
    async () => ({
      [plain]:
        (await cpuOf(pair.plain, () => askAll(plainWire === undefined ? [] : [plainWire], requests.plain, walks))) / 10,
    }),
  ])
  return figureOf('serve', all, [ours, plain], 2)
}

/** After a change every subscriber reads what has changed: each over a connection of its own, all at once. */
async function measureBurst(era: Era, count: number, quick: boolean): Promise<Figure> {
  await using pair = await Pair.start(200)
  const client = await Client.open(era, pair.url)
  const params = { uri: String(await pair.ours.tell('uri')) }
  await pair.plain.tell('answer', '/read', await client.bodyOf('resources/read', params))
  const request = client.request('resources/read', params)
  const plainRequest = client.request('resources/read', params, `${pair.plainUrl}/read`)
  const wires = await openWires(pair.url, count)
  const plainWires = await openWires(pair.plainUrl, count)
  const [ours, plain] = [`${count} reads at once ${era}`, `bytes of ${count} reads at once ${era}`]
  const all = await rounds(
    quick ? 3 : 9,
    [
      async () => ({ [ours]: await cpuOf(pair.ours, () => askAll(wires, [request], count)) }),
      async () => ({ [plain]: await cpuOf(pair.plain, () => askAll(plainWires, [plainRequest], count)) }),
    ],
    async () => {
      await pair.ours.tell('prepare')
      await pair.ours.tell('publish')
    },
  )
  for (const wire of [...wires, ...plainWires]) wire[Symbol.dispose]()
  return figureOf('serve', all, [ours, plain], 2)
}

/** One change of one resource to so many subscribers: until the last has it, processor time, and what a subscriber holds. */
async function measureChange(era: Era, count: number, quick: boolean): Promise<Figure[]> {
  if (2 * count + 1_000 > openFiles()) {
    console.log(`serve: ${count} subscribers need more open files than this shell allows (ulimit -n); left out`)
    return []
  }
  await using pair = await Pair.start(200)
  const uri = String(await pair.ours.tell('uri'))
  using streams = new Streams('notifications/resources/updated')
  using plainStreams = new Streams('notifications/resources/updated')
  const held = {
    ours: await heapGrowth(pair.ours, async () =>
      streams.open(pair.url, await subscribersOf(era, pair.url, count, uri)),
    ),
    plain: await heapGrowth(pair.plain, () => plainStreams.open(pair.plainUrl, plainListens(pair.plainUrl, count))),
  }
  const frame = `event: message\ndata: ${frameOf(era, uri)}\n\n`
  const name = (what: string): string => `${what} of ${count} ${era}`
  const all = await rounds(
    quick ? 5 : 15,
    [
      async () => tellAll(pair.ours, streams, ['publish'], [name('last told'), name('told, CPU')]),
      async () => tellAll(pair.plain, plainStreams, ['write', frame], [name('last written'), name('written, CPU')]),
    ],
    async () => void (await pair.ours.tell('prepare')),
  )
  const heap = [{ [name('heap')]: held.ours / count, [name('response')]: held.plain / count }]
  return [
    figureOf('serve', all, [name('last told'), name('last written')], 1.3),
    figureOf('serve', all, [name('told, CPU'), name('written, CPU')], 1.3),
    figureOf('serve', heap, [name('heap'), name('response')], 1.5, 'KiB'),
  ]
}

async function tellAll(
  child: Child,
  streams: Streams,
  [what, ...values]: readonly [string, ...string[]],
  [last, cpu]: readonly [string, string],
): Promise<Times> {
  let lastMs = 0
  const cpuMs = await cpuOf(child, async () => {
    const told = streams.toldAll()
    lastMs = await timed(async () => {
      await child.tell(what, ...values)
      await told
    })
  })
  return { [last]: lastMs, [cpu]: cpuMs }
}

/** The requests that open the stream of so many subscribers of one resource. */
async function subscribersOf(era: Era, url: string, count: number, uri: string): Promise<Buffer[]> {
  if (era === 'modern') return Array.from({ length: count }, (_, index) => listenOf(url, index, uri))
  const wires = await openWires(url, 16)
  const requests = await Promise.all(
    wires.map(async (wire, index) => {
      const mine: Buffer[] = []
      for (let number = index; number < count; number += wires.length) mine.push(await sessionOf(url, wire, uri))
      return mine
    }),
  )
  for (const wire of wires) wire[Symbol.dispose]()
  return requests.flat()
}

function plainListens(url: string, count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => listenOf(`${url}/stream`, index, 'skill://bench'))
}

/** What a subscriber is told; of the modern era one of them. */
function frameOf(era: Era, uri: string): string {
  const meta = era === 'modern' ? { _meta: { 'io.modelcontextprotocol/subscriptionId': 1_000 } } : {}
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, ...meta } })
}

/** Sends so many requests in turns, each connection the next one when it has its answer. */
export async function askAll(wires: readonly Wire[], requests: readonly Buffer[], count: number): Promise<void> {
  let asked = 0
  const ask = async (wire: Wire): Promise<void> => {
    while (asked < count) {
      const request = requests[asked % requests.length]
      asked += 1
      if (request !== undefined) await wire.exchange(request)
    }
  }
  await Promise.all(wires.map(ask))
}

export async function cpuOf(child: Child, work: () => Promise<unknown>): Promise<number> {
  const before = await child.cpuMs()
  await work()
  return (await child.cpuMs()) - before
}

/** What a server's heap has more of after some work, in KiB. */
export async function heapGrowth(child: Child, work: () => Promise<unknown>): Promise<number> {
  const before = await child.heapKiB()
  await work()
  return (await child.heapKiB()) - before
}

function openFiles(): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return limit === 'unlimited' ? Infinity : Number(limit)
}

await runAlone(import.meta.url, measureServe)
