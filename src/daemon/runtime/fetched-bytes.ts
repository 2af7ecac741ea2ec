import type { SourceId } from '../../sync/model/source-id.ts'

/** Counts the bytes of files that were fetched for each source since the process started. */
export class FetchedBytes {
  readonly #bySource = new Map<SourceId, { bytes: number; told: number }>()

  /** `bytes` is negative if fewer bytes arrived than were counted in advance. */
  add(id: SourceId, bytes: number): void {
    const counted = this.#bySource.get(id) ?? { bytes: 0, told: 0 }
    this.#bySource.set(id, counted)
    counted.bytes += bytes
  }

  /** Never returns less than before. */
  of(id: SourceId): number {
    const counted = this.#bySource.get(id)
    if (counted === undefined) return 0
    counted.told = Math.max(counted.told, counted.bytes)
    return counted.told
  }
}
