/** The position of a request in the trace of its sender (W3C Trace Context), validated and otherwise unchanged. */
export interface TraceContext {
  readonly traceparent: string
  /** Data of the tracing systems on the way. It has no meaning without `traceparent`. */
  readonly tracestate?: string
}

/**
 * Reads the trace context from two untrusted values; `undefined` if the first is invalid. A malformed `tracestate` is
 * dropped: the specification requires it, and the trace goes on without it.
 */
export function traceContextOf(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !isTraceparent(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && isTracestate(tracestate)
  return { traceparent, ...(isState && { tracestate }) }
}

/** Returns the trace context of a request by its headers. */
export function traceInHeaders({ traceparent, tracestate }: TraceHeaders): TraceContext | undefined {
  return traceparent === undefined ? undefined : traceContextOf(traceparent, tracestate)
}

/** The headers of a request; empty if there is none. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The trace id and the span id, by the names that OpenTelemetry uses for them in log lines. */
export function traceIds(trace: TraceContext | undefined): TraceIds {
  if (trace === undefined) return {}
  const [, traceId = '', spanId = ''] = trace.traceparent.split('-')
  return { trace_id: traceId, span_id: spanId }
}

export interface TraceIds {
  readonly trace_id?: string
  readonly span_id?: string
}

/** True for version 00, or for a later one, which may append more fields. */
function isTraceparent(text: string): boolean {
  if (text.length > MOST_TRACEPARENT) return false
  const [, version, more] = TRACEPARENT.exec(text) ?? []
  return version !== undefined && version !== 'ff' && (version !== '00' || more === '')
}

const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}((?:-[\x21-\x7e]*)?)$/

const MOST_TRACEPARENT = 256

/** The length that every system must pass on; some tracing systems reject longer values entirely. */
const MOST_TRACESTATE = 512

function isTracestate(text: string): boolean {
  if (text.length > MOST_TRACESTATE) return false
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  return (
    members.length > 0 &&
    members.length <= MOST_MEMBERS &&
    keys.size === members.length &&
    members.every((member) => MEMBER.test(member))
  )
}

const MOST_MEMBERS = 32

const MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
