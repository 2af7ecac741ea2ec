import {
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  RpcFault,
  faultReply,
  isRaw,
  isTrickle,
  rawReply,
  resultReply,
} from './hostile-answer.ts'
import type { Answer, Answerer, Reply } from './hostile-answer.ts'
import { dressed, ordinaryResult } from './hostile-answers.ts'
import { Offer } from './hostile-offer.ts'
import { Requests, VERSION_KEY } from './hostile-request.ts'
import type { Recorded } from './hostile-request.ts'
import { Streams, listenStream } from './hostile-streams.ts'
import type { Sink, Stream } from './hostile-streams.ts'

/** Who asks, as far as an edge knows. */
export interface Caller {
  /** The resources that it subscribes to, in the 2025 era. */
  readonly uris: Set<string>
  /** What is wrong with how a request came, if anything is. */
  readonly refusal?: RpcFault | undefined
}

/** What is answered to whom, however the request came. */
export class Brain extends Offer {
  readonly open = new Streams()
  protected readonly log = new Requests()
  readonly #answerers = new Map<string, Answerer | undefined>()

  /** Answers a method with something else from now on; as ordinary again, if nothing is given. */
  on(method: string, answerer?: Answerer): void {
    this.#answerers.set(method, answerer)
  }

  /** Takes a message in, and says what is to be done with it. */
  async reply(request: Recorded, caller: Caller): Promise<Reply> {
    this.log.add(request)
    try {
      return this.#replyOf(request, caller, await this.#answerers.get(request.method)?.(request.params, request))
    } catch (error) {
      if (error instanceof RpcFault) return faultReply(request, error)
      // A fault of the test that asked for the answer: its client is to hear of it.
      return faultReply(request, new RpcFault(INTERNAL_ERROR, String(error)))
    }
  }

  /** Opens the stream of a listen request: acknowledges what is honoured, and ends at once where that is nothing. */
  listen({ id, params }: Recorded, sink: Sink): Stream {
    const notifications = this.honours(Object(params.notifications))
    const stream = listenStream(sink, id, notifications)
    stream.tell('notifications/subscriptions/acknowledged', { notifications })
    if (Object.keys(notifications).length > 0) this.open.add(stream)
    else stream.end()
    return stream
  }

  #replyOf(request: Recorded, caller: Caller, answer: Answer): Reply {
    if (answer === 'silence' || answer === 'drop') return { kind: answer }
    if (answer === undefined) return this.#ordinary(request, caller)
    if (answer instanceof RpcFault) throw answer
    if (isRaw(answer)) return rawReply(answer)
    if (!isTrickle(answer)) return resultReply(request, dressed(this, request, answer))
    const reply = this.#replyOf(request, caller, answer.answer)
    return reply.kind === 'body' ? { ...reply, delayPerByteMs: answer.delayPerByteMs } : reply
  }

  #ordinary(request: Recorded, caller: Caller): Reply {
    if (request.id === undefined) return { kind: 'accepted' }
    this.#checkEra(request)
    if (caller.refusal !== undefined) throw caller.refusal
    if (request.era === 'modern' && request.method === 'subscriptions/listen') return { kind: 'listen' }
    if (request.era === 'legacy' && this.#subscribes(request, caller)) return resultReply(request, {})
    return resultReply(request, dressed(this, request, ordinaryResult(this, request)))
  }

  /** What a server says that knows only the other era, or another revision of this one. */
  #checkEra({ era, method, params, transport }: Recorded): void {
    if (era === 'modern' && this.era === 'legacy') {
      if (transport === 'stdio') throw new RpcFault(METHOD_NOT_FOUND, `Method not found: ${method}`, undefined, 200)
      throw new RpcFault(-32000, 'Bad Request: Server not initialized', undefined, 400)
    }
    const requested = era === 'modern' ? params?._meta?.[VERSION_KEY] : params?.protocolVersion
    if (era === 'modern' ? this.versions.includes(requested) : this.era !== 'modern') return
    throw new RpcFault(-32022, 'Unsupported protocol version', { supported: this.versions, requested }, 400)
  }

  #subscribes({ method, params }: Recorded, { uris }: Caller): boolean {
    const isDeclared = Object(Object(this.capabilities).resources).subscribe === true
    if (!isDeclared || !['resources/subscribe', 'resources/unsubscribe'].includes(method)) return false
    if (method === 'resources/subscribe') uris.add(params.uri)
    else uris.delete(params.uri)
    this.open.changed()
    return true
  }
}
