import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest } from '@modelcontextprotocol/server'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { AuditEvent } from '../audit.ts'
import { remembered, rememberedUri } from '../audit.ts'
import { UNWAITED, audited } from '../mcp/audited.ts'
import type { Tell } from '../mcp/audited.ts'
import type { Serving } from '../mcp/methods.ts'
import type { Principal } from '../principal.ts'
import type { TrustedProxies } from './client-address.ts'
import type { Answered } from './listener.ts'
import { reasonOf } from './send.ts'

/** Remembers what is asked over HTTP: each message of MCP by itself, and of all else the request. */
export class HttpAudit {
  readonly #serving: Pick<Serving, 'audit' | 'registry'>
  readonly #proxies: TrustedProxies
  /** What there is to remember of messages once it is answered: there can be no room for the answer. */
  readonly #ofMessages = new WeakMap<ServerResponse, AuditEvent[]>()
  readonly #asked = new WeakMap<ServerResponse, unknown>()
  readonly #readers = new WeakMap<ServerResponse, Principal>()

  constructor(serving: Pick<Serving, 'audit' | 'registry'>, proxies: TrustedProxies) {
    this.#serving = serving
    this.#proxies = proxies
  }

  /** As `audited`, for a message that came in a request. */
  message(
    asking: { readonly method: string; readonly params?: unknown },
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Tell {
    const { audit, registry } = this.#serving
    if (audit === undefined) return NOBODY
    const events = this.#ofMessages.get(response) ?? []
    const hold = (event: AuditEvent): void => void events.push(event)
    const tell = audited({ audit: hold, registry }, asking, this.#askerOf(request, principal))
    return (end) => {
      this.#ofMessages.set(response, events)
      tell(end)
    }
  }

  /** What a request turned out to ask. Where it is refused before any of that is served, each message of it is. */
  asks(response: ServerResponse, body: unknown): void {
    if (this.#serving.audit !== undefined) this.#asked.set(response, body)
  }

  /** Who is behind a request turned out later than its head was looked at. */
  isReadBy(response: ServerResponse, principal: Principal): void {
    this.#readers.set(response, principal)
  }

  /** What was answered, with what was served when it came. */
  answered(request: IncomingMessage, response: ServerResponse, { audit: kept, principal }: Answered): void {
    const { audit, registry } = this.#serving
    if (audit === undefined) return
    const body = this.#asked.get(response)
    // A stream that is opened lives much longer.
    this.#asked.delete(response)
    const ofMessages = this.#ofMessages.get(response)
    if (ofMessages !== undefined) {
      const why = response.destroyed ? undefined : reasonOf(response)
      for (const event of ofMessages) audit(why === undefined ? event : refused(event, why))
      return
    }
    if (!response.headersSent) return
    const { statusCode: status } = response
    const isRefusal = status >= 400
    if (kept === undefined ? !DENIALS.has(status) : kept === 'refusals' && !isRefusal) return
    const asker = this.#askerOf(request, principal ?? this.#readers.get(response))
    const why = whyOf(response)
    const messages = isRefusal ? requestsIn(body) : []
    for (const message of messages) audited(this.#serving, message, asker)({ refused: why })
    if (messages.length > 0) return
    audit({
      asked: `${request.method ?? ''} ${rememberedUri(request.url ?? '/').replace('?…', '')}`,
      ...asker,
      generation: registry.catalog.generation,
      allowed: !isRefusal,
      ...(isRefusal && { why: remembered(why) }),
    })
  }

  #askerOf(request: IncomingMessage, principal: Principal | undefined) {
    return {
      ...(principal !== undefined && { principal: principal.id }),
      address: this.#proxies.clientOf(request),
    }
  }
}

/** With why it was refused in the end, where nothing was against it before. */
function refused(event: AuditEvent, why: string): AuditEvent {
  return event.allowed ? { ...event, allowed: false, why: remembered(why) } : event
}

/** A client that left while it was sending was told of a fault, as far as that goes. */
function whyOf(response: ServerResponse): string {
  if (response.statusCode === 500 && response.destroyed) return UNWAITED
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
