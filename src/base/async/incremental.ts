import { runNow, runInSlices } from './cooperative.ts'
import type { Steps } from './cooperative.ts'

/**
 * Caches a value that is derived from an object, for the lifetime of the object. A caller that cannot wait gets it made
 * at once, others in slices between which other work runs.
 */
export class IncrementalCache<Of extends object, Made extends object | string> {
  readonly #making: (from: Of) => Steps<Made>
  readonly #made = new WeakMap<Of, Made>()
  readonly #coming = new WeakMap<Of, Promise<Made>>()

  constructor(making: (from: Of) => Steps<Made>) {
    this.#making = making
  }

  of(from: Of): Made {
    return this.#made.get(from) ?? this.#keep(from, runNow(this.#making(from)))
  }

  /** Makes the value as part of larger work. */
  *steps(from: Of): Steps<Made> {
    return this.#made.get(from) ?? this.#keep(from, yield* this.#making(from))
  }

  /**
   * Makes the value in slices if it is not cached, once for all concurrent callers. Only these callers get a failure:
   * it is not cached.
   */
  async ready(from: Of): Promise<Made> {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    const coming = this.#coming.get(from) ?? this.#make(from)
    this.#coming.set(from, coming)
    return coming
  }

  async #make(from: Of): Promise<Made> {
    try {
      // The `await` runs `finally` after `#coming` has the promise: one that fails at once would otherwise stay in it.
      return await runInSlices(this.steps(from))
    } finally {
      this.#coming.delete(from)
    }
  }

  /** Keeps the value that was made first, if another caller made one at once meanwhile. */
  #keep(from: Of, made: Made): Made {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    this.#made.set(from, made)
    return made
  }
}

/**
 * Caches a value that is derived from an object and its predecessor, for the lifetime of the object. Remembers only the
 * last predecessor.
 */
export class DiffCache<Of extends object, Made extends object> {
  readonly #making: (before: Of, after: Of) => Steps<Made>
  readonly #made = new WeakMap<Of, { readonly before: WeakRef<Of>; readonly made: Made }>()

  constructor(making: (before: Of, after: Of) => Steps<Made>) {
    this.#making = making
  }

  of(before: Of, after: Of): Made {
    return runNow(this.steps(before, after))
  }

  *steps(before: Of, after: Of): Steps<Made> {
    const known = this.#made.get(after)
    if (known?.before.deref() === before) return known.made
    const made = yield* this.#making(before, after)
    this.#made.set(after, { before: new WeakRef(before), made })
    return made
  }
}
