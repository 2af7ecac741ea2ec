/** Caches a value that is made from an object on first use, for the lifetime of the object. */
export class Memo<Of extends object, Made extends object | string> {
  readonly #made = new WeakMap<Of, Made>()

  of(from: Of, make: (from: Of) => Made): Made {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    const made = make(from)
    this.#made.set(from, made)
    return made
  }

  /** Drops the value: the next call of `of` makes it again. */
  forget(from: Of): void {
    this.#made.delete(from)
  }
}
