import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadFile } from '../../serve/content.ts'
import type { Serving } from '../../serve/mcp/core/methods.ts'
import type { ToolHost } from '../../serve/mcp/tools/tool-document.ts'
import { Registry } from '../../serve/registry.ts'
import { Views } from '../../serve/views.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError, undefinedIfDamaged } from '../../sync/model/sync-error.ts'
import { currentCatalog } from '../../sync/pull/publisher.ts'
import { cannot, isUnwritable, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { Store } from '../../sync/store/store.ts'
import { admissionOf } from '../trust/serving-policy.ts'
import type { Clock } from '../../base/clock.ts'
import { readStored } from '../pull/content-reader.ts'
import { idsOf } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import { codeOf } from '../../base/error-code.ts'
import { lackingIn } from '../status/unserved-sources.ts'
import { isLockHeeded } from '../trust/lock-rules.ts'
import type { Log } from '../base/log.ts'
import { readDecisions } from '../pull/load-decisions.ts'
import { Searching } from '../search/search-service.ts'
import { servingOf } from '../http/mcp-serving.ts'
import { askForLook, type AskForLook } from '../control/request-refresh.ts'
import { AskedFiles } from '../control/request-file.ts'
import { sharedDiskOf } from '../http/skill-paths.ts'
import { waitAtMost } from '../../base/wait-at-most.ts'

/** How often the pointer is looked at where watching tells nothing (network disks, exhausted watches). */
const LOOK_MS = 2_000

/** What says which generation is served, and which skills of it are disabled. */
const LOOKED_AT: ReadonlySet<string | null> = new Set(['current', 'decisions.json'])

/** A reader of a state folder that somebody else writes: it serves the current generation, and notices a new one by itself. */
export class Follower implements AsyncDisposable {
  readonly registry = new Registry()
  readonly #views: Views
  readonly #config: Config
  readonly #store: Store
  readonly #log: Log
  readonly #clock: Clock
  readonly #stop = new AbortController()
  /** Raised when the first generation is served. */
  readonly #first = new AbortController()
  readonly #searching: Searching
  readonly #watching: Promise<void>
  readonly #watcher: FSWatcher | undefined
  readonly #asked: AskedFiles
  readonly #readStored: ReadFile = async (kept, file) =>
    isOfUpstream(kept)
      ? this.#asked.read(kept, file)
      : readStored(kept, file, { store: this.#store, log: this.#log }).catch(undefinedIfDamaged)
  #read = this.#readStored
  readonly #firstLooker = Promise.withResolvers<Looker>()
  #looker = this.#firstLooker.promise
  #replaced = Promise.withResolvers<void>()
  #seen: string | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false

  private constructor(config: Config, store: Store, log: Log, clock: Clock) {
    this.#config = config
    this.#views = new Views(this.registry, () => clock.monotonicMs())
    this.#views.define(config.packs)
    this.#store = store
    this.#asked = new AskedFiles({ config, store, signal: this.#stop.signal, log })
    this.#log = log
    this.#clock = clock
    this.#searching = new Searching({ state: config.state, log, clock })
    // A look rejects only in a way that is to end the process.
    this.#watcher = watched(config.state, (name) => void (LOOKED_AT.has(name) && this.look()))
    this.#watching = this.#lookNowAndThen()
  }

  static async open(config: Config, log: Log, clock: Clock): Promise<Follower> {
    const follower = new Follower(config, await storeToRead(config.state), log, clock)
    await follower.look()
    return follower
  }

  get serving(): Serving {
    const disk = sharedDiskOf(this.#config, this.#store)
    const look = (source?: SourceId, mostMs?: number): Promise<number> => this.#lookUpstream(source, mostMs)
    const lacking: ToolHost['lacking'] = (catalog) => lackingIn(catalog, this.#config, this.#store)
    const host = { look, lacking, ...(disk !== undefined && { disk }) }
    const read: ReadFile = (skill, file) => this.#read(skill, file)
    return servingOf(this.#config, this.#views, { read }, host, this.#searching)
  }

  /** Until disposed, files are read by the daemon of this very process: it fetches again what is damaged. */
  readWith(read: ReadFile): Disposable {
    this.#read = read
    return { [Symbol.dispose]: () => void (this.#read = this.#readStored) }
  }

  /** Until disposed, sources are looked at by the daemon of this very process. */
  lookWith(look: (source: SourceId | undefined) => Promise<unknown>): Disposable {
    const ask: AskForLook = async (source) => {
      await look(source)
      return true
    }
    this.#askFrom({ ask })
    return { [Symbol.dispose]: () => this.writesElsewhere() }
  }

  /**
   * Another process writes, or none: it is asked over its socket. Before this or the above, nobody knows whom to ask. Where
   * nobody listens, `takeOver` is to have one of the two called again soon: whoever calls a tool waits for that.
   */
  writesElsewhere(takeOver?: () => void): void {
    const ask: AskForLook = (source) => askForLook(this.#config, source, this.#stop.signal)
    this.#askFrom(takeOver === undefined ? { ask } : { ask, takeOver })
  }

  /** Looks at the pointer and at what is disabled now, and once more if it is being looked at already. */
  async look(): Promise<void> {
    this.#lookAgain = true
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    await this.#looking
  }

  /** Resolves when there is a generation to serve, or after so long. */
  async hasGeneration(ms: number, signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.#first.signal])
    await this.#clock.wait(ms, over).catch((error: unknown) => {
      if (!over.aborted) throw error
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#watcher?.close()
    await this.#watching
    await this.#looking
    await this.#searching[Symbol.asyncDispose]()
  }

  /** What its writer comes to is served here before this resolves. */
  async #lookUpstream(source: SourceId | undefined, mostMs = this.#config.serve.tools?.waitMs ?? 0): Promise<number> {
    const over = new AbortController()
    const leftMs = await waitAtMost(mostMs, this.#ask(source, over.signal), this.#clock)
    over.abort()
    await this.look()
    return leftMs
  }

  /** Asks until somebody listens, or the caller has left. */
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

  async #look(): Promise<void> {
    while (this.#lookAgain) {
      this.#lookAgain = false
      try {
        await this.#serveNewest()
        this.#log.recovery('generation-not-read', '')
      } catch (error) {
        // Between the pointer and the files the writer may have moved on: the next look sees that.
        if (!(error instanceof SyncError)) throw error
        this.#log.failure('warn', 'generation-not-read', { source: '', code: error.code, message: error.message })
      }
    }
  }

  async #serveNewest(): Promise<void> {
    const current = await markOf(join(this.#config.state, 'current'))
    if (current === undefined) return
    const { decisions } = this.#store
    const mark = await this.#marked(current)
    // What can be read at one moment is in no mark: what could not be is tried again.
    if (mark === this.#seen && !decisions.isFailing) return
    await readDecisions({ store: this.#store, log: this.#log })
    if (mark === this.#seen && decisions.isFailing) return
    const catalog = await currentCatalog(this.#store, idsOf(this.#config), admissionOf(this.#config))
    await this.registry.prepare(catalog)
    // What was decided meanwhile, or learnt of what is disabled, is about this very generation: the next look serves it.
    const now = await markOf(join(this.#config.state, 'current'))
    if (now === undefined || (await this.#marked(now)) !== mark) {
      this.#lookAgain = true
      return
    }
    this.registry.publish(catalog)
    this.#log.debug('generation-served', { generation: catalog.generation, skills: catalog.skills.size })
    this.#seen = mark
    this.#first.abort()
  }

  /** What may be served of the same generation changes with the rules. */
  async #marked(current: string): Promise<string> {
    const { decisions } = this.#store
    const rules = [decisions.file, decisions.copy, decisions.record, ...rulesIn(this.#config)]
    return [current, ...(await Promise.all(rules.map(markOf)))].join('|')
  }

  async #lookNowAndThen(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#clock.wait(LOOK_MS, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      if (!signal.aborted) await this.look()
    }
  }
}

/** What is stored can be read from a disk that takes nothing. */
async function storeToRead(state: string): Promise<Store> {
  try {
    return await Store.open(state)
  } catch (error) {
    const store = isUnwritable(error) ? await Store.openExisting(state) : undefined
    if (store === undefined) throw error
    return store
  }
}

/** Who looks at sources. */
interface Looker {
  readonly ask: AskForLook
  readonly takeOver?: () => void
}

/** The files that say what may be served: the lock where it is followed, and the lists of signers. */
function rulesIn(config: Config): string[] {
  const { lock, sources } = config
  const isHeeded = sources.some(({ source }) => isLockHeeded(config, source))
  const signers = sources.flatMap(({ signed }) => [signed?.allowedSigners, signed?.keyring])
  return [isHeeded ? lock : undefined, ...signers].filter((file) => file !== undefined)
}

/** Undefined where the system has no watch left to give. Looking now and then goes on without it, and when it breaks. */
function watched(folder: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    return watch(folder, (_, name) => onChange(name)).on('error', () => {})
  } catch (error) {
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EMFILE') return undefined
    throw error
  }
}

/** Changes whenever the file is replaced. Undefined while there is none. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(path, { bigint: true })).catch(cannot(`look at "${path}"`))
  return found && `${found.ino} ${found.mtimeNs} ${found.size}`
}
