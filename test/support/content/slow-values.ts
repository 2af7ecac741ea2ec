/** Objects that take longer to read than anybody may keep a thread, and when they are read. */
export class SlowValues {
  #turn = 0
  readonly #met = new Set<number>()

  /** An equal object, one property of which is slow. */
  of<Value extends object>(value: Value): Value {
    const [[key, member] = ['', undefined]] = Object.entries(value)
    const get = (): unknown => {
      this.#met.add(this.#turn)
      for (const startMs = performance.now(); performance.now() - startMs < SLOW_MS;);
      return member
    }
    return Object.defineProperty({ ...value }, key, { get, enumerable: true })
  }

  /** In how many turns of the loop they were read before the work was done. */
  async turnsUntil(work: Promise<unknown>): Promise<number> {
    const end = (): boolean => true
    const ended = work.then(end, end)
    while (!(await Promise.race([ended, turn()]))) this.#turn += 1
    return this.#met.size
  }
}

/** Not the end of the work. */
async function turn(): Promise<boolean> {
  return new Promise((resolve) => void setImmediate(() => resolve(false)))
}

/** More than a slice of work is long. */
const SLOW_MS = 10
