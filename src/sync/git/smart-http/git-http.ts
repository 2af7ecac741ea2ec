import { SyncError } from '../../model/sync-error.ts'
import { credentialHeaders } from '../../upstream/http/credential-headers.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import { exchange } from '../../upstream/http/http-exchange.ts'
import type { HttpAnswer, StreamedBody } from '../../upstream/http/http-exchange.ts'
import { gitFailureOf } from '../../upstream/http/http-failure.ts'
import type { GitService } from '../../upstream/http/http-failure.ts'
import { baseOf, isRedirect, MAX_REDIRECTS, redirectOf, tooManyRedirects } from '../../upstream/http/http-redirect.ts'
import { HttpWatch } from '../../upstream/http/http-watch.ts'
import type { FetchLimits } from '../../upstream/upstream.ts'
import { guardAnswer } from './pkt-line.ts'

/** The limits of one exchange with a host. All its requests share `bytes`, which counts down. */
export interface HttpAllowance {
  readonly limits: Pick<FetchLimits, 'connectMs' | 'idleMs' | 'totalMs'>
  readonly bytes: ByteBudget
  readonly way: HostAccess
  readonly signal: AbortSignal
}

export interface ByteBudget {
  /** The name of the limit in messages. */
  readonly limit: string
  /** The key of the configuration that raises it. */
  readonly key?: string | undefined
  /** The next step for one that no key raises. */
  readonly fix?: string
  left: number
  /** Called with the number of bytes of each piece that arrives. */
  readonly onReceived?: (bytes: number) => void
}

interface GitCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The service that is to answer; that of a reader if nothing is said. */
  readonly service?: GitService
  /** A body makes the request a POST. */
  readonly body?: readonly Uint8Array[] | StreamedBody
}

interface GitAnswer {
  /** Throws if the answer is truncated or reports a failure. */
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * A client for one repository over http(s), bounded in time and bytes. It throws a `SyncError` if an answer is not
 * git's, is truncated, or reports a failure. The credential goes to no other origin.
 */
export class GitHttp {
  readonly #url: string
  readonly #allowance: HttpAllowance
  #base: string

  constructor(url: string, allowance: HttpAllowance) {
    this.#url = url
    this.#allowance = allowance
    this.#base = url
  }

  /** The address of the repository after the redirects of the first GET. */
  get base(): string {
    return this.#base
  }

  async request(call: GitCall): Promise<GitAnswer> {
    const { proxy } = this.#allowance.way.route
    // A relaying proxy can answer instead of the host, and the client cannot distinguish the two.
    const what = `Cannot reach "${this.#url}"${proxy === undefined ? '' : ` through the proxy "${proxy.url}"`}`
    const watch = new HttpWatch(what, this.#allowance)
    try {
      const method = call.body === undefined ? 'GET' : 'POST'
      const answer = await this.#ask(method, call, watch)
      watch.heard()
      const { service = 'git-upload-pack' } = call
      const head = { ...answer, method, service }
      const sentCredentials = Object.keys(this.#allowance.way.headers).length > 0
      const failure = gitFailureOf(head, what, sentCredentials)
      if (failure !== undefined)
        throw gitFailureOf({ ...head, text: await startOf(answer) }, what, sentCredentials) ?? failure
      return { body: guardAnswer(this.#read(answer, watch), what) }
    } catch (cause) {
      watch.stop()
      throw watch.explain(cause)
    }
  }

  async #ask(method: string, call: GitCall, watch: HttpWatch): Promise<HttpAnswer> {
    const headers = this.#headers(call)
    const { route } = this.#allowance.way
    if (call.body !== undefined) {
      const body = 'pieces' in call.body ? watched(call.body, watch) : Buffer.concat(call.body)
      const answer = await exchange(call.url, { method, headers, body, route, signal: watch.signal })
      // This throws, because a POST is never redirected.
      if (isRedirect(answer)) redirectOf(answer, method, new URL(call.url), this.#url)
      return answer
    }
    let url = new URL(call.url)
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const answer = await exchange(url.href, { method, headers, route, signal: watch.signal })
      if (!isRedirect(answer)) {
        this.#base = baseOf(url)
        return answer
      }
      url = redirectOf(answer, method, url, this.#url)
      answer.giveUp()
    }
    throw tooManyRedirects(this.#url)
  }

  #headers(call: GitCall): Record<string, string> {
    const headers: Record<string, string> = { ...call.headers }
    // A compressed answer would bypass the limit on bytes.
    headers['accept-encoding'] = 'identity'
    headers['user-agent'] = USER_AGENT
    return { ...headers, ...credentialHeaders(this.#allowance.way, call.url, this.#url) }
  }

  async *#read(answer: HttpAnswer, watch: HttpWatch): AsyncGenerator<Uint8Array> {
    const { bytes } = this.#allowance
    try {
      for await (const chunk of answer.body) {
        watch.heard()
        bytes.left -= chunk.length
        bytes.onReceived?.(chunk.length)
        if (bytes.left < 0) {
          const message = `Cannot read "${this.#url}": it sends more than ${bytes.limit}`
          throw new SyncError('limit-exceeded', message, { place: bytes.key, fix: bytes.fix })
        }
        yield chunk
      }
    } catch (cause) {
      throw watch.explain(cause)
    } finally {
      watch.stop()
    }
  }
}

/** Returns the start of a body; what came of it if it fails. */
async function startOf({ body }: HttpAnswer): Promise<string> {
  let bytes: Uint8Array = Buffer.alloc(0)
  try {
    for await (const chunk of body) {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.length >= START_BYTES) break
    }
  } catch {
    // The status says enough.
  }
  return Buffer.from(bytes.subarray(0, START_BYTES)).toString('utf8')
}

/** A page to sign in has its fields behind styles and scripts. */
const START_BYTES = 2 ** 16

/** Each piece that the host takes counts as a sign of it. */
function watched({ byteLength, pieces }: StreamedBody, watch: HttpWatch): StreamedBody {
  return {
    byteLength,
    async *pieces() {
      for await (const piece of pieces()) {
        if (!watch.signal.aborted) watch.heard()
        yield piece
      }
    },
  }
}

/** Hosts depend on this prefix: GitHub serves an agent that names git with git's protocol only. */
const USER_AGENT = 'git/skillsyncd'
