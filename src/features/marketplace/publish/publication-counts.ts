/** The ends of publications since the process started. */
export interface PublicationCount {
  pushed: number
  failed: number
}

/** Counts the ends of publications by their names. */
export class PublicationCounts {
  readonly #counts = new Map<string, PublicationCount>()

  of(name: string): Readonly<PublicationCount> {
    return this.#counts.get(name) ?? { pushed: 0, failed: 0 }
  }

  add(name: string, end: keyof PublicationCount): void {
    const count = { ...this.of(name) }
    count[end] += 1
    this.#counts.set(name, count)
  }
}
