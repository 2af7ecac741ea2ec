import type { IncomingMessage, ServerResponse } from 'node:http'
import { remembered, rememberedUri } from '../audit.ts'
import { audited } from '../mcp/audited.ts'
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
  /** Answers to messages that are remembered as such. */
  readonly #ofMessages = new WeakSet<ServerResponse>()
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
    if (this.#serving.audit === undefined) return NOBODY
    const tell = audited(this.#serving, asking, this.#askerOf(request, principal))
    return (end) => {
      this.#ofMessages.add(response)
      tell(end)
    }
  }

  /** Who is behind a request turned out later than its head was looked at. */
  isReadBy(response: ServerResponse, principal: Principal): void {
    this.#readers.set(response, principal)
  }

  /** What was answered, with what was served when it came. */
  answered(request: IncomingMessage, response: ServerResponse, { audit: kept, principal }: Answered): void {
    const { audit, registry } = this.#serving
    if (audit === undefined || !response.headersSent || this.#ofMessages.has(response)) return
    const { statusCode: status } = response
    const isRefusal = status >= 400
    if (kept === undefined ? !DENIALS.has(status) : kept === 'refusals' && !isRefusal) return
    audit({
      asked: `${request.method ?? ''} ${rememberedUri(request.url ?? '/').replace('?…', '')}`,
      ...this.#askerOf(request, principal ?? this.#readers.get(response)),
      generation: registry.catalog.generation,
      allowed: !isRefusal,
      ...(isRefusal && { why: remembered(reasonOf(response) ?? `HTTP ${status}`) }),
    })
  }

  #askerOf(request: IncomingMessage, principal: Principal | undefined) {
    return {
      ...(principal !== undefined && { principal: principal.id }),
      address: this.#proxies.clientOf(request),
    }
  }
}

const NOBODY: Tell = () => {}

/** Who was not let in. Where nothing is served, nothing is denied. */
const DENIALS: ReadonlySet<number> = new Set([401, 403, 429])
