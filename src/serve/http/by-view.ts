import type { ViewName } from '../views.ts'

/** Something for each view, made when the first of those who share it comes. */
export class ByView<One> {
  readonly #make: (view: ViewName) => One
  readonly #made = new Map<ViewName, One>()

  constructor(make: (view: ViewName) => One) {
    this.#make = make
  }

  of(view: ViewName): One {
    const known = this.#made.get(view)
    if (known !== undefined) return known
    const made = this.#make(view)
    this.#made.set(view, made)
    return made
  }
}
