/** Random numbers that come again for the same seed: xorshift of 32 bits. */
export class Dice {
  #state: number

  constructor(seed: number, throws: number) {
    // Neighbouring seeds have to differ in all bits, and the state must not be zero.
    this.#state = (Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(throws + 1, 0x85ebca77)) | 1
    for (let turn = 0; turn < 8; turn += 1) this.#next()
  }

  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return this.#next() % end
  }

  oneOf<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)]
    if (value === undefined) throw new Error('There is nothing to choose from')
    return value
  }

  #next(): number {
    let state = this.#state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#state = state
    return state >>> 0
  }
}
