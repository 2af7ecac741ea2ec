import { isContractUri } from '../../../sync/model/uris/contract-uri.ts'
import { holderOf } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { EventStream } from '../../http/server/event-stream.ts'
import { WHOLE } from '../../view.ts'
import type { ViewName } from '../../view.ts'
import type { ListPart } from '../events/list-kinds.ts'
import { updateOf } from '../events/subscriptions.ts'
import type { Subscriptions, Subscriber } from '../events/subscriptions.ts'
import { MAX_SUBSCRIPTIONS } from '../rpc/caller.ts'
import type { CallerSubscriptions } from '../rpc/caller.ts'
import { noRoomForSubscriptions, tooManySubscriptions } from '../rpc/rpc-error.ts'
import { listsChangedOf, partsOfListChanged } from './list-changed.ts'
import type { MissedEvents } from './missed-events.ts'
import { SentEvents } from './sent-events.ts'
import { markNameOf } from './session-store.ts'
import type { KeptSession, NotifiedCatalog, SessionLog, SessionRecord } from './session-store.ts'

/** The parts that all sessions of a view share. */
export interface SessionTools {
  readonly hub: SessionHub
  readonly log: SessionLog
  readonly past: MissedEvents
}

type SessionHub = Pick<
  Subscriptions,
  'hasRoomFor' | 'subscribe' | 'subscribeToLists' | 'unsubscribe' | 'unsubscribeFromLists'
>

/** The owner of a session, and its view. */
export interface SessionOwner {
  readonly principalId: string | undefined
  /** The network of the client, if no principal is known. */
  readonly address?: ShareHolder | undefined
  readonly view: ViewName
}

/** One client of the 2025 era: its subscriptions and its stream. */
export class Session implements Subscriber, CallerSubscriptions {
  /** The hash of its id. */
  readonly key: string
  /** The owner. For any other principal the session does not exist. */
  readonly principalId: string | undefined
  readonly #address: ShareHolder | undefined
  /** The view of the session. */
  readonly view: ViewName
  /** The name that the client gave itself in `initialize`; `undefined` if it gave none, or if that is not known any more. */
  client: string | undefined
  /** The negotiated revision; `undefined` if that is not known any more. */
  revision: string | undefined
  /** The messages that its streams have sent. */
  readonly sent = new SentEvents()
  readonly #tools: SessionTools
  #hub: SessionHub
  readonly #subscribed = new Map<string, string>()
  /**
   * Updates that arrived without a stream that may receive them; they are sent on the next such stream. At most as many
   * as subscriptions.
   */
  readonly #missed = new Set<string>()
  readonly #missedLists = new Set<ListPart>()
  /** The mark of the last notification before a restart. The changes since then are not computed yet. */
  #since: NotifiedCatalog | undefined
  /** The mark in the log: the catalog before the first missed change. */
  #told: NotifiedCatalog | undefined
  /** True if the client was notified by another process of a catalog that is not served here yet. */
  #isAhead = false
  #stream: EventStream | undefined
  /** The parts open to the token of the current stream. One principal can use several tokens. */
  #open: ReadonlySet<ListPart> = new Set()
  /** The parts open to any of its streams so far; empty before the first. */
  #opened: ReadonlySet<ListPart> = new Set()
  #isKept = false
  #isOver = false
  #writing: Promise<void> | undefined

  constructor(key: string, { principalId, address, view }: SessionOwner, tools: SessionTools) {
    this.key = key
    this.principalId = principalId
    this.#address = address
    this.view = view
    this.#tools = tools
    this.#hub = tools.hub
    this.#hub.subscribeToLists(this)
  }

  /** The holder that the session counts for: the party that opened it, even if the session is used from elsewhere. */
  get holder(): ShareHolder {
    return holderOf(this.principalId, this.#address)
  }

  get isListening(): boolean {
    return this.#stream !== undefined
  }

  get hasSubscriptions(): boolean {
    return this.#subscribed.size > 0
  }

  /** True if the session is in the log. */
  get isKept(): boolean {
    return this.#isKept
  }

  /** Resolves when a restart would no longer undo the requests so far. `undefined` if that is so already. */
  get written(): Promise<void> | undefined {
    return this.#writing
  }

  /** Makes the session outlive the process. */
  keep(): void {
    this.#isKept = true
    this.#append(this.record(0))
  }

  /** Continues a session from its stored state. */
  restore({ subscriptions, told, client, revision }: KeptSession): void {
    this.#isKept = true
    this.client = client
    this.revision = revision
    for (const [asked, canonical] of subscriptions) {
      this.#subscribed.set(asked, canonical)
      this.#hub.subscribe(this, asked, canonical)
    }
    if (this.#tools.past.isNow(told)) return
    this.#told = told
    this.#since = told
    this.#isAhead = this.#tools.log.elsewhere !== undefined && this.#tools.past.isBehind(told)
  }

  /** Leaves the stream to the caller, without the messages that its client has not read; those wait for the next one. */
  leaveStream(): EventStream | undefined {
    const stream = this.#stream
    this.#stream = undefined
    for (const json of stream?.takeUnsent() ?? []) this.#miss(json)
    return stream
  }

  /**
   * Sends messages to this stream from now on. A session has one stream at a time. `lastEvent`: the id of the last event
   * that the client has, if it says so; what was sent after it is sent again.
   */
  listenOn(stream: EventStream, open: ReadonlySet<ListPart>, lastEvent?: string): void {
    if (lastEvent !== undefined) for (const json of this.sent.takeAfter(lastEvent)) this.#miss(json)
    this.#stream = stream
    this.#open = open
    this.#opened = new Set([...this.#opened, ...open])
    stream.onClose(() => {
      if (this.#stream !== stream) return
      this.#stream = undefined
      for (const json of stream.unsent) this.#miss(json)
    })
    // A publication can fill the socket; the rest is sent a moment later.
    stream.onClear(() => this.#stream === stream && this.logCaughtUp())
    if (this.#since === undefined) this.#catchUp(stream)
    else if (!this.#isAhead) void this.#lookBack(stream, this.#since)
  }

  subscribe(asked: string, canonical: string): void {
    // A batch can continue after the session has ended. A subscription added then would never be removed.
    if (this.#subscribed.has(asked) || this.#isOver) return
    if (this.#subscribed.size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    if (!this.#hub.hasRoomFor(this)) throw noRoomForSubscriptions()
    this.#subscribed.set(asked, canonical)
    this.#hub.subscribe(this, asked, canonical)
    this.#append({ kind: 'subscribed', key: this.key, asked, canonical })
  }

  unsubscribe(asked: string): void {
    if (this.#forget(asked)) this.#append({ kind: 'unsubscribed', key: this.key, asked })
  }

  /** Applies a subscription of the client at another process. Returns false if there is no room for it. */
  adopt(asked: string, canonical: string, generation = this.#tools.past.now.generation): boolean {
    if (!this.#subscribed.has(asked)) {
      if (this.#subscribed.size >= MAX_SUBSCRIPTIONS || !this.#hub.hasRoomFor(this)) return false
      this.#subscribed.set(asked, canonical)
      this.#hub.subscribe(this, asked, canonical)
    }
    // The change since then was announced before there was this subscription.
    if (generation < this.#tools.past.now.generation) this.updated(asked, updateOf(asked))
    return true
  }

  /** Applies the end of a subscription at another process. */
  drop(asked: string): void {
    this.#forget(asked)
  }

  /** The URIs that the client subscribed to, in its spelling. */
  get subscribed(): Iterable<string> {
    return this.#subscribed.keys()
  }

  updated(uri: string, message: string): void {
    if (this.#isReached && this.#mayHear(uri)) this.#stream?.send(message)
    else this.#missed.add(uri)
  }

  listChanged(parts: readonly ListPart[]): void {
    for (const part of parts) this.#missedLists.add(part)
    if (this.#isReached && this.#stream !== undefined) this.#tellLists(this.#stream)
  }

  end(): void {
    this.#isOver = true
    this.#hub.unsubscribeFromLists(this)
    for (const asked of this.#subscribed.keys()) this.#forget(asked)
    this.#append({ kind: 'ended', key: this.key })
    this.#isKept = false
    this.#stream?.end()
  }

  /** Leaves the client to another process. A request that still runs here changes the stored session alone. */
  release(): void {
    this.#hub.unsubscribeFromLists(this)
    for (const [asked, canonical] of this.#subscribed) this.#hub.unsubscribe(this, asked, canonical)
    this.#hub = NO_HUB
    const stream = this.#stream
    this.#stream = undefined
    stream?.end()
  }

  /** The mark of the catalog before the first missed change. */
  get told(): NotifiedCatalog | undefined {
    return this.#told
  }

  /** Returns the complete state of the session as a log record. */
  record(idleMs: number): SessionRecord {
    const { key, principalId, view, client, revision } = this
    return {
      kind: 'opened',
      key,
      ...(view !== WHOLE && { view }),
      ...(client !== undefined && { client }),
      ...(revision !== undefined && { revision }),
      idleMs,
      subscriptions: this.#subscribed,
      ...(principalId === undefined ? this.#address !== undefined && { address: this.#address } : { principalId }),
      ...(this.#told !== undefined && { told: markNameOf(this.#told) }),
    }
  }

  logUse(): void {
    this.#append({ kind: 'used', key: this.key, idleMs: 0 })
  }

  /** `told`: the mark of the catalog before the last change. */
  logMissed(told: NotifiedCatalog): void {
    if (this.#told !== undefined || this.#isUpToDate) return
    this.#told = told
    this.#append({ kind: 'missed', key: this.key, told: markNameOf(told) })
  }

  logCaughtUp(): void {
    if (this.#told === undefined || !this.#isUpToDate) return
    this.#told = undefined
    this.#append({ kind: 'caught-up', key: this.key })
  }

  /** Looks back once the catalog is served that another process notified the client of, or if that is overdue. */
  lookAgain(isOverdue = false): void {
    if (!this.#isAhead || this.#since === undefined) return
    if (!isOverdue && this.#tools.past.isBehind(this.#since)) return
    this.#isAhead = false
    // What came meanwhile is older than that catalog, or is found once more.
    this.#missed.clear()
    this.#missedLists.clear()
    if (this.#stream !== undefined) void this.#lookBack(this.#stream, this.#since)
  }

  get #isReached(): boolean {
    return this.#stream !== undefined && this.#since === undefined
  }

  get #isUpToDate(): boolean {
    if (this.#since !== undefined || this.#missed.size > 0) return false
    // A part of the lists that no token of the client opened does not count as missed.
    const waitsFor = (part: ListPart): boolean => this.#opened.size === 0 || this.#opened.has(part)
    if ([...this.#missedLists].some(waitsFor)) return false
    return this.#stream?.isClear ?? true
  }

  /** The changes before a restart are the difference between two catalogs; the older one is on disk. */
  async #lookBack(stream: EventStream, since: NotifiedCatalog): Promise<void> {
    const events = await this.#tools.past.eventsSince(since)
    if (this.#stream !== stream) return
    this.#since = undefined
    for (const [asked, canonical] of this.#subscribed) {
      if (events === undefined || events.updated.has(canonical)) this.#missed.add(asked)
    }
    for (const part of events?.lists ?? this.#tools.past.parts) this.#missedLists.add(part)
    this.#catchUp(stream)
  }

  /** Sends the missed updates. Those outside this stream's scopes wait for a stream with them. */
  #catchUp(stream: EventStream): void {
    for (const asked of [...this.#missed].filter((uri) => this.#mayHear(uri))) {
      this.#missed.delete(asked)
      stream.send(updateOf(asked))
    }
    this.#tellLists(stream)
    this.logCaughtUp()
  }

  #tellLists(stream: EventStream): void {
    const told = [...this.#missedLists].filter((part) => this.#open.has(part))
    for (const part of told) this.#missedLists.delete(part)
    for (const message of listsChangedOf(told)) stream.send(message)
  }

  #mayHear(asked: string): boolean {
    return this.#open.has('contract') || !isContractUri(asked)
  }

  #miss(json: string): void {
    const parts = partsOfListChanged(json)
    for (const part of parts) this.#missedLists.add(part)
    if (parts.length === 0 && this.#subscribed.has(uriOf(json))) this.#missed.add(uriOf(json))
  }

  #forget(asked: string): boolean {
    const canonical = this.#subscribed.get(asked)
    if (canonical === undefined) return false
    this.#subscribed.delete(asked)
    this.#missed.delete(asked)
    this.sent.delete(updateOf(asked))
    this.#hub.unsubscribe(this, asked, canonical)
    return true
  }

  #append(record: SessionRecord): void {
    if (!this.#isKept) return
    const writing = this.#tools.log.append(record).finally(() => {
      if (this.#writing === writing) this.#writing = undefined
    })
    this.#writing = writing
  }
}

/** The hub of a session that another process notifies. */
const NO_HUB: SessionHub = {
  hasRoomFor: () => true,
  subscribe: () => {},
  subscribeToLists: () => {},
  unsubscribe: () => {},
  unsubscribeFromLists: () => {},
}

/** Returns the URI of a serialized update. */
function uriOf(update: string): string {
  const { params }: { params: { uri: string } } = JSON.parse(update)
  return params.uri
}
