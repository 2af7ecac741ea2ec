import type { IncomingHttpHeaders } from 'node:http'

export type Era = 'modern' | 'legacy'

/** One JSON-RPC message as it came. `era` is the one that it claims to be of. */
export interface Recorded {
  /** None for a notification. */
  readonly id: string | number | undefined
  /** Empty for a message that names none. */
  readonly method: string
  readonly params: any
  /** None over stdio. */
  readonly headers: IncomingHttpHeaders
  readonly transport: 'http' | 'stdio'
  readonly era: Era
  /** On a clock that only ever goes up. */
  readonly atMs: number
}

export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Reads a message, whatever it is. What the body claims decides the era; without that, what the header does. */
export function recordOf(text: string, transport: Recorded['transport'], headers: IncomingHttpHeaders = {}): Recorded {
  const { id, method = '', params = {} } = Object(jsonOf(text))
  const claimed = params?._meta?.[VERSION_KEY] ?? headers['mcp-protocol-version']
  const isLegacy = claimed === undefined || LEGACY_VERSIONS.includes(claimed)
  const atMs = performance.now()
  return { id, method, params, headers, transport, era: isLegacy ? 'legacy' : 'modern', atMs }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Every message that came, and who waits for one. */
export class Requests {
  readonly #all: Recorded[] = []
  readonly #waiting = new Set<(request: Recorded) => void>()

  get all(): readonly Recorded[] {
    return this.#all
  }

  add(request: Recorded): void {
    this.#all.push(request)
    for (const listener of this.#waiting) listener(request)
  }

  /** Resolves with the first that is accepted, come already from number `since` on, or to come. */
  async met(accepts: (request: Recorded) => boolean, since: number): Promise<Recorded> {
    const known = this.#all.slice(since).find(accepts)
    if (known !== undefined) return known
    return new Promise((resolve) => {
      const listener = (request: Recorded): void => {
        if (!accepts(request)) return
        this.#waiting.delete(listener)
        resolve(request)
      }
      this.#waiting.add(listener)
    })
  }
}
