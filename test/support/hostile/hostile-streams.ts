const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** What a client asks of `subscriptions/listen`. */
export interface Filter {
  readonly resourceSubscriptions?: readonly string[]
  readonly resourcesListChanged?: boolean
  readonly toolsListChanged?: boolean
  readonly promptsListChanged?: boolean
}

/** Where messages to a client go. */
export interface Sink {
  send(message: object): void
  /** Text as it stands, whatever it does to what comes after it. */
  pour(text: string): void
  /** Ends it as one does that has said all. */
  end(): void
  /** Breaks the connection. */
  cut(): void
}

/** One way that notifications go: the stream of a session, a listen request, or a connection of the 2025 era over stdio. */
export interface Stream extends Sink {
  readonly uris: ReadonlySet<string>
  tell(method: string, params: object | undefined): void
  wants(method: string, params: any): boolean
}

const UPDATED = 'notifications/resources/updated'
const LIST_CHANGED: Readonly<Record<string, keyof Filter>> = {
  'notifications/resources/list_changed': 'resourcesListChanged',
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
}

/** Hears of the resources that its session subscribes to, and of every list. */
export function legacyStream(sink: Sink, uris: ReadonlySet<string>): Stream {
  return {
    ...sink,
    uris,
    tell: (method, params) => sink.send({ jsonrpc: '2.0', method, ...(params && { params }) }),
    wants: (method, params) => method !== UPDATED || uris.has(params?.uri),
  }
}

/** Hears of what was acknowledged. Each message carries the id of the request; the last is its result. */
export function listenStream(sink: Sink, id: unknown, filter: Filter): Stream {
  const uris = new Set(filter.resourceSubscriptions)
  const stamp = { [SUBSCRIPTION_KEY]: id }
  return {
    ...sink,
    uris,
    tell: (method, params) => {
      const _meta = { ...stamp, ...Object(Object(params)['_meta']) }
      sink.send({ jsonrpc: '2.0', method, params: { ...params, _meta } })
    },
    wants: (method, params) => {
      const kind = LIST_CHANGED[method]
      if (kind !== undefined) return filter[kind] === true
      return method !== UPDATED || uris.has(params?.uri)
    },
    end: () => {
      sink.send({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: stamp } })
      sink.end()
    },
  }
}

/** Whom a notification is for: all, or those that asked for some resource with such a URI. */
export type Recipients = 'all' | ((uri: string) => boolean)

/** Every open stream. */
export class Streams {
  readonly #open = new Set<Stream>()
  readonly #waiting = new Set<() => void>()

  get size(): number {
    return this.#open.size
  }

  add(stream: Stream): void {
    this.#open.add(stream)
    this.changed()
  }

  remove(stream: Stream): void {
    this.#open.delete(stream)
    this.changed()
  }

  /** To be called when a stream was opened or closed, or asks for something else. */
  changed(): void {
    for (const check of this.#waiting) check()
  }

  notify(method: string, params: object | undefined, to: Recipients | undefined): void {
    for (const stream of this.#open) if (isFor(stream, method, params, to)) stream.tell(method, params)
  }

  /** Each of them, in a list of its own: what is done to one may close it. */
  get all(): readonly Stream[] {
    return [...this.#open]
  }

  /** Resolves once it is true of those that are open. */
  async until(isTrue: (open: readonly Stream[]) => boolean): Promise<void> {
    if (isTrue(this.all)) return
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!isTrue(this.all)) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
    })
  }
}

function isFor(stream: Stream, method: string, params: object | undefined, to: Recipients | undefined): boolean {
  if (to === undefined) return stream.wants(method, params)
  return to === 'all' || [...stream.uris].some(to)
}
