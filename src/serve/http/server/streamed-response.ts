import type { ServerResponse } from 'node:http'
import { abortable } from '../../../base/async/abortable.ts'
import { ClientGone, disconnectSignal } from './client-gone.ts'
import { unsentOf } from './response-backpressure.ts'

/** A response whose bytes are written as its client reads them, so that no more than one piece waits in memory. */
export class StreamedResponse {
  readonly #response: ServerResponse
  readonly #gone: AbortSignal
  #written = 0

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response
    this.#gone = disconnectSignal(response)
    response.writeHead(200, headers)
  }

  /** Aborts when the client closes the connection. */
  get gone(): AbortSignal {
    return this.#gone
  }

  /** Resolves when the bytes are handed to the system, so that they may change. Throws `ClientGone`. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#response.destroyed) throw new ClientGone()
    this.#written += bytes.byteLength
    const written = new Promise<void>((resolve, reject) => {
      this.#response.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
    await abortable(written, this.#gone).catch(this.#throwGone)
  }

  /** Has the connection closed if the client reads too slowly from now on. */
  watch(): void {
    const before = this.#written
    unsentOf(this.#response)?.watch(this.#response, 0, () => this.#written - before)
  }

  end(): void {
    this.#response.end()
  }

  readonly #throwGone = (error: unknown): never => {
    // A write can fail before the connection is reported as closed.
    throw this.#gone.aborted || this.#response.destroyed ? new ClientGone() : error
  }
}
