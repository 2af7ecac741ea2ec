import { costOf, sizeOf, joinSizes } from './text-size.ts'
import type { BudgetUnit, TextSize } from './text-size.ts'

/** One line of a listing, with its sizes. Each counts the end of the line. */
export interface ListingLine {
  readonly description: string
  /** The line without the description. */
  readonly bare: TextSize
  /** The line with it. */
  readonly full: TextSize
}

interface Room {
  readonly unit: BudgetUnit
  readonly limit: number
}

/** The number of characters that remain of a description; `undefined` if its line is omitted. */
export type Kept = number | undefined

/** Keeps every line, and from the first on each whole description that fits: a short one may fit after a long one did not. */
export function keepFitting(lines: readonly ListingLine[], { unit, limit }: Room): readonly Kept[] {
  let left = limit - totalOf(lines, 'bare', unit)
  return lines.map(({ description, bare, full }) => {
    const extra = costOf(full, unit) - costOf(bare, unit)
    if (extra > left) return 0
    left -= extra
    return sizeOf(description).characters
  })
}

/** Keeps whole lines from the first on until one does not fit. */
export function omitBeyond(lines: readonly ListingLine[], { unit, limit }: Room): readonly Kept[] {
  let used = 0
  return lines.map(({ description, full }) => {
    used += costOf(full, unit)
    return used <= limit ? sizeOf(description).characters : undefined
  })
}

/**
 * Keeps all lines if the bare ones fit, and shares the room that is left out to the descriptions, a character to each in
 * turn. Otherwise it keeps the bare lines that fit, in their order; a short one may fit after a long one did not.
 */
export function shareRoom(lines: readonly ListingLine[], { unit, limit }: Room): readonly Kept[] {
  if (totalOf(lines, 'full', unit) <= limit) return lines.map(({ description }) => sizeOf(description).characters)
  const least = totalOf(lines, 'bare', unit)
  if (least <= limit) return sharedOut(lines, limit - least, unit)
  let left = limit
  return lines.map(({ bare }) => {
    const cost = costOf(bare, unit)
    if (cost > left) return undefined
    left -= cost
    return 0
  })
}

/** Takes at most as many rounds as the longest description has characters, which the client limits. */
function sharedOut(lines: readonly ListingLine[], room: number, unit: BudgetUnit): number[] {
  const shares = lines.map((line) => new Share(line, unit))
  let left = room
  for (let isMoved = true; isMoved;) {
    isMoved = false
    for (const share of shares) {
      const cost = share.nextCost
      if (cost === undefined || cost > left) continue
      share.take()
      left -= cost
      isMoved = true
    }
  }
  return shares.map(({ kept }) => kept)
}

/** The part of one description that is kept so far. */
class Share {
  readonly #characters: readonly string[]
  readonly #unit: BudgetUnit
  #size: TextSize
  kept = 0

  constructor({ description, bare }: ListingLine, unit: BudgetUnit) {
    this.#characters = Array.from(description)
    this.#unit = unit
    this.#size = bare
  }

  /** The price of one more character; `undefined` after the last. */
  get nextCost(): number | undefined {
    const next = this.#next
    return next && costOf(next, this.#unit) - costOf(this.#size, this.#unit)
  }

  take(): void {
    this.#size = this.#next ?? this.#size
    this.kept += 1
  }

  /** The first character brings the space before it. */
  get #next(): TextSize | undefined {
    const character = this.#characters[this.kept]
    return character === undefined
      ? undefined
      : joinSizes(this.#size, sizeOf(this.kept === 0 ? ` ${character}` : character))
  }
}

/** The part of an allowance that all lines take. */
export function totalOf(lines: readonly ListingLine[], which: 'bare' | 'full', unit: BudgetUnit): number {
  return lines.reduce((sum, line) => sum + costOf(line[which], unit), 0)
}
