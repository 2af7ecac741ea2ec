import { credentialHeaders } from '../../../sync/upstream/http/credential-headers.ts'
import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import { statusFailure } from '../../../sync/upstream/http/http-failure.ts'
import { HttpWatch } from '../../../sync/upstream/http/http-watch.ts'
import type { FetchLimits } from '../../../sync/upstream/upstream.ts'

/** The limits and the way of a request for events. */
export interface EventParts {
  readonly limits: FetchLimits
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  readonly signal: AbortSignal
}

/**
 * Calls back for each event of a channel until the hub ends the stream. An event says only that there may be a new
 * checkpoint, so what it has is not read. Returns `none` if the answer is no stream of events. Throws a `SyncError` if the
 * server cannot be reached, or refuses.
 */
export async function followEvents(
  url: string,
  { limits, way, signal }: EventParts,
  onEvent: () => void,
): Promise<'ended' | 'none'> {
  const access = await way(signal)
  const what = `Cannot follow the events of "${url}"`
  const watch = new HttpWatch(what, { limits, signal })
  const events = new URL('events', url).href
  const headers = { accept: 'text/event-stream', 'user-agent': 'skillsyncd', ...credentialHeaders(access, events, url) }
  try {
    const answer = await exchange(events, { method: 'GET', headers, route: access.route, signal: watch.signal })
    const isStream = (answer.header('content-type') ?? '').startsWith('text/event-stream')
    if (answer.status === 200 && isStream) {
      watch.heard()
      // The last bytes can be the beginning of a field that goes on in the next piece.
      let rest = ''
      for await (const chunk of answer.body) {
        watch.heard()
        const text = rest + Buffer.from(chunk).toString('latin1')
        // The comments between events, which keep the connection open, begin with a colon.
        if (text.includes(DATA)) onEvent()
        rest = text.slice(1 - DATA.length)
      }
      return 'ended'
    }
    answer.giveUp()
    if (answer.status === 200) return 'none'
    throw statusFailure(answer, what, Object.keys(access.headers).length > 0)
  } catch (cause) {
    throw watch.explain(cause)
  } finally {
    watch.stop()
  }
}

const DATA = 'data:'
