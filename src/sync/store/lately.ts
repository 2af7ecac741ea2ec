/** The values that were set last, by their keys: no more than so many. */
export class Lately<Value> {
  readonly #most: number
  /** Oldest first. */
  readonly #values = new Map<string, Value>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#most) return
    for (const oldest of this.#values.keys()) {
      this.#values.delete(oldest)
      return
    }
  }

  delete(key: string): void {
    this.#values.delete(key)
  }
}
