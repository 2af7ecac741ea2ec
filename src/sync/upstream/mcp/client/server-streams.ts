import type { ServerStream } from './channel.ts'

/** The one stream of a session on which the server tells things by itself, as it comes and goes. */
export class ServerStreams {
  #present: Promise<ServerStream | undefined> = Promise.resolve(undefined)
  #opening: PromiseWithResolvers<ServerStream | undefined> | undefined
  readonly #expectMs: number
  #timer: NodeJS.Timeout | undefined

  /** What is expected and has not come after so long does not come. */
  constructor(expectMs: number) {
    this.#expectMs = expectMs
  }

  /** The stream that is open, or about to be; undefined when there is none. */
  get present(): Promise<ServerStream | undefined> {
    return this.#present
  }

  /** One is about to be opened. */
  expect(): void {
    if (this.#opening !== undefined) return
    this.#opening = Promise.withResolvers()
    this.#present = this.#opening.promise
    this.#timer = setTimeout(() => this.refused(), this.#expectMs).unref()
  }

  /** The server has none, or does not give it now. */
  refused(): void {
    this.#settle(undefined)
  }

  /** It is open until the returned function is called. */
  opened(): () => void {
    const ended = Promise.withResolvers<void>()
    const stream = { ended: ended.promise }
    const present = Promise.resolve(stream)
    this.#settle(stream)
    this.#present = present
    return () => {
      if (this.#present === present) this.#present = Promise.resolve(undefined)
      ended.resolve()
    }
  }

  #settle(stream: ServerStream | undefined): void {
    clearTimeout(this.#timer)
    this.#opening?.resolve(stream)
    this.#opening = undefined
  }
}
