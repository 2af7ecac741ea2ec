/** What is made of a value for the first who asks, and goes with it. */
export class MadeOnce<Of extends object, Made extends object | string> {
  readonly #made = new WeakMap<Of, Made>()

  of(from: Of, make: (from: Of) => Made): Made {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    const made = make(from)
    this.#made.set(from, made)
    return made
  }

  /** It is made anew for who asks next. */
  forget(from: Of): void {
    this.#made.delete(from)
  }
}
