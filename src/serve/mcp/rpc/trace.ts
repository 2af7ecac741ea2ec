import { TRACEPARENT_META_KEY, TRACESTATE_META_KEY } from '@modelcontextprotocol/server'
import { traceContextOf } from '../../../base/trace-context.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { ReadFile } from '../../content.ts'
import { isObject } from '../../../base/json-object.ts'
import type { Caller } from './caller.ts'

/** Headers of the request that a message came in; empty where there is none. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Where a message stands in its client's trace: what its `_meta` says (SEP-414), which is about this message, else what the
 * headers of the request say. Never one of our own.
 */
export function traceIn(params: unknown, headers: Headers = {}): TraceContext | undefined {
  const meta = isObject(params) ? params['_meta'] : undefined
  const inMeta = isObject(meta) ? traceContextOf(meta[TRACEPARENT_META_KEY], meta[TRACESTATE_META_KEY]) : undefined
  return inMeta ?? traceInHeaders(headers)
}

/** The same of a request that is no message. */
export function traceInHeaders({ traceparent, tracestate }: Headers): TraceContext | undefined {
  return traceparent === undefined ? undefined : traceContextOf(traceparent, tracestate)
}

/** Reads in the name of a caller: whoever is asked for a file on its behalf is told where that stands in its trace. */
export function readingFor({ trace }: Caller, read: ReadFile): ReadFile {
  return trace === undefined ? read : async (stored, file) => read(stored, file, trace)
}
