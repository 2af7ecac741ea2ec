import { META, modernHeaders } from '../../support/clients/peer.ts'
import type { MovingSource } from './moving-source.ts'

/** A client that reads a file every 20 ms, and does not wait for one answer before it sends the next request. */
export class Prober implements AsyncDisposable {
  /** Answers of the proxy that no process of the hub gave, and answers that are no content. */
  readonly refused: string[] = []
  /** Answers that ended within their bytes: the process was killed while it sent them. */
  readonly broken: string[] = []
  answered = 0
  readonly #url: string
  readonly #source: MovingSource
  readonly #timer: NodeJS.Timeout
  readonly #open = new Set<Promise<void>>()

  constructor(url: string, source: MovingSource) {
    this.#url = url
    this.#source = source
    this.#timer = setInterval(() => this.#send(), EVERY_MS)
  }

  /** Resolves with the last answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#open)
  }

  #send(): void {
    if (this.#open.size >= MOST) return
    const asked = this.#ask()
      .catch((error: unknown) => void this.refused.push(String(error)))
      .finally(() => this.#open.delete(asked))
    this.#open.add(asked)
  }

  async #ask(): Promise<void> {
    const params = { uri: this.#source.uri }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { ...params, _meta: META } })
    const headers = modernHeaders('resources/read', params)
    const answer = await fetch(this.#url, { method: 'POST', headers, body })
    const text = await answer.text().catch((error: unknown) => void this.broken.push(String(error)))
    if (text === undefined) return
    try {
      this.#source.commitOf(Buffer.from(JSON.parse(text).result.contents[0].text))
      this.answered += 1
    } catch (error) {
      this.refused.push(`${answer.status} ${text} ${String(error)}`)
    }
  }
}

const EVERY_MS = 20
/** As many as a proxy and a process of the hub have time for. */
const MOST = 100
