import { SyncError } from '../../../sync/model/sync-error.ts'
import type { HostRoute } from '../../../sync/upstream/http/host-access.ts'
import { exchange, responseOf, type HttpAnswer } from '../../../sync/upstream/http/http-exchange.ts'
import { connectionFailure } from '../../../sync/upstream/http/http-failure.ts'

/** The last answer that was not a success: it identifies most causes. */
export interface HttpRefusal {
  readonly status: number
  readonly type: string
  /** The beginning of the body. */
  readonly text: string
  readonly location: string | undefined
}

/** The stream on which a server of the 2025 era sends notifications. */
export interface ProbedStream {
  /** Resolves with the status of the answer. */
  readonly answered: Promise<number>
  /** Resolves with `true` at the first bytes, with `false` if the stream ends before. */
  readonly flowed: Promise<boolean>
}

export interface ProbeOptions {
  readonly url: URL
  readonly token: string | undefined
  readonly route: HostRoute
  readonly userAgent: string
  /** Aborts all requests. */
  readonly signal: AbortSignal
}

/**
 * The `fetch` of both clients: our own HTTP exchange, with the proxy of the environment and a limit on bytes. It
 * records failures and the stream.
 */
export class ProbeFetch {
  readonly stream: ProbedStream
  /** The failure of the connection itself, as our own error. */
  failure: SyncError | undefined
  refusal: HttpRefusal | undefined
  readonly #options: ProbeOptions
  readonly #answered = Promise.withResolvers<number>()
  readonly #flowed = Promise.withResolvers<boolean>()
  #left = MOST_BYTES

  constructor(options: ProbeOptions) {
    this.#options = options
    this.stream = { answered: this.#answered.promise, flowed: this.#flowed.promise }
  }

  readonly fetch = async (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { url, route, signal } = this.#options
    const target = new URL(to)
    // The SDKs also look for an authorization server, sometimes at another origin.
    if (target.origin !== url.origin) throw new SyncError('source-unreachable', `${target.origin} gets no request`)
    const method = init.method ?? 'GET'
    const body = typeof init.body === 'string' ? { body: Buffer.from(init.body) } : {}
    const within = init.signal ? AbortSignal.any([signal, init.signal]) : signal
    const asked = { method, headers: this.#headers(init), route, signal: within, ...body }
    const answer = await exchange(target.href, asked).catch((cause: unknown) => {
      within.throwIfAborted()
      this.failure = cause instanceof SyncError ? cause : connectionFailure(cause, `Cannot reach "${url.origin}"`)
      throw this.failure
    })
    const isStream = method === 'GET'
    if (isStream) this.#answered.resolve(answer.status)
    if (answer.status >= 300 || isPage(answer)) return this.#refusalOf(answer)
    return responseOf(answer, isStream ? this.#watched(answer) : this.#bounded(answer))
  }

  #headers(init: RequestInit): Record<string, string> {
    const { token, userAgent } = this.#options
    return {
      ...Object.fromEntries(new Headers(init.headers)),
      'accept-encoding': 'identity',
      'user-agent': userAgent,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
  }

  async #refusalOf(answer: HttpAnswer): Promise<Response> {
    const { status } = answer
    const bytes = await firstOf(this.#bounded(answer), REFUSAL_BYTES)
    const text = bytes.toString('utf8').slice(0, SHOWN_CHARACTERS)
    const type = answer.header('content-type') ?? ''
    // A server without a stream, or without a session to end, is no failure in itself. The step that needs the stream
    // checks it.
    if (status !== 405) this.refusal = { status, type, text, location: answer.header('location') }
    return responseOf(answer, piecesOf(bytes))
  }

  async *#watched(answer: HttpAnswer): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of this.#bounded(answer)) {
        this.#flowed.resolve(true)
        yield chunk
      }
    } finally {
      this.#flowed.resolve(false)
    }
  }

  async *#bounded(answer: HttpAnswer): AsyncGenerator<Uint8Array> {
    for await (const chunk of answer.body) {
      this.#left -= chunk.length
      if (this.#left < 0)
        throw new SyncError('limit-exceeded', `The answers are over ${MOST_BYTES} bytes`, {
          fix: 'Check that the address is that of a server of skillsyncd',
        })
      yield chunk
    }
  }
}

/** The limit for all fetched bytes together; listings of thousands of skills are large. */
const MOST_BYTES = 2 ** 25
/** Room for a JSON-RPC error, which the clients parse from a refusal. */
const REFUSAL_BYTES = 2 ** 16
const SHOWN_CHARACTERS = 4_096

function isPage(answer: HttpAnswer): boolean {
  return (answer.header('content-type') ?? '').toLowerCase().startsWith('text/html')
}

/** Reads at most so many bytes. Does not wait for the rest. */
async function firstOf(body: AsyncGenerator<Uint8Array>, most: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    parts.push(part)
    size += part.length
    if (size >= most) break
  }
  return Buffer.concat(parts).subarray(0, most)
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}
