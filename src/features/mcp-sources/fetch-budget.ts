import type { Clock } from '../../base/async/clock.ts'
import type { FetchedBytes } from '../../daemon/runtime/fetched-bytes.ts'
import { HourlySums } from '../../daemon/runtime/hourly-sums.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'

/**
 * The bytes fetched from each MCP server in the last hour, and the bytes unpacked from them, measured against its
 * budgets.
 */
export class FetchBudget {
  readonly #files: UpstreamFiles
  readonly #spent: HourlySums
  readonly #unpacked: HourlySums
  readonly #all: FetchedBytes

  /** `all` counts bytes without a time limit. */
  constructor(clock: Clock, files: UpstreamFiles, all: FetchedBytes) {
    this.#files = files
    this.#all = all
    this.#spent = new HourlySums(clock)
    this.#unpacked = new HourlySums(clock)
  }

  /** Counts bytes that are about to be fetched. Throws if a budget has no room for them. */
  async spend(source: McpSource, bytes: number): Promise<void> {
    const { id, budgets } = source
    const sum = this.#spent.of(id)
    if (sum + bytes > budgets.hourlyBytes) throw over(id, 'hourly_bytes', sum, bytes, budgets.hourlyBytes)
    this.add(id, bytes)
    await this.store(source, bytes)
  }

  /** The bytes of the last hour. */
  spent(id: SourceId): number {
    return this.#spent.of(id)
  }

  /**
   * Counts the bytes beyond those that were counted before. Never gives counted bytes back, because they were
   * requested.
   */
  addBeyond(id: SourceId, counted: number, came: number): void {
    this.add(id, Math.max(0, came - counted))
  }

  /** Counts bytes in addition to the expected ones. */
  add(id: SourceId, bytes: number): void {
    this.#spent.add(id, bytes)
    this.#all.add(id, bytes)
  }

  /** Throws if the store has no room for so many bytes. */
  async store({ id, budgets }: McpSource, bytes: number): Promise<void> {
    const stored = await this.#files.bytes(id)
    if (stored + bytes > budgets.storedBytes) throw over(id, 'stored_bytes', stored, bytes, budgets.storedBytes)
  }

  /** The bytes that the archives of a source may still unpack to in this hour. */
  unpackable(id: SourceId): number {
    return Math.max(0, UNPACKED_BYTES - this.#unpacked.of(id))
  }

  /** Counts the unpacked bytes of an archive. */
  addUnpacked(id: SourceId, bytes: number): void {
    this.#unpacked.add(id, bytes)
  }
}

/** The hourly limit for all archives of one source: a small archive can unpack to a thousand times its size. */
export const UNPACKED_BYTES = 200 * 2 ** 20

const FREED = {
  hourly_bytes: 'as the hour passes, or once the operator raises the budget',
  stored_bytes: 'once the operator raises the budget',
} as const

function over(id: SourceId, key: keyof typeof FREED, spent: number, bytes: number, most: number): SyncError {
  const why = `Cannot fetch ${bytes} bytes from "${id}": ${spent} of budgets.${key} (${most}) are used up`
  return new SyncError('limit-exceeded', `${why}; there is room again ${FREED[key]}`, { place: `budgets.${key}` })
}
