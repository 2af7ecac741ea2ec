import { CLIENT_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { remembered } from '../audit.ts'
import { isObject } from '../json-object.ts'
import { ANSWERED, audited } from './audited.ts'
import type { Tell } from './audited.ts'
import type { Serving } from './methods.ts'
import { cancelledBy } from './stdio-listen.ts'

/** Remembers what one client over stdio asks, by the messages that go by. */
export class StdioAudit {
  readonly #serving: Pick<Serving, 'audit' | 'registry'>
  readonly #waiting = new Map<RequestId, Tell>()
  #client: string | undefined

  constructor(serving: Pick<Serving, 'audit' | 'registry'>) {
    this.#serving = serving
  }

  asked(message: JSONRPCMessage): void {
    if (this.#serving.audit === undefined || !('method' in message)) return
    const cancelled = cancelledBy(message)
    if (cancelled !== undefined) this.refused(cancelled, 'the client took it back')
    if (!('id' in message)) return
    this.#client = nameIn(message.params) ?? this.#client
    // Each is answered or taken back, but for one whose id its client uses again.
    this.refused(message.id, 'another request came under its id')
    const asker = this.#client === undefined ? {} : { client: this.#client }
    this.#waiting.set(message.id, audited(this.#serving, message, asker))
  }

  /** A message of ours; of listen requests the first one is no answer, and tells that there is nothing against it. */
  answered(message: JSONRPCMessage): void {
    if ('method' in message) {
      const listen = listenIn(message.params)
      if (listen !== undefined) this.#waiting.get(listen)?.(ANSWERED)
    } else if (message.id !== undefined) this.#end(message.id, message)
  }

  refused(id: RequestId, why: string): void {
    this.#end(id, { refused: why })
  }

  #end(id: RequestId, end: Parameters<Tell>[0]): void {
    this.#waiting.get(id)?.(end)
    this.#waiting.delete(id)
  }
}

/** What a client calls itself: in `initialize`, or with each request. */
function nameIn(params: unknown): string | undefined {
  const { clientInfo, _meta: meta } = isObject(params) ? params : {}
  const info = clientInfo ?? (isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined)
  const name = isObject(info) ? info['name'] : undefined
  return typeof name === 'string' ? remembered(name) : undefined
}

function listenIn(params: unknown): RequestId | undefined {
  const meta = isObject(params) ? params['_meta'] : undefined
  const id = isObject(meta) ? meta[SUBSCRIPTION_ID_META_KEY] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}
