import { SyncError, type SyncErrorCode } from '../../../model/sync-error.ts'
import type { Outgoing } from './message.ts'

/** One way to a server, on which JSON-RPC messages go to and fro. What comes is told to the one who hears it. */
export interface Channel extends AsyncDisposable {
  /** As messages call the server. */
  readonly name: string
  /** Whether each request has a stream of its own, of which the end takes the request back. */
  readonly isByRequest: boolean
  /** Called once, before anything is sent. */
  hear(ears: Ears): void
  /** Rejects with a `SyncError` when it could not be sent, or, where that is known, when no answer to it will come. */
  send(message: Outgoing, sending: Sending): Promise<void>
  /** From now on messages are of this version of the protocol. */
  speak(version: string): void
  /** The stream on which the server tells things by itself, opened when it is not; undefined if there is none. */
  listen(signal: AbortSignal): Promise<ServerStream | undefined>
}

export interface Sending {
  /** Ends the exchange, and whatever of its answer is still to come. */
  readonly signal: AbortSignal
  /** Nothing more will come on the stream that this request has of its own. */
  readonly dry?: () => void
}

export interface ServerStream {
  readonly ended: Promise<void>
}

/** Who listens to a channel. */
export interface Ears {
  /** A message, not yet looked at. */
  heard(message: unknown): void
  /** One request will not be answered, for this reason. */
  failed(id: unknown, why: SyncError): void
  /** Nothing more will be heard at all. */
  lost(why: SyncError): void
}

/** One answer is over its limit. `came`: bytes of it, until it was given up. */
export class Overlong extends SyncError {
  readonly came: number

  constructor(message: string, came: number) {
    super('limit-exceeded', message)
    this.came = came
  }
}

/** The server is there, and gave no answer that can be used. While the era is sought, that tells something too. */
export class Unanswered extends SyncError {
  constructor(message: string, options: { code?: SyncErrorCode; cause?: unknown; retryAfterMs?: number } = {}) {
    super(options.code ?? 'source-unreachable', message, options)
  }
}
