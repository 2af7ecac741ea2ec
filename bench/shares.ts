import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { figureOf, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { initializeOf, legacyOf } from './shares-clients.ts'
import { runAlone } from './table.ts'
import { Wire } from './wire.ts'

/** What two clients get while a third takes all that it can, against what they get without it. */
export async function measureShares(ground: Ground): Promise<Figure[]> {
  return [...(await measureBeside(ground, `${RATE} a minute each`, RATE)), ...(await measureBeside(ground, 'no rate'))]
}

/** Requests a minute: some five times what docs/access.md has as its example. */
const RATE = 3_000

/** The pace at which a client asks where it would else be refused; one that is behind catches up. */
const EVERY_MS = 60_000 / (0.9 * RATE)

const KINDS = ['reads and lists', 'searches'] as const
type Kind = (typeof KINDS)[number]

async function measureBeside(ground: Ground, name: string, rate?: number): Promise<Figure[]> {
  const { quick } = ground
  const args = [quick ? '200' : '2000', await ground.fresh(), ...(rate === undefined ? [] : [String(rate)])]
  await using server = await startChild('./shares-process.ts', args)
  const url = String(await server.tell('url'))
  await using hostile = await startChild('./hostile-process.ts', [url, String(await server.tell('uri'))])
  const clients = [await Honest.open(url, 'ada', server), await Honest.open(url, 'bob', server)]
  const everyMs = rate === undefined ? 0 : EVERY_MS
  const count = quick ? 50 : 150
  const measure = async (kind: Kind, what: string): Promise<Times> => {
    const tookMs = await Promise.all(clients.map((client) => client.ask(kind, count, everyMs)))
    const sum = tookMs.reduce((all, ms) => all + ms, 0)
    return { [`1000 ${kind} ${what}, ${name}`]: (sum / clients.length / count) * 1_000 }
  }
  const all = await rounds(quick ? 1 : 7, [
    async () => {
      await hostile.tell('begin')
      const times = { ...(await measure('reads and lists', BESIDE)), ...(await measure('searches', BESIDE)) }
      await hostile.tell('end')
      return times
    },
    async () => ({ ...(await measure('reads and lists', ALONE)), ...(await measure('searches', ALONE)) }),
  ])
  for (const client of clients) await client.expectSessions()
  // 0.9 of the throughput is 1.11 of the time.
  return KINDS.map((kind) =>
    figureOf('shares', all, [`1000 ${kind} ${BESIDE}, ${name}`, `1000 ${kind} ${ALONE}, ${name}`], 1.11),
  )
}

const BESIDE = 'beside a hostile client'
const ALONE = 'alone'

/** A client that reads, lists and searches in a session, and has nine more. */
class Honest {
  readonly #wire: Wire
  readonly #requests: Readonly<Record<Kind, readonly Buffer[]>>
  readonly #pings: readonly Buffer[]

  private constructor(wire: Wire, requests: Readonly<Record<Kind, readonly Buffer[]>>, pings: readonly Buffer[]) {
    this.#wire = wire
    this.#requests = requests
    this.#pings = pings
  }

  static async open(url: string, token: string, server: Child): Promise<Honest> {
    const wire = await Wire.open(url)
    const uri = String(await server.tell('uri'))
    const sessions: string[] = []
    while (sessions.length < 10) {
      const answer = (await wire.exchange(initializeOf(url, token))).toString()
      sessions.push(/mcp-session-id: (\S+)/i.exec(answer)?.[1] ?? '')
    }
    const asked = [
      { method: 'resources/read', params: { uri } },
      { method: 'skills/list', params: {} },
      { method: 'tools/call', params: { name: 'search_skills', arguments: { query: 'generation' } } },
    ]
    const [read, list, search] = asked.map((one) => legacyOf(url, token, sessions[0] ?? '', one))
    const requests = { 'reads and lists': [read ?? NONE, list ?? NONE], searches: [search ?? NONE] }
    const pings = sessions.map((session) => legacyOf(url, token, session, { method: 'ping' }))
    return new Honest(wire, requests, pings)
  }

  /** How long so many requests take, one after another; never more often than once in so many milliseconds. */
  async ask(kind: Kind, count: number, everyMs: number): Promise<number> {
    const beganMs = performance.now()
    for (let index = 0; index < count; index += 1) {
      const waitMs = beganMs + index * everyMs - performance.now()
      if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs))
      const requests = this.#requests[kind]
      await this.#expectAnswer(requests[index % requests.length] ?? NONE)
    }
    return performance.now() - beganMs
  }

  /** Each of its sessions is still there. */
  async expectSessions(): Promise<void> {
    for (const ping of this.#pings) await this.#expectAnswer(ping)
    this.#wire[Symbol.dispose]()
  }

  async #expectAnswer(request: Buffer): Promise<void> {
    const answer = (await this.#wire.exchange(request)).toString()
    if (!answer.startsWith('HTTP/1.1 200') || answer.includes('"isError":true'))
      throw new Error(`Refused: ${answer.slice(0, 500)}`)
  }
}

const NONE = Buffer.alloc(0)

await runAlone(import.meta.url, measureShares)
