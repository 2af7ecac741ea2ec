import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../server/request-body.ts'
import type { Routes } from '../server/listener.ts'
import { sendError, sendStatus } from '../server/response.ts'
import { proofOf } from './webhook-proof.ts'
import type { Provider } from './webhook-proof.ts'

/** What the host of a source can tell us: that there may be news, and no more than that. */
export interface Webhook {
  readonly provider: Provider
  /** Read anew by each call. Undefined where it cannot be read, which is told to the operator and to nobody else. */
  readonly secret: () => Promise<string | undefined>
  /** Has the source looked at soon. Returns at once, however often it is called. */
  readonly look: () => void
  /** A request for the source proved nothing. */
  readonly refused: () => void
}

/** By the ids of their sources. */
export type Webhooks = ReadonlyMap<string, Webhook>

/** `POST /hooks/<source>`. */
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

  /** From now on these count. What was delivered for a source that stays is not taken once more. */
  serve(webhooks: Webhooks): void {
    const sources = [...webhooks.keys()]
    this.#deliveries = new Map(sources.map((source) => [source, this.#deliveries.get(source) ?? new Deliveries()]))
    this.#webhooks = webhooks
  }

  async answer(source: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verdict = await this.#verdictOf(source, request)
    switch (verdict) {
      case 'too-large':
        // What is left of the body is not read, so the connection cannot be used again.
        return sendError(response, 413, -32000, `The body is over ${this.#bodyBytes} bytes`, {
          headers: { connection: 'close' },
        })
      case 'refused':
        return sendError(response, 401, -32000, 'The signature is missing or wrong, or there is no such source')
      case 'taken':
        return sendStatus(response, 202, { 'content-length': '0' })
    }
  }

  async #verdictOf(source: string, request: IncomingMessage): Promise<'taken' | 'refused' | 'too-large'> {
    const webhook = this.#webhooks.get(source)
    // Which sources there are is told by neither the answer nor its time: one that is not there takes as long as another.
    const [decoy] = this.#webhooks.values()
    const checked = webhook ?? decoy
    if (checked === undefined) return 'refused'
    const secret = await checked.secret()
    const proof = proofOf(checked.provider, secret ?? '', request.headers, this.#now())
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

/** GitHub sends one when a webhook is set up: that it is answered is all it is for. */
function isPing(provider: Provider, { headers }: IncomingMessage): boolean {
  return provider === 'github' && headers['x-github-event'] === 'ping'
}

/** More than a host sends in the time in which it repeats what was not answered. */
const REMEMBERED = 1_000

/** The newest deliveries of a source. Only who has its secret adds to them. */
class Deliveries {
  readonly #known = new Set<string>()

  /** Whether it is none of those, which it is from now on. */
  isNew(delivery: string): boolean {
    if (this.#known.has(delivery)) return false
    this.#known.add(delivery)
    const [oldest] = this.#known
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
    return true
  }
}

/** Where hosts post to. */
export function hookRoutes(webhooks: WebhookEndpoint): Routes {
  return {
    '/hooks/': {
      methods: ['POST'],
      answer: (request, response, { name }) => webhooks.answer(name, request, response),
    },
  }
}
