import { SyncError, type SyncErrorCode, type SyncErrorOptions } from '../../../sync/model/sync-error.ts'
import type { Outgoing } from './message.ts'

/** A bidirectional transport of JSON-RPC messages to a server. Incoming messages go to one listener. */
export interface Channel extends AsyncDisposable {
  /** The name of the server in messages. */
  readonly name: string
  /** True if each request has its own stream, and closing that stream cancels the request. */
  readonly isByRequest: boolean
  /** True if an answer has begun and no other can come before its end. */
  readonly isAmid: boolean
  /** The words for a server that does not answer: the end of a message, and the next step. */
  readonly silence: { readonly said: string; readonly fix?: string }
  /** Sets the listener. Called once, before anything is sent. */
  hear(ears: ChannelListener): void
  /** Rejects with a `SyncError` if the message could not be sent, or if the channel knows that no answer will come. */
  send(message: Outgoing, sending: Sending): Promise<void>
  /** Sets the protocol version of all messages from now on. */
  speak(version: string): void
  /**
   * Returns the stream for messages that the server initiates, and opens it if needed; `undefined` if there is none.
   */
  listen(signal: AbortSignal): Promise<ServerStream | undefined>
}

export interface Sending {
  /** Ends the exchange, including the rest of its answer. */
  readonly signal: AbortSignal
  /** Called if the request's own stream has ended. */
  readonly dry?: () => void
}

export interface ServerStream {
  readonly ended: Promise<void>
}

/** The listener of a channel. */
export interface ChannelListener {
  /** Receives a message, not yet validated. */
  heard(message: unknown): void
  /** Called if a part of an answer came; `undefined` if the channel does not know to which request. */
  came(id: unknown): void
  /** Called if a request will not be answered, with the reason. */
  failed(id: unknown, why: SyncError): void
  /** Called if the channel is lost: no more messages will come. */
  lost(why: SyncError): void
}

/** An answer over its limit. `came`: the bytes received until then. */
export class Overlong extends SyncError {
  readonly came: number

  constructor(message: string, came: number) {
    super('limit-exceeded', message)
    this.came = came
  }
}

/** The server is reachable, but gave no usable answer. During the detection of the era that is information too. */
export class Unanswered extends SyncError {
  constructor(message: string, options: SyncErrorOptions & { code?: SyncErrorCode } = {}) {
    super(options.code ?? 'source-unreachable', message, options)
  }
}

/** No answer came, or no whole one, within this time. */
export class AnswerLate extends Unanswered {
  readonly ms: number

  constructor(message: string, ms: number, options: SyncErrorOptions = {}) {
    super(message, options)
    this.ms = ms
  }
}
