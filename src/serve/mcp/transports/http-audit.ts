import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest } from '@modelcontextprotocol/server'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { traceIds, traceInHeaders } from '../../../base/trace-context.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { AuditEvent } from '../../audit.ts'
import { auditText, auditUri } from '../../audit.ts'
import type { Answered } from '../../http/server/listener.ts'
import { isUnwaited, refusalReasonOf, statusTo } from '../../http/server/response.ts'
import type { TrustedProxies } from '../../http/server/trusted-proxies.ts'
import { NO_ROUTE, meteredMethod } from '../../meter.ts'
import type { Principal } from '../../principal.ts'
import { UNWAITED, answeredErrorOf, auditMessage, messageEndOf } from '../core/audit-message.ts'
import type { End, Tell } from '../core/audit-message.ts'
import type { AnsweredMessage, Serving } from '../core/methods.ts'
import { clientNameIn } from '../rpc/client-name.ts'
import { traceIn } from '../rpc/trace.ts'

/** Records and counts HTTP requests: each MCP message separately, and all else per request. */
export class HttpAudit {
  readonly #serving: Recording
  readonly #proxies: TrustedProxies
  readonly #now: () => number
  /**
   * Entries are removed when the response ends, as every response does. A weak map with such short-lived entries would
   * cost the garbage collector more.
   */
  readonly #exchanges = new Map<ServerResponse, Exchange>()

  /** `now`: a monotonic clock in milliseconds. */
  constructor(serving: Recording, proxies: TrustedProxies, now: () => number) {
    this.#serving = serving
    this.#proxies = proxies
    this.#now = now
  }

  /** Returns the audit of the messages that are answered from this serving, which may be that of a view. */
  of(serving: AnsweredMessage['serving']): MessageAudit {
    return {
      message: (asking, request, response, asker) => this.#message({ ...asking, serving }, request, response, asker),
      asks: (response, body) => this.#asks(response, body),
    }
  }

  #message(
    asking: AskedMessage & Pick<AnsweredMessage, 'serving'>,
    request: IncomingMessage,
    response: ServerResponse,
    { principal, client }: MessageAsker,
  ): Tell {
    const { audit, meter, use, registry } = this.#serving
    if (audit === undefined && meter === undefined && use === undefined) return NOBODY
    const { method, params, serving } = asking
    const answered = use && {
      method,
      params,
      serving,
      client: clientNameIn(params) ?? client,
      principal: principal?.id,
    }
    const message: Told = { method, beganMs: this.#now(), end: undefined, event: undefined, answered }
    const hold = (event: AuditEvent): void => void (message.event = event)
    const asker = audit === undefined ? {} : this.#askerOf(request, principal, traceIn(params, request.headers))
    const tell = auditMessage({ registry, ...(audit !== undefined && { audit: hold }) }, asking, asker)
    const exchange = this.#exchangeOf(response)
    return (end) => {
      if (message.end !== undefined) return
      message.end = end
      exchange.told.push(message)
      tell(end)
    }
  }

  #asks(response: ServerResponse, body: unknown): void {
    const { audit, meter } = this.#serving
    if (audit !== undefined || meter !== undefined) this.#exchangeOf(response).asked = body
  }

  /** Sets a principal that became known only after the check of the head. */
  isReadBy(response: ServerResponse, principal: Principal): void {
    this.#exchangeOf(response).reader = principal
  }

  /** Records a response, with the catalog served at that time. */
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
    const why = reasonOf(response)
    const messages = isRefusal ? requestsIn(body) : []
    for (const message of messages)
      auditMessage(this.#serving, message, { ...asker, ...traceIds(traceIn(message.params)) })({ refused: why })
    if (messages.length > 0) return
    audit({
      asked: `${request.method ?? ''} ${auditUri(request.url ?? '/').replace('?…', '')}`,
      ...asker,
      generation: registry.catalog.generation,
      allowed: !isRefusal,
      ...(isRefusal && { why: auditText(why) }),
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
    const { audit, meter, use } = this.#serving
    const why = response.destroyed ? undefined : refusalReasonOf(response)
    for (const { method, beganMs, end, event, answered } of told) {
      if (event !== undefined) audit?.(why === undefined ? event : refusalOf(event, why))
      if (end === undefined) continue
      const became = messageEndOf(end)
      // The response was built, but there was no room to send it.
      const isRefused = became === 'ok' && why !== undefined
      if (answered !== undefined && why === undefined && !('refused' in end))
        use?.({ ...answered, error: answeredErrorOf(end) })
      meter?.message(meteredMethod(method), isRefused ? 'refused' : became, this.#now() - beganMs)
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

/** The parts of `Serving` that record and count. */
type Recording = Pick<Serving, 'audit' | 'meter' | 'use' | 'registry'>

/** Records and counts the messages to one endpoint. */
export interface MessageAudit {
  /** Works like `auditMessage`, for a message of an HTTP request. */
  readonly message: (
    asking: AskedMessage,
    request: IncomingMessage,
    response: ServerResponse,
    asker: MessageAsker,
  ) => Tell
  /**
   * Sets the parsed body of a request. If the request is refused before any message is served, each message is recorded
   * as refused.
   */
  readonly asks: (response: ServerResponse, body: unknown) => void
}

type AskedMessage = { readonly method: string; readonly params?: unknown }

/** The client of a message: its principal, and the name that it gave itself for its session. */
export interface MessageAsker {
  readonly principal: Principal | undefined
  readonly client?: string | undefined
}

/** Data of a request until it is answered. */
interface Exchange {
  asked: unknown
  /** The messages with a known result. The response can still fail for lack of room. */
  readonly told: Told[]
  reader: Principal | undefined
}

/** A message until the result of its response is known. */
interface Told {
  readonly method: string
  readonly beganMs: number
  end: End | undefined
  event: AuditEvent | undefined
  /** `undefined` if no use is counted. */
  readonly answered: AnsweredMessage | undefined
}

/** Adds the final reason of a refusal, if the event was allowed before. */
function refusalOf(event: AuditEvent, why: string): AuditEvent {
  return event.allowed ? { ...event, allowed: false, why: auditText(why) } : event
}

function reasonOf(response: ServerResponse): string {
  if (isUnwaited(response)) return UNWAITED
  return refusalReasonOf(response) ?? `HTTP ${response.statusCode}`
}

/** Returns no messages for a batch over the limit: none of them is served, and recording each would be costly. */
function requestsIn(body: unknown): readonly JSONRPCRequest[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  return messages.length > MOST_MESSAGES ? [] : messages.filter((message) => isJSONRPCRequest(message))
}

const MOST_MESSAGES = 100

const NOBODY: Tell = () => {}

/** The statuses of denied requests. A 404 denies nothing. */
const DENIALS: ReadonlySet<number> = new Set([401, 403, 429])
