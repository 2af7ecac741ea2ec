import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { traceIds } from '../../../../base/trace-context.ts'
import { answeredErrorOf, auditMessage } from '../../core/audit-message.ts'
import type { Tell } from '../../core/audit-message.ts'
import type { Serving } from '../../core/methods.ts'
import { clientNameIn } from '../../rpc/client-name.ts'
import { traceIn } from '../../rpc/trace.ts'

/** Records the requests of one stdio client, with the name that the client gives itself, and counts the answers. */
export class StdioAudit {
  readonly #serving: Recorded
  #client: string | undefined

  constructor(serving: Recorded) {
    this.#serving = serving
  }

  /** Works like `auditMessage`. */
  request({ method, params }: JSONRPCRequest): Tell {
    this.#client = clientNameIn(params) ?? this.#client
    const client = this.#client
    const asker = { ...(client !== undefined && { client }), ...traceIds(traceIn(params)) }
    const tell = auditMessage(this.#serving, { method, params }, asker)
    const { use } = this.#serving
    if (use === undefined) return tell
    let isTold = false
    return (end) => {
      tell(end)
      if (isTold) return
      isTold = true
      if ('refused' in end) return
      const error = answeredErrorOf(end)
      use({ method, params, serving: this.#serving, client, principal: undefined, error })
    }
  }
}

/** The parts of `Serving` that record and count. */
type Recorded = Pick<Serving, 'audit' | 'registry' | 'forms' | 'use' | 'view'>
