import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Clock } from '../base/async/clock.ts'
import { resultWithin, waitAtMost } from '../base/async/wait-at-most.ts'
import { codeOf } from '../base/error-code.ts'
import type { Log } from '../base/log.ts'
import { RemoteFiles } from '../features/mcp-sources/remote-files.ts'
import { rosterOf } from '../features/rings/ring-roster.ts'
import type { ReadContent } from '../serve/content.ts'
import type { Serving } from '../serve/mcp/core/methods.ts'
import { SearchService } from '../serve/mcp/tools/search/search-service.ts'
import type { ToolHost } from '../serve/mcp/tools/tool-document.ts'
import { Registry } from '../serve/registry.ts'
import { Views } from '../serve/views.ts'
import type { Catalog } from '../sync/catalog/catalog.ts'
import { isOfUpstream } from '../sync/model/skill.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { undefinedIfDamaged } from '../sync/model/sync-error.ts'
import { currentCatalog } from '../sync/pull/generation-catalog.ts'
import { cannot, isUnwritable, unlessAbsent } from '../sync/store/files/disk-error.ts'
import { HINT } from '../sync/store/generation-store.ts'
import { Store } from '../sync/store/store.ts'
import { idsOf } from './config/config.ts'
import { withPresentSources } from './config/present-sources.ts'
import type { WholeConfig } from './configuration.ts'
import { requestCheck, type AskForLook } from './control/request-refresh.ts'
import { readDecisions } from './pull/load-decisions.ts'
import { readStored } from './pull/store-content-reader.ts'
import { followsLock } from './pull/trust/lock-rules.ts'
import { admissionOf } from './pull/trust/serving-policy.ts'
import { Reaction } from './runtime/reaction.ts'
import { servingOf } from './status/page/mcp-serving.ts'
import { sharedDiskOf } from './status/page/skill-paths.ts'
import { lackingIn } from './status/unserved-sources.ts'

/** The interval for reading the head if watching reports nothing, such as when no watches are left. */
const LOOK_MS = 2_000

/** The files whose change means a new head or new decisions. The head itself is in the database. */
const LOOKED_AT: ReadonlySet<string | null> = new Set([HINT, 'decisions.json'])

/**
 * A reader of a state folder that another process writes. It serves the current generation, and notices a new one by
 * itself.
 */
export class Follower implements AsyncDisposable {
  readonly registry = new Registry()
  readonly #views: Views
  #config: WholeConfig
  readonly #store: Store
  readonly #log: Log
  readonly #clock: Clock
  readonly #stop = new AbortController()
  /** Resolved when the first generation is served. */
  readonly #first = Promise.withResolvers<void>()
  readonly #searching: SearchService
  readonly #looking: Reaction
  readonly #watcher: FSWatcher | undefined
  readonly #asked: RemoteFiles
  readonly #readStored: ReadContent = async (kept, file) =>
    isOfUpstream(kept)
      ? this.#asked.read(kept, file)
      : readStored(kept, file, { store: this.#store, log: this.#log }).catch(undefinedIfDamaged)
  #read = this.#readStored
  readonly #firstLooker = Promise.withResolvers<Looker>()
  #looker = this.#firstLooker.promise
  #replaced = Promise.withResolvers<void>()
  #seen: string | undefined

  private constructor(config: WholeConfig, store: Store, log: Log, clock: Clock) {
    this.#config = config
    this.#views = new Views(this.registry, () => clock.monotonicMs())
    this.#views.define(config.packs)
    this.#views.defineRings(rosterOf(config))
    this.#store = store
    this.#asked = new RemoteFiles({ config, store, signal: this.#stop.signal, log })
    this.#log = log
    this.#clock = clock
    this.#searching = new SearchService({ state: config.state, log, clock })
    this.#looking = new Reaction({
      clock,
      run: async () => this.#serveNewest(),
      againMs: () => LOOK_MS,
      // The writer may have moved on between the head and the objects: the next check sees that.
      failures: { log, level: 'warn', event: 'generation-not-read' },
    })
    this.#looking.start(LOOK_MS)
    this.#watcher = watchFolder(config.state, (name) => void (LOOKED_AT.has(name) && this.#looking.trigger()))
  }

  static async open(config: WholeConfig, log: Log, clock: Clock): Promise<Follower> {
    const follower = new Follower(config, await storeToRead(config.state), log, clock)
    await follower.look()
    return follower
  }

  get serving(): Serving {
    const disk = sharedDiskOf(this.#config, this.#store)
    const look = (source?: SourceId, mostMs?: number): Promise<number> => this.#lookUpstream(source, mostMs)
    const lacking: ToolHost['lacking'] = (catalog) => lackingIn(catalog, this.#config, this.#store)
    const host = { look, lacking, ...(disk !== undefined && { disk }) }
    const read: ReadContent = (skill, file) => this.#read(skill, file)
    return servingOf({ config: this.#config, reading: { read }, host, finder: this.#searching, views: this.#views })
  }

  /** Until disposed, the daemon of this process reads the files: it fetches damaged files again. */
  readWith(read: ReadContent): Disposable {
    this.#read = read
    return { [Symbol.dispose]: () => void (this.#read = this.#readStored) }
  }

  /** Until disposed, the daemon of this process pulls the sources. */
  lookWith(look: (source: SourceId | undefined) => Promise<unknown>): Disposable {
    const ask: AskForLook = async (source) => {
      await look(source)
      return true
    }
    this.#askFrom({ ask })
    return { [Symbol.dispose]: () => this.writesElsewhere() }
  }

  /**
   * Another process writes, or none: requests go over its socket. Before this or `lookWith` is called, the writer is
   * unknown. If no process listens, `takeOver` must cause one of the two to be called again soon: the caller of a tool
   * waits for that.
   */
  writesElsewhere(takeOver?: () => void): void {
    const ask: AskForLook = (source) => requestCheck(this.#config, source, this.#stop.signal)
    this.#askFrom(takeOver === undefined ? { ask } : { ask, takeOver })
  }

  /** Reads the head and the decisions now, and once more if a check is already running. */
  async look(): Promise<void> {
    this.#looking.trigger()
    await this.#looking.settled()
  }

  /** Resolves when there is a generation to serve, or after `ms`. */
  async hasGeneration(ms: number, signal: AbortSignal): Promise<void> {
    await resultWithin(ms, this.#first.promise, this.#clock, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#watcher?.close()
    await this.#looking[Symbol.asyncDispose]()
    await this.#searching[Symbol.asyncDispose]()
    this.#store[Symbol.dispose]()
  }

  /** Resolves after the result of the writer's pull is served here too. */
  async #lookUpstream(source: SourceId | undefined, mostMs = this.#config.serve.toolWaitMs): Promise<number> {
    const over = new AbortController()
    const leftMs = await waitAtMost(mostMs, this.#ask(source, over.signal), this.#clock)
    over.abort()
    await this.look()
    return leftMs
  }

  /** Sends the request until a writer answers, or the caller has left. */
  async #ask(source: SourceId | undefined, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const replaced = this.#replaced.promise
      const { ask, takeOver } = await this.#looker
      if ((await ask(source)) || takeOver === undefined) return
      takeOver()
      await replaced
    }
  }

  #askFrom(looker: Looker): void {
    this.#firstLooker.resolve(looker)
    this.#looker = Promise.resolve(looker)
    this.#replaced.resolve()
    this.#replaced = Promise.withResolvers()
  }

  async #serveNewest(): Promise<void> {
    const current = await this.#headMark()
    if (current === undefined) return
    const { decisions } = this.#store
    const mark = await this.#markOf(current)
    // Readability is not part of the mark: unreadable decisions are read again.
    if (mark === this.#seen && !decisions.isFailing) return
    await readDecisions({ store: this.#store, log: this.#log })
    if (mark === this.#seen && decisions.isFailing) return
    this.#config = await withPresentSources(this.#config)
    const catalogs = new Map<string | undefined, Catalog>()
    // The clients of this process are in one ring.
    for (const ring of new Set([undefined, this.#views.ringOf(undefined)]))
      catalogs.set(ring, await currentCatalog(this.#store, idsOf(this.#config), admissionOf(this.#config), ring))
    await this.#views.prepare(catalogs)
    // Decisions that changed meanwhile apply to this same generation: they are read first.
    const now = await this.#headMark()
    if (now === undefined || (await this.#markOf(now)) !== mark) return this.#serveNewest()
    this.#views.replace(catalogs)
    const { catalog } = this.registry
    this.#log.debug('generation-served', { generation: catalog.generation, skills: catalog.skills.size })
    this.#seen = mark
    this.#first.resolve()
  }

  async #headMark(): Promise<string | undefined> {
    this.#store.followDatabase()
    const head = await this.#store.objects.head()
    return head && `${head.sequence} ${head.generation}`
  }

  /** The mark includes the rules, because they change what may be served of the same generation. */
  async #markOf(current: string): Promise<string> {
    const { decisions } = this.#store
    const rules = [decisions.file, decisions.copy, decisions.record, ...rulesIn(this.#config)]
    return [current, ...(await Promise.all(rules.map(markOf)))].join('|')
  }
}

/** Opens the store, also on a disk that is read-only. */
async function storeToRead(state: string): Promise<Store> {
  try {
    return await Store.open(state)
  } catch (error) {
    const store = isUnwritable(error) ? await Store.openExisting(state) : undefined
    if (store === undefined) throw error
    return store
  }
}

/** The party that pulls sources on request. */
interface Looker {
  readonly ask: AskForLook
  readonly takeOver?: () => void
}

/** The files that determine what may be served: the lock if it is followed, and the lists of signers. */
function rulesIn(config: WholeConfig): string[] {
  const { lock, sources } = config
  const isHeeded = sources.some(({ source }) => followsLock(config, source))
  const signers = sources.flatMap(({ signed }) => [signed?.allowedSigners, signed?.keyring])
  return [isHeeded ? lock : undefined, ...signers].filter((file) => file !== undefined)
}

/** `undefined` if the system has no watch left. The periodic check works without a watch, and if the watch fails. */
function watchFolder(folder: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    return watch(folder, (_, name) => onChange(name)).on('error', () => {})
  } catch (error) {
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EMFILE') return undefined
    throw error
  }
}

/** Changes whenever the file is replaced. `undefined` if the file does not exist. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(path, { bigint: true })).catch(cannot(`read the attributes of "${path}"`))
  return found && `${found.ino} ${found.mtimeNs} ${found.size}`
}
