import { isMapping, isTexts } from '../../../base/json-value.ts'
import {
  NO_WATCH,
  isUnheard,
  noticeIn,
  type ChangeNotice,
  type Watch,
  type SubscriptionRequest,
} from './change-feed.ts'
import type { Begun, JsonRpcConnection } from './json-rpc-connection.ts'
import type { Notification } from './message.ts'

/** Subscribes to a server of the modern era with one `subscriptions/listen`. */
export async function listenToServer(
  dialogue: JsonRpcConnection,
  { wish, requestMs }: { readonly wish: SubscriptionRequest; readonly requestMs: number },
  heard: (notice: ChangeNotice) => void,
  signal: AbortSignal,
): Promise<Watch> {
  signal.throwIfAborted()
  if (isUnheard(wish)) return NO_WATCH
  const listening = new Listening(dialogue, wish, heard)
  const leave = () => listening.close()
  const timer = setTimeout(leave, requestMs)
  signal.addEventListener('abort', leave, { once: true })
  try {
    const isHonoured = await listening.acknowledged
    signal.throwIfAborted()
    if (isHonoured) return listening
    listening.close()
    return NO_WATCH
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

class Listening implements Watch {
  /** True if the server accepted any notification. */
  readonly acknowledged: Promise<boolean>
  readonly ended: Promise<void>
  readonly #acknowledged = Promise.withResolvers<boolean>()
  readonly #begun: Begun
  readonly #heard: (notice: ChangeNotice) => void
  readonly #wish: SubscriptionRequest
  #honoured: SubscriptionRequest = { list: false, uris: [] }
  #uris: ReadonlySet<string> = new Set()

  constructor(dialogue: JsonRpcConnection, wish: SubscriptionRequest, heard: (notice: ChangeNotice) => void) {
    this.acknowledged = this.#acknowledged.promise
    this.#wish = wish
    this.#heard = heard
    const { list, uris } = wish
    const notifications = { ...(list && { resourcesListChanged: true }), resourceSubscriptions: uris }
    const forget = dialogue.hear((notice) => this.#take(notice))
    this.#begun = dialogue.begin('subscriptions/listen', { notifications })
    const close = () => {
      forget()
      this.#acknowledged.resolve(false)
    }
    // An answer ends the subscription, and so does a failure.
    this.ended = this.#begun.answer.then(close, close)
  }

  get honoured(): SubscriptionRequest {
    return this.#honoured
  }

  close(): void {
    this.#begun.takeBack(new Error('The listener left'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.ended
  }

  #take(notice: Notification): void {
    const meta = notice.params['_meta']
    if (!isMapping(meta) || meta['io.modelcontextprotocol/subscriptionId'] !== this.#begun.id) return
    if (notice.method === 'notifications/subscriptions/acknowledged') return this.#agree(notice.params['notifications'])
    const told = noticeIn(notice, this.#uris, this.#honoured.list)
    if (told !== undefined) this.#heard(told)
  }

  /** Accepts the wished notifications that the server names too. */
  #agree(named: unknown): void {
    const { resourcesListChanged, resourceSubscriptions } = isMapping(named) ? named : {}
    const agreed = new Set(isTexts(resourceSubscriptions) ? resourceSubscriptions : [])
    this.#uris = new Set(this.#wish.uris.filter((uri) => agreed.has(uri)))
    this.#honoured = { list: this.#wish.list && resourcesListChanged === true, uris: [...this.#uris] }
    this.#acknowledged.resolve(!isUnheard(this.#honoured))
  }
}
