import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { isObject } from '../../base/json-object.ts'
import { traceIds } from '../../base/trace-context.ts'
import { auditText } from '../audit.ts'
import { auditMessage } from '../mcp/core/audit-message.ts'
import type { Tell } from '../mcp/core/audit-message.ts'
import type { Serving } from '../mcp/core/methods.ts'
import { traceIn } from '../mcp/rpc/trace.ts'

/** Records the requests of one stdio client, with the name that the client gives itself. */
export class StdioAudit {
  readonly #serving: Pick<Serving, 'audit' | 'registry'>
  #client: string | undefined

  constructor(serving: Pick<Serving, 'audit' | 'registry'>) {
    this.#serving = serving
  }

  /** Works like `auditMessage`. */
  request(request: JSONRPCRequest): Tell {
    this.#client = nameIn(request.params) ?? this.#client
    const trace = traceIds(traceIn(request.params))
    return auditMessage(this.#serving, request, {
      ...(this.#client !== undefined && { client: this.#client }),
      ...trace,
    })
  }
}

/** Returns the name that a client gives itself in `initialize` or with each request. */
function nameIn(params: unknown): string | undefined {
  const { clientInfo, _meta: meta } = isObject(params) ? params : {}
  const info = clientInfo ?? (isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined)
  const name = isObject(info) ? info['name'] : undefined
  return typeof name === 'string' ? auditText(name) : undefined
}
