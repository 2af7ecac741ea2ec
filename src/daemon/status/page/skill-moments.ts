import { resultWithin } from '../../../base/async/wait-at-most.ts'
import { WorkerClient } from '../../../base/async/worker-client.ts'
import type { ContentMoment } from '../../../serve/page/page-data.ts'
import type { Registry } from '../../../serve/registry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { approvedIn } from '../../../sync/model/decisions/approvals.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Config, ConfiguredSource } from '../../config/config.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import type { PastAnswer, PastQuestion } from './history-worker.ts'
import { shownMoments } from './last-changes.ts'
import type { LastChanges, MomentRules } from './last-changes.ts'
import { isTextFree } from './text-rule.ts'

export interface SkillMomentsParts extends Pick<DaemonContext, 'store' | 'clock'> {
  readonly config: Config
  readonly registry: Registry
  /** True if a lock determines what is served of a source. */
  readonly isBound: (id: SourceId) => boolean
}

/** Reads earlier generations beside the thread that serves. */
export type HistoryThread = Pick<WorkerClient<PastQuestion, PastAnswer>, 'put' | typeof Symbol.asyncDispose>

function ownThread(): HistoryThread {
  return new WorkerClient(new URL('./history-worker.js', import.meta.url), {
    deadlineMs: 60_000,
    heapMb: 1_024,
    waiting: 1,
  })
}

type Found = readonly LastChanges[]

interface Search {
  readonly catalog: Catalog
  /** `undefined` if it was not begun, or took too long. */
  readonly found: Promise<Found | undefined>
}

/**
 * Since when each served skill has its content. Every page of the catalog shows it, so no page waits long for it: a
 * thread of its own reads the earlier generations.
 */
export class SkillMoments implements AsyncDisposable {
  readonly #parts: SkillMomentsParts
  readonly #thread: HistoryThread
  /** The search in the generations that led to this catalog. */
  #search: Search | undefined
  /** On the monotonic clock. */
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** Cached for the parts `of`. */
  #moments: { readonly of: readonly unknown[]; readonly shown: ReadonlyMap<string, ContentMoment> } | undefined

  constructor(parts: SkillMomentsParts, thread: HistoryThread = ownThread()) {
    this.#parts = parts
    this.#thread = thread
  }

  /** Returns them by `momentKeyOf`; none while they are not known. */
  async read(): Promise<ReadonlyMap<string, ContentMoment>> {
    const { config, registry, store, isBound } = this.#parts
    const { catalog } = registry
    const found = await this.#foundSoon(catalog)
    if (found === undefined) return NONE
    // A lock and an approval can come without another catalog.
    const free = config.sources.filter((configured) => isTextFree(configured, isBound(configured.source.id)))
    const of = [found, catalog, store.decisions.approvals, free.map(({ source }) => source.id).join(' ')] as const
    const known = this.#moments
    if (known !== undefined && of.every((part, at) => part === known.of[at])) return known.shown
    const shown = shownMoments(found, (id) => this.#rulesOf(id, free, catalog))
    this.#moments = { of, shown }
    return shown
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]()
  }

  /** `undefined` if it is not found yet, or cannot be. */
  async #foundSoon(catalog: Catalog): Promise<Found | undefined> {
    const { clock } = this.#parts
    if (this.#search?.catalog !== catalog) {
      // A search that took too long would take too long again.
      if (clock.monotonicMs() - this.#failedAtMs < RETRY_MS) return undefined
      const search: Search = { catalog, found: this.#find() }
      this.#search = search
      // It does not reject.
      void this.#forgetFailed(search)
    }
    return resultWithin(PATIENCE_MS, this.#search.found, clock)
  }

  async #forgetFailed(search: Search): Promise<void> {
    if ((await search.found) === undefined && this.#search === search) this.#search = undefined
  }

  async #find(): Promise<Found | undefined> {
    const end = await this.#thread.put({ kind: 'last-changes', state: this.#parts.config.state })
    if (end.kind === 'answered' && end.answer.kind === 'last-changes') return end.answer.sources
    // A search that was not begun, because another one waits, can be begun at the next request.
    if (end.kind === 'unanswered') this.#failedAtMs = this.#parts.clock.monotonicMs()
    return undefined
  }

  #rulesOf(
    id: SourceId,
    free: readonly ConfiguredSource[],
    { snapshots }: Pick<Catalog, 'snapshots'>,
  ): MomentRules | undefined {
    const { config, store } = this.#parts
    const configured = config.sources.find(({ source }) => source.id === id)
    if (configured === undefined) return undefined
    const { source } = configured
    const isFree = free.includes(configured)
    const served = snapshots.find((snapshot) => snapshot.source === id)?.revision.commit
    const needsApproval = source.kind === 'mcp' && source.approval === 'required'
    const approvals = needsApproval ? approvedIn(store.decisions.approvals, id) : undefined
    return {
      isCommitShown: (commit) => isFree || commit === served,
      approvedAt: (path) => approvals?.get(path)?.at,
    }
  }
}

const NONE: ReadonlyMap<string, ContentMoment> = new Map()

/** A page is shown without them after that; the search continues. */
const PATIENCE_MS = 500
const RETRY_MS = 60_000
