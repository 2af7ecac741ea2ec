import type { Clock } from '../../../../base/async/clock.ts'
import { WorkerClient } from '../../../../base/async/worker-client.ts'
import type { Log } from '../../../../base/log.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { offeredIn } from '../../../../sync/catalog/tool-catalog.ts'
import type { Offered } from '../../../../sync/catalog/tool-catalog.ts'
import { isOfUpstream } from '../../../../sync/model/skill.ts'
import type { Skill } from '../../../../sync/model/skill.ts'
import { FairSemaphore } from '../../../fair-semaphore.ts'
import type { FairPermit } from '../../../fair-semaphore.ts'
import { NO_HOLDER } from '../../../fair-shares.ts'
import type { Registry } from '../../../registry.ts'
import type { Finder, SearchResult, SkillQuery } from '../../core/finder.ts'
import { searchedOf } from './search-documents.ts'
import { SearchExchange } from './search-exchange.ts'
import type { SearchAnswer, SearchQuestion } from './search-worker.ts'

/** The retention time of indexes, and the timeout of callers. */
export interface SearchTimes {
  /** An index that was not searched for so long is released. */
  readonly keptMs: number
  /** The longest wait of a caller for an index that is being built. */
  readonly waitMs: number
}

const TIMES: SearchTimes = { keptMs: 30 * 60_000, waitMs: 10_000 }

/**
 * Finds skills in catalogs, with one index for each searched catalog, in a thread of its own. The first search builds
 * the index; from then on it follows the served catalog, without waiting for the next search.
 */
export class SearchService implements Finder, AsyncDisposable {
  readonly #state: string
  readonly #log: Log
  readonly #clock: Clock
  readonly #times: SearchTimes
  readonly #thread: WorkerClient<SearchQuestion, SearchAnswer>
  readonly #indexes = new Map<Registry, Index>()
  /** Indexes are built one at a time; searches of other indexes run in between. */
  #making: Promise<unknown> = Promise.resolve()
  #count = 0
  readonly #places = new FairSemaphore(MOST_ASKED)
  readonly #exchange = new SearchExchange(async (question) => this.#thread.ask(question))
  #letGo: NodeJS.Timeout | undefined
  #isEnded = false

  constructor({ state, log, clock, times = TIMES }: SearchParts) {
    this.#state = state
    this.#log = log
    this.#clock = clock
    this.#times = times
    this.#thread = new WorkerClient(new URL('./search-worker.js', import.meta.url), {
      deadlineMs: 30_000,
      heapMb: 1_024,
      waiting: 2 * MOST_ASKED,
      idleMs: times.keptMs,
    })
  }

  async find(registry: Registry, query: SkillQuery, holder = NO_HOLDER): Promise<SearchResult> {
    if (this.#isEnded) return { kind: 'failed' }
    const place = this.#places.place(holder)
    if (place === undefined) return { kind: 'crowded' }
    // The place stays taken if the caller stops waiting, because the search still occupies the thread.
    const found = this.#find(this.#indexOf(registry), query, place).finally(() => place[Symbol.dispose]())
    const lost = place.lost.then((): SearchResult => ({ kind: 'crowded' }))
    const late = Promise.withResolvers<SearchResult>()
    const timer = setTimeout(() => late.resolve({ kind: 'late' }), this.#times.waitMs)
    try {
      return await Promise.race([lost, found, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true
    clearTimeout(this.#letGo)
    for (const { watching } of this.#indexes.values()) watching[Symbol.dispose]()
    this.#indexes.clear()
    await this.#thread[Symbol.asyncDispose]()
  }

  #indexOf(registry: Registry): Index {
    const searchedMs = this.#clock.monotonicMs()
    const index = this.#indexes.get(registry) ?? this.#follow(registry)
    index.searchedMs = searchedMs
    // The most recently searched index moves to the end.
    this.#indexes.delete(registry)
    this.#indexes.set(registry, index)
    this.#letGoOfOthers(index)
    this.#letGo ??= setTimeout(() => this.#letGoOfOld(), this.#times.keptMs).unref()
    return index
  }

  #follow(registry: Registry): Index {
    const index: Index = {
      key: (this.#count += 1),
      registry,
      watching: registry.watch(() => void this.#made(index)),
      at: undefined,
      making: undefined,
      searchedMs: 0,
      failedMs: undefined,
    }
    return index
  }

  async #find(index: Index, query: SkillQuery, place: FairPermit): Promise<SearchResult> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const catalog = await this.#made(index)
      if (catalog === undefined) break
      const isCurrent = (): boolean => index.at === catalog
      const search = { index: index.key, holder: place.holder, query }
      const outcome = await this.#exchange.find(search, { isCurrent, lost: place.lost })
      if (outcome === 'moved-on') continue
      if (outcome === 'lost') break
      if (outcome !== 'unknown') return { kind: 'found', catalog, skills: skillsIn(catalog, outcome) }
      // The thread was ended meanwhile, together with its indexes.
      if (index.at === catalog) index.at = undefined
    }
    return { kind: 'failed' }
  }

  /** Brings the index up to date and returns its catalog; `undefined` if it cannot be built. */
  async #made(index: Index): Promise<Catalog | undefined> {
    while (index.at !== index.registry.catalog) {
      if (this.#indexes.get(index.registry) !== index || this.#hasJustFailed(index)) return undefined
      index.making ??= this.#make(index).finally(() => (index.making = undefined))
      await index.making
    }
    return index.at
  }

  async #make(index: Index): Promise<void> {
    const before = index.at
    index.at = undefined
    const turn = this.#making
    const done = Promise.withResolvers<void>()
    this.#making = done.promise
    try {
      await turn
      const { catalog } = index.registry
      const isMade = (await this.#change(index, before, catalog)) || (await this.#change(index, undefined, catalog))
      if (isMade) this.#log.recovery('search-not-made', '')
      else if (!this.#isEnded) this.#log.failure('warn', 'search-not-made', NOT_MADE)
      index.at = isMade ? catalog : undefined
      index.failedMs = isMade ? undefined : this.#clock.monotonicMs()
    } finally {
      done.resolve()
    }
  }

  /** Moves the thread from one catalog to another in small batches, because this thread has clients waiting. */
  async #change(index: Index, from: Catalog | undefined, to: Catalog): Promise<boolean> {
    const { gone, changed } = changesOf(from, to)
    for (let at = 0; at === 0 || at < changed.length; at += SLICE_SKILLS) {
      const answer = await this.#thread.ask({
        kind: 'change',
        index: index.key,
        isNew: from === undefined && at === 0,
        state: this.#state,
        gone: at === 0 ? gone : [],
        skills: changed.slice(at, at + SLICE_SKILLS).map(searchedOf),
      })
      if (answer?.kind !== 'done') return false
    }
    return true
  }

  /** Keeps callers from restarting a thread that ends because of its input. */
  #hasJustFailed({ failedMs }: Index): boolean {
    return failedMs !== undefined && this.#clock.monotonicMs() - failedMs < FAILED_MS
  }

  #letGoOfOthers(kept: Index): void {
    let skills = 0
    for (const index of [...this.#indexes.values()].toReversed()) {
      skills += index.registry.catalog.listed.length
      if (index !== kept && (skills > MOST_SKILLS || this.#indexes.size > MOST_INDEXES)) this.#forget(index)
    }
  }

  #letGoOfOld(): void {
    this.#letGo = undefined
    const nowMs = this.#clock.monotonicMs()
    for (const index of this.#indexes.values()) {
      if (nowMs - index.searchedMs >= this.#times.keptMs) this.#forget(index)
    }
    const [oldest] = this.#indexes.values()
    if (oldest === undefined || this.#isEnded) return
    const leftMs = oldest.searchedMs + this.#times.keptMs - nowMs
    this.#letGo = setTimeout(() => this.#letGoOfOld(), leftMs).unref()
  }

  #forget(index: Index): void {
    index.watching[Symbol.dispose]()
    this.#indexes.delete(index.registry)
    // Runs after a build under way, which would create the index again.
    void this.#making.then(() => this.#thread.ask({ kind: 'forget', index: index.key }))
  }
}

export interface SearchParts {
  /** The state folder. */
  readonly state: string
  readonly log: Log
  readonly clock: Clock
  readonly times?: SearchTimes
}

/** The thread's index for one registry. */
interface Index {
  readonly key: number
  readonly registry: Registry
  readonly watching: Disposable
  /** The catalog that it holds; `undefined` while that changes, and before the first build. */
  at: Catalog | undefined
  making: Promise<void> | undefined
  searchedMs: number
  failedMs: number | undefined
}

/** The limit of simultaneous searches. One more replaces a search of the holder with the most, or is not answered. */
const MOST_ASKED = 64
const ATTEMPTS = 3
/** The skills sent to the thread in one message: it needs some thirty milliseconds for them. */
const SLICE_SKILLS = 64
const FAILED_MS = 30_000
/** For all indexes together: some three kilobytes each. */
const MOST_SKILLS = 100_000
const MOST_INDEXES = 64

const NOT_MADE = {
  source: '',
  code: 'search-not-made',
  message: 'Cannot make the index of the search: its thread ended over it; other tools are not touched by that',
}

interface CatalogChanges {
  readonly gone: readonly string[]
  readonly changed: readonly Offered[]
}

function changesOf(from: Catalog | undefined, to: Catalog): CatalogChanges {
  const { distinct } = offeredIn(to)
  if (from === undefined) return { gone: [], changed: distinct }
  const before = new Map(offeredIn(from).distinct.map((offered) => [offered.id, offered]))
  const changed = distinct.filter((offered) => !isSame(before.get(offered.id), offered))
  for (const { id } of distinct) before.delete(id)
  return { gone: [...before.keys()], changed }
}

function isSame(one: Offered | undefined, other: Offered): boolean {
  if (one === undefined) return false
  if (one.skill === other.skill) return true
  // A skill that was read again is mostly unchanged. A full comparison takes long, and clients wait meanwhile.
  if (isOfSameFiles(one.skill, other.skill)) return one.name === other.name && one.description === other.description
  return JSON.stringify(searchedOf(one)) === JSON.stringify(searchedOf(other))
}

/** The metadata from another MCP server can change although the files do not. */
function isOfSameFiles(one: Skill, other: Skill): boolean {
  return one.digest !== undefined && one.digest === other.digest && !isOfUpstream(one) && !isOfUpstream(other)
}

/** The thread's answer is only a hint: each id is looked up in the catalog that was searched. */
function skillsIn(catalog: Catalog, ids: readonly string[]): readonly Offered[] {
  const { forModels } = offeredIn(catalog)
  const wanted = new Set(ids)
  const byId = new Map(forModels.filter(({ id }) => wanted.has(id)).map((offered) => [offered.id, offered]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}
