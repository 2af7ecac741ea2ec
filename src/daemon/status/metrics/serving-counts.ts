import { METERED_METHODS } from '../../../serve/meter.ts'
import type { MessageEnd, Meter, MeteredMethod } from '../../../serve/meter.ts'
import type { Family, Labels, Sample } from './family.ts'

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

/** Counts durations in the buckets of a histogram. */
export class Latency {
  /** The number of durations in each bucket; the last entry counts those above all buckets. */
  readonly #counts = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0)
  #sumMs = 0

  add(ms: number): void {
    let bucket = 0
    while (bucket < BOUNDS_MS.length && ms > (BOUNDS_MS[bucket] ?? 0)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sumMs += ms
  }

  /** Buckets are cumulative. */
  samples(labels: Labels): Sample[] {
    let total = 0
    const buckets = this.#counts.map((count, bucket) => {
      total += count
      return { suffix: '_bucket', labels: { ...labels, le: BOUNDS[bucket] ?? '+Inf' }, value: total }
    })
    const sum = { suffix: '_sum', labels, value: this.#sumMs / 1_000 }
    return [...buckets, sum, { suffix: '_count', labels, value: total }]
  }
}

/**
 * In seconds, as they are written. A read takes a tenth of a millisecond; a call that waits for a pull, two seconds.
 */
const BOUNDS = [
  '0.0005',
  '0.001',
  '0.0025',
  '0.005',
  '0.01',
  '0.025',
  '0.05',
  '0.1',
  '0.25',
  '0.5',
  '1.0',
  '2.5',
  '5.0',
]

const BOUNDS_MS = BOUNDS.map((bound) => Number(bound) * 1_000)
