import type { ServerStream } from './channel.ts'

/** Tracks the one stream of a session for messages that the server initiates. */
export class ServerStreams {
  #present: Promise<ServerStream | undefined> = Promise.resolve(undefined)
  #opening: PromiseWithResolvers<ServerStream | undefined> | undefined
  readonly #expectMs: number
  #timer: NodeJS.Timeout | undefined

  /** `expectMs`: an expected stream that has not opened after this time counts as refused. */
  constructor(expectMs: number) {
    this.#expectMs = expectMs
  }

  /** Resolves to the stream that is open or opening; `undefined` if there is none. */
  get present(): Promise<ServerStream | undefined> {
    return this.#present
  }

  /** Announces that a stream is about to open. */
  expect(): void {
    if (this.#opening !== undefined) return
    this.#opening = Promise.withResolvers()
    this.#present = this.#opening.promise
    this.#timer = setTimeout(() => this.refused(), this.#expectMs).unref()
  }

  /** Reports that the server has no stream, or refuses one now. */
  refused(): void {
    this.#settle(undefined)
  }

  /** Reports an open stream; the returned function reports its end. */
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
