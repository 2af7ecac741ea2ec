import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, median, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Honest, KINDS } from './shares-clients.ts'
import type { Got, Kind } from './shares-clients.ts'
import { runAlone } from './table.ts'

/** What two clients get beside a hostile third, without any rate: below their share, and with all three at the limit. */
export async function measureShares(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  await using server = await startChild('./shares-process.ts', [quick ? '200' : '2000', await ground.fresh()])
  const [url = '', uri = '', large = ''] = [
    await server.tell('url'),
    await server.tell('uri'),
    await server.tell('large'),
  ].map(String)
  await using third = await startChild('./hostile-process.ts', [url, uri, large])
  using ada = await Honest.open(url, 'ada', uri)
  using bob = await Honest.open(url, 'bob', uri)
  const scene = new Scene([ada, bob], third, quick ? 500 : 2_000)
  const paces = new Map<Kind, number>()
  for (const kind of KINDS) paces.set(kind, 2 * (await scene.shareOf(kind)))
  const all = await rounds(
    quick ? 1 : 7,
    KINDS.flatMap((kind) => [
      async () => scene.measure(kind, 'at half a share, alone', undefined, paces.get(kind)),
      async () => scene.measure(kind, 'at half a share', 'hostile', paces.get(kind)),
      async () => scene.measure(kind, 'beside an honest third', 'honest'),
      async () => scene.measure(kind, 'beside a hostile third', 'hostile'),
    ]),
  )
  for (const client of [ada, bob]) await client.expectSessions()
  return KINDS.flatMap((kind) => figuresOf(kind, all))
}

/** 0.9 of the throughput is 1.11 of the time. */
function figuresOf(kind: Kind, all: readonly Times[]): Figure[] {
  const [alone, beside] = [`${kind} at half a share, alone`, `${kind} at half a share`]
  const [honest, hostile] = [`${kind} beside an honest third`, `${kind} beside a hostile third`]
  return [
    figureOf('shares', all, [beside, alone], 1.11),
    figureOf('shares', all, [latencyOf(beside), latencyOf(alone)]),
    figureOf('shares', all, [hostile, honest], 1.11),
  ]
}

function latencyOf(what: string): string {
  return `p50 of ${what}`
}

class Scene {
  readonly #clients: readonly Honest[]
  readonly #third: Child
  readonly #forMs: number

  constructor(clients: readonly Honest[], third: Child, forMs: number) {
    this.#clients = clients
    this.#third = third
    this.#forMs = forMs
  }

  /** Milliseconds between two answers of a client beside two others like it. */
  async shareOf(kind: Kind): Promise<number> {
    await this.measure(kind, '', 'honest')
    const { [`${kind} `]: ms = 0 } = await this.measure(kind, '', 'honest')
    return ms / 1_000
  }

  /** Milliseconds for a thousand answers, and the median of how long one takes. */
  async measure(kind: Kind, what: string, third?: 'hostile' | 'honest', everyMs = 0): Promise<Times> {
    if (third !== undefined) await this.#third.tell(third, kind)
    const isOn = this.#until()
    const got = await Promise.all(this.#clients.map(async (client) => client.ask(kind, isOn, everyMs)))
    if (third !== undefined) await this.#third.tell('end')
    return {
      [`${kind} ${what}`]: meanMs(got),
      [latencyOf(`${kind} ${what}`)]: median(got.flatMap(({ latencies }) => latencies)),
    }
  }

  #until(): () => boolean {
    const endMs = performance.now() + this.#forMs
    return () => performance.now() < endMs
  }
}

function meanMs(got: readonly Got[]): number {
  return got.reduce((sum, { ms, answers }) => sum + (1_000 * ms) / answers, 0) / got.length
}

await runAlone(import.meta.url, measureShares)
