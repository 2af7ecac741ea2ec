import { holderOf } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import { WHOLE } from '../../view.ts'
import type { ViewName } from '../../view.ts'
import { MAX_SUBSCRIPTIONS } from '../rpc/caller.ts'
import type { CallerSubscriptions } from '../rpc/caller.ts'
import { tooManySubscriptions } from '../rpc/rpc-error.ts'
import type { FoundSession, SessionLog, SessionRecord } from './session-store.ts'

interface GuestTools {
  readonly log: SessionLog
  /** Returns the number of the generation that is served now. */
  readonly generation: () => number
}

/** A session that another process owns. Its requests are served here, and change the stored session alone. */
export class GuestSession implements CallerSubscriptions {
  /** The hash of its id. */
  readonly key: string
  readonly principalId: string | undefined
  readonly view: ViewName
  readonly holder: ShareHolder
  /** The process that opened the session knows the name of the client. */
  readonly client = undefined
  /** The negotiated revision; `undefined` if it is not known. */
  readonly revision: string | undefined
  readonly #tools: GuestTools
  #subscribed: number
  #writing: Promise<void> | undefined

  constructor({ key, principalId, address, view = WHOLE, revision, subscribed }: FoundSession, tools: GuestTools) {
    this.key = key
    this.principalId = principalId
    this.view = view
    this.revision = revision
    this.holder = holderOf(principalId, address)
    this.#subscribed = subscribed
    this.#tools = tools
  }

  /** Resolves when the requests so far are stored. `undefined` if that is so already. */
  get written(): Promise<void> | undefined {
    return this.#writing
  }

  subscribe(asked: string, canonical: string): void {
    if (this.#subscribed >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    this.#subscribed += 1
    this.#append({ kind: 'subscribed', key: this.key, asked, canonical, generation: this.#tools.generation() })
  }

  unsubscribe(asked: string): void {
    this.#append({ kind: 'unsubscribed', key: this.key, asked })
  }

  logUse(): void {
    this.#append({ kind: 'used', key: this.key, idleMs: 0 })
  }

  end(): void {
    this.#append({ kind: 'ended', key: this.key })
  }

  #append(record: SessionRecord): void {
    const writing = this.#tools.log.append(record).finally(() => {
      if (this.#writing === writing) this.#writing = undefined
    })
    this.#writing = writing
  }
}
