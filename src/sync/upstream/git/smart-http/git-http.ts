import { SyncError } from '../../../model/sync-error.ts'
import { credentialHeaders } from '../../http/credential-headers.ts'
import { exchange } from '../../http/http-exchange.ts'
import type { Answer } from '../../http/http-exchange.ts'
import { connectionFailure, gitFailureOf } from '../../http/http-failure.ts'
import { baseOf, isRedirect, MAX_REDIRECTS, redirectOf, tooManyRedirects } from '../../http/http-redirect.ts'
import { guarded } from './pkt-line.ts'
import type { FetchLimits } from '../../upstream.ts'
import type { Way } from '../../http/host-access.ts'

/** What one exchange with a host may use up. `bytes` is shared by all of its requests, and counted down. */
export interface HttpAllowance {
  readonly limits: Pick<FetchLimits, 'connectMs' | 'idleMs' | 'totalMs'>
  readonly bytes: ByteBudget
  readonly way: Way
  readonly signal: AbortSignal
}

export interface ByteBudget {
  /** As the message names it to the operator. */
  readonly limit: string
  left: number
}

interface GitCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Makes it a POST. */
  readonly body?: readonly Uint8Array[]
}

interface GitAnswer {
  /** Throws where the answer is cut off, or reports a failure. */
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * The way to one repository over http(s). Bounded in time and bytes; an answer that is no answer of git, is cut, or reports
 * a failure throws a `SyncError`. The credential goes to no other origin.
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

  /** Where the repository turned out to be, after the redirects of the first GET. */
  get base(): string {
    return this.#base
  }

  async request(call: GitCall): Promise<GitAnswer> {
    const { proxy } = this.#allowance.way.route
    // A proxy that relays can answer in place of the host, and nobody sees which of the two it was.
    const what = `Cannot reach "${this.#url}"${proxy === undefined ? '' : ` through the proxy "${proxy.url}"`}`
    const watch = new Watch(what, this.#allowance)
    try {
      const method = call.body === undefined ? 'GET' : 'POST'
      const answer = await this.#ask(method, call, watch)
      watch.heard()
      const failure = gitFailureOf({ ...answer, method }, what, Object.keys(this.#allowance.way.headers).length > 0)
      if (failure !== undefined) throw failure
      return { body: guarded(this.#read(answer, watch), what) }
    } catch (cause) {
      watch.stop()
      throw watch.explain(cause)
    }
  }

  async #ask(method: string, call: GitCall, watch: Watch): Promise<Answer> {
    const headers = this.#headers(call)
    const { route } = this.#allowance.way
    if (call.body !== undefined) {
      const body = Buffer.concat(call.body)
      const answer = await exchange(call.url, { method, headers, body, route, signal: watch.signal })
      // It throws: no POST is asked again.
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
    // A packed answer would make the cap on bytes a cap on something else.
    headers['accept-encoding'] = 'identity'
    headers['user-agent'] = USER_AGENT
    return { ...headers, ...credentialHeaders(this.#allowance.way, call.url, this.#url) }
  }

  async *#read(answer: Answer, watch: Watch): AsyncGenerator<Uint8Array> {
    const { bytes } = this.#allowance
    try {
      for await (const chunk of answer.body) {
        watch.heard()
        bytes.left -= chunk.length
        if (bytes.left < 0) {
          throw new SyncError('limit-exceeded', `Cannot read "${this.#url}": it sends more than ${bytes.limit}`)
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

/** Hosts treat clients by this: GitHub answers an agent that names git with git's protocol alone. */
const USER_AGENT = 'git/skillsyncd'

/** The clocks of one request: until the first byte, between two, and in all. */
class Watch {
  readonly #what: string
  readonly #allowance: HttpAllowance
  readonly #controller = new AbortController()
  readonly #total: NodeJS.Timeout
  #pause: NodeJS.Timeout
  #isOverdue: SyncError | undefined

  constructor(what: string, allowance: HttpAllowance) {
    const { limits, signal } = allowance
    signal.throwIfAborted()
    signal.addEventListener('abort', this.#abort)
    this.#what = what
    this.#allowance = allowance
    this.#total = this.#alarm(limits.totalMs, `not done after ${limits.totalMs} ms`)
    this.#pause = this.#alarm(limits.connectMs, `no answer within ${limits.connectMs} ms`)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  heard(): void {
    const { idleMs } = this.#allowance.limits
    clearTimeout(this.#pause)
    this.#pause = this.#alarm(idleMs, `nothing more came within ${idleMs} ms`)
  }

  stop(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#pause)
    this.#allowance.signal.removeEventListener('abort', this.#abort)
    // Whatever is still on its way is not waited for.
    this.#controller.abort()
  }

  /** What an error of this request really is: the caller's own abort, one of the clocks, or the connection's. */
  explain(cause: unknown): unknown {
    this.#allowance.signal.throwIfAborted()
    if (this.#isOverdue !== undefined) return this.#isOverdue
    return cause instanceof SyncError ? cause : connectionFailure(cause, this.#what)
  }

  #alarm(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#isOverdue = new SyncError('source-unreachable', `${this.#what}: ${message}`)
      this.#controller.abort()
    }, ms)
  }

  readonly #abort = () => this.#controller.abort()
}
