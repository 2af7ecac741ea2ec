import { atOnce, stepByStep } from './cooperative.ts'
import type { Steps } from './cooperative.ts'

/** A thing that is made of a value, and goes with it: at once for a caller that cannot wait, else in slices between which others are served. */
export class MadeInSteps<Of extends object, Made extends object | string> {
  readonly #making: (from: Of) => Steps<Made>
  readonly #made = new WeakMap<Of, Made>()
  readonly #coming = new WeakMap<Of, Promise<Made>>()

  constructor(making: (from: Of) => Steps<Made>) {
    this.#making = making
  }

  of(from: Of): Made {
    return this.#made.get(from) ?? this.#keep(from, atOnce(this.#making(from)))
  }

  /** Makes the same as a part of a larger work. */
  *steps(from: Of): Steps<Made> {
    return this.#made.get(from) ?? this.#keep(from, yield* this.#making(from))
  }

  /** Makes the same in slices unless it is there, once for all callers that ask meanwhile. A failure is of these alone. */
  async ready(from: Of): Promise<Made> {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    const coming = this.#coming.get(from) ?? this.#make(from)
    this.#coming.set(from, coming)
    return coming
  }

  async #make(from: Of): Promise<Made> {
    try {
      // Not begun before the promise is known: one that fails at once would stay.
      return await stepByStep(this.steps(from))
    } finally {
      this.#coming.delete(from)
    }
  }

  /** The first that was made stays, where one was made at once meanwhile. */
  #keep(from: Of, made: Made): Made {
    const known = this.#made.get(from)
    if (known !== undefined) return known
    this.#made.set(from, made)
    return made
  }
}

/** The same of a value and the one before it: it goes with the later one, and the last earlier one alone is remembered. */
export class MadeBetween<Of extends object, Made extends object> {
  readonly #making: (before: Of, after: Of) => Steps<Made>
  readonly #made = new WeakMap<Of, { readonly before: WeakRef<Of>; readonly made: Made }>()

  constructor(making: (before: Of, after: Of) => Steps<Made>) {
    this.#making = making
  }

  of(before: Of, after: Of): Made {
    return atOnce(this.steps(before, after))
  }

  *steps(before: Of, after: Of): Steps<Made> {
    const known = this.#made.get(after)
    if (known?.before.deref() === before) return known.made
    const made = yield* this.#making(before, after)
    this.#made.set(after, { before: new WeakRef(before), made })
    return made
  }
}
