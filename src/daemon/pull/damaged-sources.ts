import type { SourceId } from '../../sync/model/source-id.ts'

/** The sources with a damaged stored file: the next pull fetches them anew, known or not. */
export class DamagedSources {
  readonly #ids = new Set<SourceId>()

  /** Marks a stored file of the source as damaged. Returns true if that was not known yet. */
  mark(id: SourceId): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    return true
  }

  has(id: SourceId): boolean {
    return this.#ids.has(id)
  }

  /** Called when the source is stored whole again. */
  clear(id: SourceId): void {
    this.#ids.delete(id)
  }
}
