import { isObject } from '../../../base/json-object.ts'
import { traceContextOf, traceInHeaders } from '../../../base/trace-context.ts'
import type { TraceContext, TraceHeaders } from '../../../base/trace-context.ts'
import type { ReadContent } from '../../content.ts'
import type { Caller } from './caller.ts'

/**
 * Returns the client's trace context of a message. `_meta` (SEP-414) comes first, because it belongs to this message;
 * the headers of the request come second. Never creates a trace of our own.
 */
export function traceIn(params: unknown, headers: TraceHeaders = {}): TraceContext | undefined {
  const meta = isObject(params) ? params['_meta'] : undefined
  const inMeta = isObject(meta) ? traceContextOf(meta['traceparent'], meta['tracestate']) : undefined
  return inMeta ?? traceInHeaders(headers)
}

/** Returns a reader that passes the caller's trace context on: a server that is queried for the file receives it. */
export function readingFor({ trace }: Caller, read: ReadContent): ReadContent {
  return trace === undefined ? read : async (stored, file) => read(stored, file, trace)
}
