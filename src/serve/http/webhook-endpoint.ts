import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Routes } from './server/listener.ts'
import { readBody } from './server/request-body.ts'
import { sendError, sendStatus } from './server/response.ts'
import { webhookProofOf } from './webhook-proof.ts'
import type { Provider } from './webhook-proof.ts'

/** The webhook of a source. A request only says that there may be news. */
export interface Webhook {
  readonly provider: Provider
  /** Reads the secret at each call. `undefined` if it cannot be read; only the operator learns of that. */
  readonly secret: () => Promise<string | undefined>
  /** Schedules a pull of the source. Returns at once, however often it is called. */
  readonly look: () => void
  /** Records a request for the source without a valid proof. */
  readonly refused: () => void
}

/** The webhooks by source id. */
export type Webhooks = ReadonlyMap<string, Webhook>

/** Serves `POST /hooks/<source>`. */
export class WebhookEndpoint {
  #webhooks: Webhooks
  readonly #bodyBytes: number
  readonly #now: () => Date
  #deliveries: ReadonlyMap<string, Deliveries>

  constructor(webhooks: Webhooks, bodyBytes: number, now: () => Date) {
    this.#webhooks = webhooks
    this.#bodyBytes = bodyBytes
    this.#now = now
    this.#deliveries = new Map([...webhooks.keys()].map((source) => [source, new Deliveries()]))
  }

  /**
   * Replaces the webhooks. The known deliveries of remaining sources are kept, so that no delivery is accepted twice.
   */
  serve(webhooks: Webhooks): void {
    const sources = [...webhooks.keys()]
    this.#deliveries = new Map(sources.map((source) => [source, this.#deliveries.get(source) ?? new Deliveries()]))
    this.#webhooks = webhooks
  }

  async answer(source: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verdict = await this.#verdictOf(source, request)
    switch (verdict) {
      case 'too-large':
        // The rest of the body is not read, so the connection cannot be reused.
        return sendError(response, {
          status: 413,
          code: -32000,
          message: `The body is over ${this.#bodyBytes} bytes`,
          headers: { connection: 'close' },
        })
      case 'refused':
        return sendError(response, {
          status: 401,
          code: -32000,
          message: 'The signature is missing or wrong, or there is no such source',
        })
      case 'taken':
        return sendStatus(response, 202, { 'content-length': '0' })
    }
  }

  async #verdictOf(source: string, request: IncomingMessage): Promise<'taken' | 'refused' | 'too-large'> {
    const webhook = this.#webhooks.get(source)
    // Neither the response nor its timing reveals which sources exist: an unknown source takes as long as another.
    const [decoy] = this.#webhooks.values()
    const checked = webhook ?? decoy
    if (checked === undefined) return 'refused'
    const secret = await checked.secret()
    const proof = webhookProofOf(checked.provider, secret ?? '', request.headers, this.#now())
    if (!(await readBody(request, this.#bodyBytes, (bytes) => proof.take(bytes)))) return 'too-large'
    const delivery = proof.delivery()
    if (webhook === undefined || secret === undefined) return 'refused'
    if (delivery === undefined) {
      webhook.refused()
      return 'refused'
    }
    if (this.#deliveries.get(source)?.isNew(delivery) === true && !isPing(checked.provider, request)) webhook.look()
    return 'taken'
  }
}

/** GitHub sends a ping when a webhook is created. It needs only a response. */
function isPing(provider: Provider, { headers }: IncomingMessage): boolean {
  return provider === 'github' && headers['x-github-event'] === 'ping'
}

/** More deliveries than a host sends within its retry period. */
const REMEMBERED = 1_000

/** The newest deliveries of a source. Only a sender with the secret can add to them. */
class Deliveries {
  readonly #known = new Set<string>()

  /** Returns true for an unknown delivery, and records it. */
  isNew(delivery: string): boolean {
    if (this.#known.has(delivery)) return false
    this.#known.add(delivery)
    const [oldest] = this.#known
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
    return true
  }
}

/** The routes that git hosts post to. */
export function hookRoutes(webhooks: WebhookEndpoint): Routes {
  return {
    '/hooks/': {
      methods: ['POST'],
      answer: (request, response, { name }) => webhooks.answer(name, request, response),
    },
  }
}
