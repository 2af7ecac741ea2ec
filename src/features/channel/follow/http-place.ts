import { ASK_HUB, SyncError } from '../../../sync/model/sync-error.ts'
import { credentialHeaders } from '../../../sync/upstream/http/credential-headers.ts'
import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../../sync/upstream/http/http-exchange.ts'
import { isWebPage, statusFailure } from '../../../sync/upstream/http/http-failure.ts'
import { isRedirect, MAX_REDIRECTS, redirectOf, tooManyRedirects } from '../../../sync/upstream/http/http-redirect.ts'
import { HttpWatch } from '../../../sync/upstream/http/http-watch.ts'
import { LIMIT_KEYS, namedLimit } from '../../../sync/upstream/upstream.ts'
import type { FetchLimits } from '../../../sync/upstream/upstream.ts'
import { CHECKPOINT_PATH } from '../content/channel-entry.ts'
import { FOLLOWER_HEADER, REPORT_PATH } from '../recall/follower-report.ts'
import { MOST_CHECKPOINT_BYTES } from './channel-place.ts'
import type { ChannelPlace, KnownCheckpoint, ServedCheckpoint } from './channel-place.ts'

/** The limits and the way of the requests of one pull. */
export interface HttpPlaceParts {
  readonly limits: FetchLimits
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  /** Called with the number of bytes that arrived since its last call. */
  readonly onReceived?: ((bytes: number) => void) | undefined
}

/**
 * A channel that a web server serves: a hub, or any server of files. All requests of one place share a limit on bytes.
 * The credential goes to no other origin.
 */
export class HttpPlace implements ChannelPlace {
  readonly #url: string
  readonly #parts: HttpPlaceParts
  #leftBytes: number
  readonly #startMs = performance.now()

  /** `url` ends with a slash. */
  constructor(url: string, parts: HttpPlaceParts) {
    this.#url = url
    this.#parts = parts
    this.#leftBytes = parts.limits.packBytes
  }

  async checkpoint({ etag, follower }: KnownCheckpoint, signal: AbortSignal): Promise<ServedCheckpoint> {
    const headers = {
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(follower !== undefined && { [FOLLOWER_HEADER]: follower }),
    }
    const found = await this.#get(CHECKPOINT_PATH, { headers, mostBytes: MOST_CHECKPOINT_BYTES }, signal)
    if (found === undefined)
      throw new SyncError(
        'repository-not-found',
        `Cannot reach "${this.#url}": no channel is there; without a token that may read it, it looks the same`,
      )
    if (found === 'unchanged') return { kind: 'unchanged' }
    return { kind: 'checkpoint', note: found.bytes.toString('utf8'), etag: found.etag }
  }

  async report(text: string, signal: AbortSignal): Promise<boolean> {
    const { limits, way } = this.#parts
    const access = await way(signal)
    const watch = new HttpWatch(`Cannot report to "${this.#url}"`, { limits, signal })
    const url = new URL(REPORT_PATH, this.#url).href
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'skillsyncd',
      ...credentialHeaders(access, url, this.#url),
    }
    try {
      const asked = { method: 'POST', headers, body: Buffer.from(text), route: access.route, signal: watch.signal }
      const answer = await exchange(url, asked)
      watch.heard()
      answer.giveUp()
      // A server of files refuses each report.
      return answer.status < 500 && answer.status !== 429
    } catch (cause) {
      const error = watch.explain(cause)
      if (!(error instanceof SyncError)) throw error
      return false
    } finally {
      watch.stop()
    }
  }

  async read(path: string, mostBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const found = await this.#get(path, { headers: {}, mostBytes }, signal)
    if (found === 'unchanged')
      throw new SyncError('source-unreachable', `Cannot reach "${this.#url}": it answers 304 to a plain request`, {
        fix: ASK_HUB,
      })
    return found?.bytes
  }

  /** `undefined` if there is nothing at the path. */
  async #get(
    path: string,
    { headers, mostBytes }: { readonly headers: Readonly<Record<string, string>>; readonly mostBytes: number },
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Buffer; readonly etag: string | undefined } | 'unchanged' | undefined> {
    const { limits, way } = this.#parts
    const access = await way(signal)
    const what = `Cannot reach "${this.#url}"`
    // All requests of a pull share the time of one fetch.
    const totalMs = limits.totalMs - (performance.now() - this.#startMs)
    if (totalMs <= 0)
      throw new SyncError('source-unreachable', `${what}: not done within ${namedLimit('totalMs', limits)}`, {
        place: LIMIT_KEYS.totalMs,
      })
    const watch = new HttpWatch(what, { limits: { ...limits, totalMs }, signal })
    try {
      const answer = await this.#follow(path, headers, access, watch)
      watch.heard()
      if (NOTHING.has(answer.status)) {
        // A body that is read to its end leaves the connection open for the next request.
        await this.#read(answer, path, MOST_CHECKPOINT_BYTES, watch)
        return answer.status === 304 ? 'unchanged' : undefined
      }
      if (isWebPage(answer))
        // Usually a portal or a proxy that wants the user to sign in, instead of the host behind it.
        throw new SyncError('protocol-not-spoken', `${what}: the answer is a web page, not a part of a channel`, {
          fix: 'Check that the address is that of a channel, and open it in a browser: a proxy may want a sign-in',
        })
      if (answer.status !== 200) throw statusFailure(answer, what, Object.keys(access.headers).length > 0)
      return { bytes: await this.#read(answer, path, mostBytes, watch), etag: answer.header('etag') }
    } catch (cause) {
      throw watch.explain(cause)
    } finally {
      watch.stop()
    }
  }

  async #follow(
    path: string,
    headers: Readonly<Record<string, string>>,
    access: HostAccess,
    watch: HttpWatch,
  ): Promise<HttpAnswer> {
    let url = new URL(path, this.#url)
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const sent = {
        ...headers,
        // A compressed answer would bypass the limit on bytes.
        'accept-encoding': 'identity',
        'user-agent': 'skillsyncd',
        ...credentialHeaders(access, url.href, this.#url),
      }
      const asked = { method: 'GET', headers: sent, route: access.route, signal: watch.signal }
      const answer = await exchange(url.href, asked)
      if (!isRedirect(answer)) return answer
      url = redirectOf(answer, 'GET', url, this.#url)
      answer.giveUp()
    }
    throw tooManyRedirects(this.#url)
  }

  async #read(answer: HttpAnswer, path: string, mostBytes: number, watch: HttpWatch): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of answer.body) {
      watch.heard()
      bytes += chunk.length
      this.#leftBytes -= chunk.length
      this.#parts.onReceived?.(chunk.length)
      if (bytes > mostBytes)
        throw new SyncError('limit-exceeded', `Cannot read "${this.#url}${path}": it has over ${mostBytes} bytes`, {
          fix: ASK_HUB,
        })
      if (this.#leftBytes < 0) {
        const limit = namedLimit('packBytes', this.#parts.limits)
        throw new SyncError('limit-exceeded', `Cannot read "${this.#url}": it sends more than ${limit}`, {
          place: LIMIT_KEYS.packBytes,
        })
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** Nothing new, and nothing there. */
const NOTHING: ReadonlySet<number> = new Set([304, 404, 410])
