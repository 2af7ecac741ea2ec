import { setImmediate as turn } from 'node:timers/promises'
import { abortable } from '../../../base/async/abortable.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { isMapping } from '../../../base/json-value.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { ListingForm } from '../../../sync/model/listing-form.ts'
import type { ServerListing } from '../../../sync/model/server-listing.ts'
import type { ListingBudget, NamedSkill } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { declaresFolders } from '../client/capabilities.ts'
import type { Watched, Waits } from '../client/change-listener.ts'
import { ChangeListener } from '../client/change-listener.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { EntryRequests } from '../client/entry-requests.ts'
import type { McpConnection } from '../client/mcp-connection.ts'
import { isAbsence } from '../client/rpc-errors.ts'
import type { UnpackedArchives } from './archives.ts'
import { CacheHints } from './cache-hints.ts'
import { wholeEntry } from './complete-entry.ts'
import { completeVariable } from './completion.ts'
import type { Completed, Completing } from './completion.ts'
import { contentsOf } from './contents.ts'
import type { ResourceContents } from './contents.ts'
import type { FileCache } from './file-cache.ts'
import { FileLists } from './file-lists.ts'
import { LinkedFiles } from './linked-files.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { listingOf } from './listing.ts'
import type { LookRules } from './look-rules.ts'
import { namedSkill } from './named-skills.ts'
import type { McpServer } from './server.ts'
import { spacesOf } from './skill-templates.ts'
import type { SkillSpaces } from './skill-templates.ts'

export interface LinkOptions {
  /** Opens a connection: the first one, and a new one after each loss. */
  readonly open: (signal: AbortSignal) => Promise<McpConnection>
  readonly budget: ListingBudget
  readonly rules: LookRules
  readonly fileCache: FileCache
  readonly archives: UnpackedArchives | undefined
  readonly clock: Waits
  /** Called after a change. `told`: the server sent a notification. `missed`: a notification may have been lost. */
  readonly onNews: (how: 'told' | 'missed') => void
}

/** Keeps one connection to a server open between uses. */
export class ServerConnection implements McpServer {
  readonly #options: LinkOptions
  readonly #stop = new AbortController()
  readonly #listener: ChangeListener
  #connection: Promise<McpConnection> | undefined
  readonly #lost = new WeakSet<McpConnection>()
  /** Settles after lost connections are disposed of. */
  #leaving: Promise<unknown> = Promise.resolve()
  readonly #listings = new SerialQueue()
  /** The form of the last listing. */
  #form: ListingForm | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    const connect = (signal: AbortSignal): Promise<McpConnection> => this.#connect(signal)
    this.#listener = new ChangeListener({ connect, clock: options.clock, onNews: options.onNews })
  }

  async list(signal: AbortSignal): Promise<ServerListing> {
    signal.throwIfAborted()
    // Listings run one after the other. A listing removes from the cache what it did not request, so concurrent ones
    // would remove each other's files.
    return abortable(
      this.#listings.next(() => this.#list(signal)),
      signal,
    )
  }

  async #list(signal: AbortSignal): Promise<ServerListing> {
    return this.#looking(signal, async (looking) => {
      const listing = await listingOf(looking, this.#form)
      this.#form = listing.form
      const unanswered = listing.findings.filter(({ rule }) => rule === 'no-answer-for-entry')
      await looking.fileCache.settle(new Set(unanswered.map(({ path }) => path)))
      const { ttlMs, isPrivate } = looking.hints
      return { ...listing, ttlMs, isPrivate }
    })
  }

  async entry(uri: string, signal: AbortSignal): Promise<unknown> {
    // Older forms have one skill only within the list of all.
    const named = this.#options.rules.named().find((one) => one.uri === uri)
    if (this.#form === 'index' || this.#form === 'fastmcp' || named?.isUnverified === true) {
      const { entries } = await this.list(signal)
      return entries.find((entry) => isMapping(entry) && entry['uri'] === uri)
    }
    return this.#looking(signal, async (looking) => {
      const reply = await looking.connection.request('skills/get', { uri }, signal)
      return reply.ok ? (await wholeEntry(withinDepth(reply.result['skill']), looking)).entry : undefined
    })
  }

  async read(uri: string, mostBytes: number, signal: AbortSignal, trace?: TraceContext): Promise<ResourceContents> {
    return this.#using(signal, async (connection) => {
      const params = trace === undefined ? { uri } : { uri, _meta: { ...trace } }
      const reply = await connection.request('resources/read', params, signal)
      return reply.ok ? contentsOf(reply.result, mostBytes) : absent(uri, reply)
    })
  }

  async find(named: NamedSkill, signal: AbortSignal): Promise<MadeEntry> {
    const form = this.#form ?? (await this.list(signal)).form
    return this.#looking(signal, (looking) => namedSkill(named, form, looking))
  }

  async spaces(signal: AbortSignal): Promise<SkillSpaces> {
    return this.#looking(signal, (looking) => spacesOf(looking, this.#form))
  }

  async complete(completing: Completing, signal: AbortSignal): Promise<Completed> {
    const timeoutMs = this.#options.rules.connectMs
    return this.#using(signal, (connection) => completeVariable(completing, { connection, timeoutMs, signal }))
  }

  async reread(archive: string, signal: AbortSignal): Promise<void> {
    this.#options.archives?.reread(archive)
    await this.list(signal)
  }

  watch(wanted: Watched): void {
    this.#listener.watch(wanted)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    // The connection closes without unsubscribing first: the end of the session ends the subscriptions too.
    await Promise.all([this.#listener[Symbol.asyncDispose](), this.#disconnect(), this.#leaving])
  }

  async #disconnect(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.[Symbol.asyncDispose]()
  }

  async #looking<Result>(signal: AbortSignal, look: (looking: ListingContext) => Promise<Result>): Promise<Result> {
    const { budget, rules, fileCache, archives } = this.#options
    return this.#using(signal, async (connection) => {
      const entryRequests = new EntryRequests({
        connect: (until) => this.#connect(until),
        isLost: (used) => this.#isLost(used),
        connectMs: rules.connectMs,
      })
      const enumerating = { connection, budget, hints: new CacheHints(), signal }
      const folders = { ...enumerating, connection: entryRequests }
      const lists = new FileLists(enumerating, declaresFolders(connection), folders)
      return look({ ...enumerating, entryRequests, rules, fileCache, archives, lists, links: new LinkedFiles() })
    })
  }

  /** Retries once on a new connection if the present one was lost. */
  async #using<Result>(signal: AbortSignal, use: (connection: McpConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#connect(signal)
    try {
      return await use(connection)
    } catch (error) {
      const isLost = error instanceof SyncError && (await this.#isLost(connection))
      if (!isLost || signal.aborted) throw error
      return use(await this.#connect(signal))
    }
  }

  async #isLost(connection: McpConnection): Promise<boolean> {
    // The loss of a connection is reported one turn after the failure of the request over it.
    await turn()
    return this.#lost.has(connection)
  }

  async #connect(signal: AbortSignal): Promise<McpConnection> {
    signal.throwIfAborted()
    this.#connection ??= this.#openConnection()
    return abortable(this.#connection, signal)
  }

  async #openConnection(): Promise<McpConnection> {
    try {
      const connection = await this.#options.open(this.#stop.signal)
      // `ended` never rejects.
      void connection.ended.then(() => this.#letGo(connection))
      this.#listener.wake()
      return connection
    } catch (error) {
      this.#connection = undefined
      throw error
    }
  }

  /** A lost connection may leave something behind: a running program, an open stream. */
  #letGo(connection: McpConnection): void {
    // Disposal of the link closes the connection itself.
    if (this.#stop.signal.aborted) return
    this.#connection = undefined
    this.#lost.add(connection)
    this.#leaving = Promise.all([this.#leaving, connection[Symbol.asyncDispose]()])
  }
}

/** The code of an unknown resource is -32602 since 2026-07-28; before, it was -32002. */
function absent(uri: string, { code, message }: { readonly code: number; readonly message: string }): ResourceContents {
  if (isAbsence({ code })) return { why: 'the server does not have it', came: 0 }
  throw new SyncError(
    'source-unreachable',
    `Cannot read "${uri}": the server answers ${code}, "${message.slice(0, 200)}"`,
  )
}
