import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest } from '@modelcontextprotocol/server'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { AuditEvent } from '../../audit.ts'
import { remembered, rememberedUri } from '../../audit.ts'
import { UNWAITED, audited, messageEndOf } from '../../mcp/core/audit-message.ts'
import type { End, Tell } from '../../mcp/core/audit-message.ts'
import { traceIn, traceInHeaders } from '../../mcp/rpc/trace.ts'
import { LEFT_STATUS, NO_ROUTE, meteredMethod } from '../../meter.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import { traceIds } from '../../../base/trace-context.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { Principal } from '../../principal.ts'
import type { TrustedProxies } from './client-address.ts'
import type { Answered } from './listener.ts'
import { reasonOf } from './response.ts'

/** Remembers and counts what is asked over HTTP: each message of MCP by itself, and of all else the request. */
export class HttpAudit {
  readonly #serving: Recording
  readonly #proxies: TrustedProxies
  readonly #now: () => number
  /** Until they are answered, which every one is. A weak map of what comes and goes so fast would cost the collector more. */
  readonly #exchanges = new Map<ServerResponse, Exchange>()

  /** `now`: milliseconds that only ever go up. */
  constructor(serving: Recording, proxies: TrustedProxies, now: () => number) {
    this.#serving = serving
    this.#proxies = proxies
    this.#now = now
  }

  /** As `audited`, for a message that came in a request. */
  message(
    asking: { readonly method: string; readonly params?: unknown },
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Tell {
    const { audit, meter, registry } = this.#serving
    if (audit === undefined && meter === undefined) return NOBODY
    const message: Told = { method: asking.method, beganMs: this.#now(), end: undefined, event: undefined }
    const hold = (event: AuditEvent): void => void (message.event = event)
    const asker = audit === undefined ? {} : this.#askerOf(request, principal, traceIn(asking.params, request.headers))
    const tell = audited({ registry, ...(audit !== undefined && { audit: hold }) }, asking, asker)
    const exchange = this.#exchangeOf(response)
    return (end) => {
      if (message.end !== undefined) return
      message.end = end
      exchange.told.push(message)
      tell(end)
    }
  }

  /** What a request turned out to ask. Where it is refused before any of that is served, each message of it is. */
  asks(response: ServerResponse, body: unknown): void {
    const { audit, meter } = this.#serving
    if (audit !== undefined || meter !== undefined) this.#exchangeOf(response).asked = body
  }

  /** Who is behind a request turned out later than its head was looked at. */
  isReadBy(response: ServerResponse, principal: Principal): void {
    this.#exchangeOf(response).reader = principal
  }

  /** What was answered, with what was served when it came. */
  answered(request: IncomingMessage, response: ServerResponse, { route, audit: kept, principal }: Answered): void {
    const { audit, meter, registry } = this.#serving
    meter?.answered(route ?? NO_ROUTE, statusTo(response))
    const { asked: body, told = [], reader } = this.#exchanges.get(response) ?? {}
    this.#exchanges.delete(response)
    if (told.length > 0) return this.#toldOf(told, response)
    if (!response.headersSent) return
    const { statusCode: status } = response
    const isRefusal = status >= 400
    if (meter !== undefined && isRefusal)
      for (const { method } of requestsIn(body)) meter.message(meteredMethod(method), 'refused')
    if (audit === undefined) return
    if (kept === undefined ? !DENIALS.has(status) : kept === 'refusals' && !isRefusal) return
    const asker = this.#askerOf(request, principal ?? reader, traceInHeaders(request.headers))
    const why = whyOf(response)
    const messages = isRefusal ? requestsIn(body) : []
    for (const message of messages)
      audited(this.#serving, message, { ...asker, ...traceIds(traceIn(message.params)) })({ refused: why })
    if (messages.length > 0) return
    audit({
      asked: `${request.method ?? ''} ${rememberedUri(request.url ?? '/').replace('?…', '')}`,
      ...asker,
      generation: registry.catalog.generation,
      allowed: !isRefusal,
      ...(isRefusal && { why: remembered(why) }),
    })
  }

  #exchangeOf(response: ServerResponse): Exchange {
    const known = this.#exchanges.get(response)
    if (known !== undefined) return known
    const exchange: Exchange = { asked: undefined, told: [], reader: undefined }
    this.#exchanges.set(response, exchange)
    return exchange
  }

  #toldOf(told: readonly Told[], response: ServerResponse): void {
    const { audit, meter } = this.#serving
    const why = response.destroyed ? undefined : reasonOf(response)
    for (const { method, beganMs, end, event } of told) {
      if (event !== undefined) audit?.(why === undefined ? event : refused(event, why))
      if (meter === undefined || end === undefined) continue
      const became = messageEndOf(end)
      // It was made, and there was no room for it.
      const isRefused = became === 'ok' && why !== undefined
      meter.message(meteredMethod(method), isRefused ? 'refused' : became, this.#now() - beganMs)
    }
  }

  #askerOf(request: IncomingMessage, principal: Principal | undefined, trace: TraceContext | undefined) {
    return {
      ...(principal !== undefined && { principal: principal.id }),
      address: this.#proxies.clientOf(request),
      ...traceIds(trace),
    }
  }
}

/** Who remembers, and who counts. */
type Recording = Pick<Serving, 'audit' | 'meter' | 'registry'>

/** What is known of a request until it is answered. */
interface Exchange {
  asked: unknown
  /** The messages of which it is known what became of them. There can be no room for the answer. */
  readonly told: Told[]
  reader: Principal | undefined
}

/** A message, until it is known what became of its answer. */
interface Told {
  readonly method: string
  readonly beganMs: number
  end: End | undefined
  event: AuditEvent | undefined
}

/** With why it was refused in the end, where nothing was against it before. */
function refused(event: AuditEvent, why: string): AuditEvent {
  return event.allowed ? { ...event, allowed: false, why: remembered(why) } : event
}

/** A client that left while it was sending was told of a fault, as far as that goes. */
/** What was answered, for whoever counts; to one who left before that, nothing was. */
export function statusTo(response: ServerResponse): number {
  return !response.headersSent || isUnwaited(response) ? LEFT_STATUS : response.statusCode
}

/** What fails because nobody waits for it ends like a fault of ours. */
function isUnwaited({ statusCode, destroyed }: ServerResponse): boolean {
  return statusCode === 500 && destroyed
}

function whyOf(response: ServerResponse): string {
  if (isUnwaited(response)) return UNWAITED
  return reasonOf(response) ?? `HTTP ${response.statusCode}`
}

/** None of a batch that is too long: each would be remembered, and none is looked at. */
function requestsIn(body: unknown): readonly JSONRPCRequest[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  return messages.length > MOST_MESSAGES ? [] : messages.filter((message) => isJSONRPCRequest(message))
}

const MOST_MESSAGES = 100

const NOBODY: Tell = () => {}

/** Who was not let in. Where nothing is served, nothing is denied. */
const DENIALS: ReadonlySet<number> = new Set([401, 403, 429])
