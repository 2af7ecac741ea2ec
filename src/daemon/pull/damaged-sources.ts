import type { SourceId } from '../../sync/model/source-id.ts'

/** The sources with a damaged stored file: the next pull fetches them anew, known or not. */
export class DamagedSources {
  /** The number of the last mark of each source. */
  readonly #marks = new Map<SourceId, number>()
  #marked = 0

  /** Marks a stored file of the source as damaged. Returns true if that was not known yet. */
  mark(id: SourceId): boolean {
    if (this.#marks.has(id)) return false
    this.markAnew(id)
    return true
  }

  /** Marks the source as damaged by another cause: what a running pull repairs does not make up for it. */
  markAnew(id: SourceId): void {
    this.#marked += 1
    this.#marks.set(id, this.#marked)
  }

  /** The last mark of the source; `undefined` if it has none. */
  markOf(id: SourceId): number | undefined {
    return this.#marks.get(id)
  }

  /** Called when a pull that was planned with this mark has stored the source. A later mark stays. */
  clear(id: SourceId, mark: number | undefined): void {
    if (this.#marks.get(id) === mark) this.#marks.delete(id)
  }
}
