import { ignoreAbort } from '../../base/async/abort-error.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { ObjectId } from '../../sync/model/revision.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'

export interface RingRepairParts extends Pick<DaemonContext, 'clock' | 'log' | 'replica'> {
  readonly served: { readonly currentInRings: readonly ServedSource[] }
  readonly candidates: { refetch(id: SourceId, commit: ObjectId, signal: AbortSignal): Promise<void> }
}

/**
 * Repairs stored content that the rings after the first serve, and the first no longer does: a pull of its source would
 * bring other content.
 */
export class RingRepair implements AsyncDisposable {
  readonly #parts: RingRepairParts
  readonly #over = new AbortController()
  /** The repairs that run, by the digests of the snapshots. */
  readonly #running = new Map<string, Promise<void>>()
  /** The times on the monotonic clock before which a repair that failed is not repeated. */
  readonly #failed = new Map<string, number>()

  constructor(parts: RingRepairParts) {
    this.#parts = parts
  }

  /** Begins to repair the snapshots that have something damaged. Calls back for each; a repair that runs is not repeated. */
  begin(isDamaged: (snapshot: Snapshot) => boolean, onBegin: (source: SourceId) => void): void {
    for (const { held, snapshot } of this.#parts.served.currentInRings) {
      if (!isDamaged(snapshot) || !this.#isDue(held.snapshot)) continue
      onBegin(held.source)
      // It rejects only with an error that ends the process.
      this.#running.set(held.snapshot, this.#repair({ held, snapshot }).catch(ignoreAbort))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#running.values())
  }

  #isDue(digest: string): boolean {
    return !this.#running.has(digest) && this.#parts.clock.monotonicMs() >= (this.#failed.get(digest) ?? -Infinity)
  }

  async #repair({ held: { source, snapshot: digest }, snapshot }: ServedSource): Promise<void> {
    const { candidates, clock, log, replica } = this.#parts
    try {
      if ((await replica?.restore(digest)) !== true)
        await candidates.refetch(source, snapshot.revision.commit, this.#over.signal)
      this.#failed.delete(digest)
      log.recovery(EVENT, source)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#failed.set(digest, clock.monotonicMs() + PAUSE_MS)
      log.failure('warn', EVENT, { source, code: error.code, message: error.message })
    } finally {
      this.#running.delete(digest)
    }
  }
}

const EVENT = 'ring-not-repaired'
/** Clients may read the damaged file as often as they like. */
const PAUSE_MS = 60_000
