import type { SourceId } from '../../sync/model/source-id.ts'

/** Bytes of files of each source, since the process was started. */
export class FetchedBytes {
  readonly #bySource = new Map<SourceId, { bytes: number; told: number }>()

  /** Fewer than none, where fewer came than were counted before they did. */
  add(id: SourceId, bytes: number): void {
    const counted = this.#bySource.get(id) ?? { bytes: 0, told: 0 }
    this.#bySource.set(id, counted)
    counted.bytes += bytes
  }

  /** Never less than was said before. */
  of(id: SourceId): number {
    const counted = this.#bySource.get(id)
    if (counted === undefined) return 0
    counted.told = Math.max(counted.told, counted.bytes)
    return counted.told
  }
}
