import type { IncomingHttpHeaders } from 'node:http'
import {
  BAGGAGE_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
  classifyInboundRequest,
} from '@modelcontextprotocol/server'
import type { InboundLegacyRoute, InboundModernRoute, JSONRPCRequest } from '@modelcontextprotocol/server'
import { isObject } from '../../../base/json-object.ts'
import { MODERN_REVISION } from '../core/sdk-server.ts'
import type { Era } from '../rpc/caller.ts'
import type { Params } from '../rpc/params.ts'

/** A request that passed a fast check of everything that the SDK's classifier would check. */
export interface PlainRequest {
  readonly era: Era
  readonly id: string | number
  readonly method: string
  /** The params without `_meta`. A plain request of the legacy era has no `_meta`. */
  readonly params: Params
  /** The whole message. */
  readonly message: JSONRPCRequest
}

/**
 * Recognizes plain requests. The SDK's classification and envelope check cost half as much as the response. Nearly all
 * requests are plain, with an envelope that their client has sent before.
 */
export class PlainRequests {
  /** The `_meta` of modern requests that were found valid, as text. */
  readonly #envelopes = new Set<string>()

  /** Returns the plain request; `undefined` if the SDK must classify it. */
  read(body: unknown, headers: IncomingHttpHeaders): PlainRequest | undefined {
    if (!isObject(body)) return undefined
    const { jsonrpc, id, method, params = {}, ...more } = body
    if (jsonrpc !== '2.0' || typeof method !== 'string' || method === 'initialize') return undefined
    if (typeof id !== 'string' && !(typeof id === 'number' && Number.isSafeInteger(id))) return undefined
    if (!isObject(params) || Object.keys(more).length > 0) return undefined
    const { _meta: meta, ...own } = params
    const era = this.#eraOf(method, meta, headers)
    return era && { era, id, method, params: own, message: { jsonrpc, id, method, params } }
  }

  #eraOf(method: string, meta: unknown, headers: IncomingHttpHeaders): Era | undefined {
    const revision = headers['mcp-protocol-version']
    if (meta === undefined) return revision === undefined || isLegacy(revision) ? 'legacy' : undefined
    if (!isObject(meta) || revision !== MODERN_REVISION || headers['mcp-method'] !== method) return undefined
    return this.#isEnvelope(withoutTrace(meta)) ? 'modern' : undefined
  }

  #isEnvelope(meta: object): boolean {
    const text = JSON.stringify(meta)
    if (this.#envelopes.has(text)) return true
    if (text.length > MAX_ENVELOPE_LENGTH || !isValid(meta)) return false
    const [oldest] = this.#envelopes
    if (this.#envelopes.size >= MAX_ENVELOPES && oldest !== undefined) this.#envelopes.delete(oldest)
    this.#envelopes.add(text)
    return true
  }
}

/** Removes the trace from `_meta`, because each request has another span. The classifier ignores these keys. */
function withoutTrace(meta: Readonly<Record<string, unknown>>): object {
  if (TRACE_KEYS.every((key) => meta[key] === undefined)) return meta
  return Object.fromEntries(Object.entries(meta).filter(([key, value]) => !isTrace(key, value)))
}

function isTrace(key: string, value: unknown): boolean {
  return typeof value === 'string' && TRACE_KEYS.includes(key)
}

const TRACE_KEYS: readonly string[] = [TRACEPARENT_META_KEY, TRACESTATE_META_KEY, BAGGAGE_META_KEY]

/** Returns the route that the classifier would return for a plain request. */
export function routeOf({ era, message }: PlainRequest): InboundModernRoute | InboundLegacyRoute {
  if (era === 'legacy') return { kind: 'legacy', reason: 'no-claim' }
  return { kind: 'modern', messageKind: 'request', message, classification: MODERN }
}

const MODERN = { era: 'modern', revision: MODERN_REVISION } as const

/** More than the likely number of connected clients; the length below is enough for the envelope of any client. */
const MAX_ENVELOPES = 1_000
const MAX_ENVELOPE_LENGTH = 2_048

function isValid(meta: object): boolean {
  const body = { jsonrpc: '2.0', id: 0, method: 'skills/list', params: { _meta: meta } }
  const route = classifyInboundRequest({ httpMethod: 'POST', body })
  return route.kind === 'modern' && route.classification.revision === MODERN_REVISION
}

function isLegacy(revision: string | string[]): boolean {
  return typeof revision === 'string' && SUPPORTED_PROTOCOL_VERSIONS.includes(revision)
}
