import { METERED_METHODS } from '../../../serve/meter.ts'
import type { MessageEnd, Meter, MeteredMethod } from '../../../serve/meter.ts'
import type { Family } from './family.ts'
import { Latency } from './latency.ts'

/**
 * Counts HTTP requests and MCP messages. The number of counters is bounded by routes, statuses and methods; clients
 * cannot add more.
 */
export class ServingCounts implements Meter {
  readonly #byRoute = new Map<string, Map<number, number>>()
  readonly #byMethod: ReadonlyMap<MeteredMethod, OfMethod> = new Map(
    METERED_METHODS.map((method) => [method, { ends: { ok: 0, error: 0, refused: 0, left: 0 }, latency: undefined }]),
  )

  readonly answered = (route: string, status: number): void => {
    const byStatus = this.#byRoute.get(route) ?? new Map<number, number>()
    this.#byRoute.set(route, byStatus)
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  readonly message = (method: MeteredMethod, end: MessageEnd, tookMs?: number): void => {
    const counted = this.#byMethod.get(method)
    if (counted === undefined) return
    counted.ends[end] += 1
    // The wait of a client that left or was refused tells nothing about the time of an answer.
    if (tookMs === undefined || end === 'refused' || end === 'left') return
    counted.latency ??= new Latency()
    counted.latency.add(tookMs)
  }

  families(): Family[] {
    const requests = [...this.#byRoute].flatMap(([route, byStatus]) =>
      [...byStatus].map(([status, value]) => ({ labels: { route, code: String(status) }, value })),
    )
    const messages = [...this.#byMethod].flatMap(([method, { ends }]) =>
      Object.entries(ends).map(([result, value]) => ({ labels: { method, result }, value })),
    )
    const latencies = [...this.#byMethod].flatMap(([method, { latency }]) => latency?.samples({ method }) ?? [])
    return [
      {
        name: 'skillsyncd_http_requests_total',
        kind: 'counter',
        help: 'Answered HTTP requests, by route and status; 499 if the client disconnected first.',
        samples: requests,
      },
      {
        name: 'skillsyncd_mcp_requests_total',
        kind: 'counter',
        help: 'MCP requests, by method and result: ok, error, refused (not served) or left (the client disconnected).',
        samples: messages,
      },
      {
        name: 'skillsyncd_mcp_request_duration_seconds',
        kind: 'histogram',
        help: 'Time from the complete MCP request to its handed-over answer, by method.',
        samples: latencies,
      },
    ]
  }
}

interface OfMethod {
  readonly ends: Record<MessageEnd, number>
  latency: Latency | undefined
}
