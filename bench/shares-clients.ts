import { openWires, requestOf } from './wire.ts'
import type { Wire } from './wire.ts'

export const KINDS = ['reads and lists', 'searches'] as const
export type Kind = (typeof KINDS)[number]

/** What a client got in the time that it asked. */
export interface Got {
  readonly answers: number
  readonly ms: number
  /** From when each request was due to its answer. */
  readonly latencies: readonly number[]
}

/** A client that reads, lists and searches in a session, on a few connections, and has nine more sessions. */
export class Honest implements Disposable {
  readonly #wires: readonly Wire[]
  readonly #requests: Requests
  readonly #pings: readonly Buffer[]

  private constructor(wires: readonly Wire[], requests: Requests, pings: readonly Buffer[]) {
    this.#wires = wires
    this.#requests = requests
    this.#pings = pings
  }

  static async open(url: string, token: string, uri: string): Promise<Honest> {
    const wires = await openWires(url, WIRES)
    const sessions: string[] = []
    for (let count = 0; count < SESSIONS; count += 1) sessions.push(await sessionOn(wires[0], url, token))
    const asking = (method: string, params: object): Buffer =>
      legacyOf(url, token, sessions[0] ?? '', { method, params })
    const requests = {
      'reads and lists': [asking('resources/read', { uri }), asking('skills/list', {})],
      searches: [asking('tools/call', { name: 'search_skills', arguments: { query: 'generation' } })],
    }
    return new Honest(
      wires,
      requests,
      sessions.map((session) => legacyOf(url, token, session, { method: 'ping' })),
    )
  }

  /** Asks until it is told to end, as fast as answers come, or so often; one that is behind catches up. */
  async ask(kind: Kind, isOn: () => boolean, everyMs = 0): Promise<Got> {
    const beganMs = performance.now()
    const latencies: number[] = []
    let index = 0
    const askOn = async (wire: Wire): Promise<void> => {
      while (isOn()) {
        const due = everyMs === 0 ? performance.now() : beganMs + index * everyMs
        const request = this.#requests[kind][index % this.#requests[kind].length]
        index += 1
        const waitMs = due - performance.now()
        if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs))
        await answered(wire, request)
        latencies.push(performance.now() - due)
      }
    }
    await Promise.all(this.#wires.map(askOn))
    return { answers: latencies.length, ms: performance.now() - beganMs, latencies }
  }

  /** Fails where one of its sessions has ended. */
  async expectSessions(): Promise<void> {
    for (const ping of this.#pings) await answered(this.#wires[0], ping)
  }

  [Symbol.dispose](): void {
    for (const wire of this.#wires) wire[Symbol.dispose]()
  }
}

type Requests = Readonly<Record<Kind, readonly Buffer[]>>

/** Of an honest client. */
const WIRES = 16
const SESSIONS = 10

async function answered(wire: Wire | undefined, request: Buffer | undefined): Promise<void> {
  const answer = (await wire?.exchange(request ?? Buffer.alloc(0)))?.toString() ?? ''
  if (!answer.startsWith('HTTP/1.1 200') || answer.includes('"isError":true'))
    throw new Error(`Refused: ${answer.slice(0, 500)}`)
}

/** The id of a new session. */
export async function sessionOn(wire: Wire | undefined, url: string, token: string): Promise<string> {
  const answer = await wire?.exchange(initializeOf(url, token))
  return /mcp-session-id: (\S+)/i.exec(answer?.toString() ?? '')?.[1] ?? ''
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A request that opens a session of 2025-03-26, the revision that has batches. */
export function initializeOf(url: string, token: string): Buffer {
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
  return postOf(url, { authorization: `Bearer ${token}` }, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
}

/** A message of a session, or a batch of them. */
export function legacyOf(url: string, token: string, session: string, asked: object | readonly object[]): Buffer {
  const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session }
  const messages = [asked].flat().map((one, id) => Object.assign({ jsonrpc: '2.0', id }, one))
  return postOf(url, headers, Array.isArray(asked) ? messages : messages[0])
}

/** The request with the token in its head. */
export function bearing(token: string, request: Buffer): Buffer {
  const text = request.toString()
  const at = text.indexOf('\r\n') + 2
  return Buffer.from(`${text.slice(0, at)}authorization: Bearer ${token}\r\n${text.slice(at)}`)
}

function postOf(url: string, headers: Readonly<Record<string, string>>, body: unknown): Buffer {
  return requestOf(url, 'POST', { ...HEADERS, ...headers }, JSON.stringify(body))
}
