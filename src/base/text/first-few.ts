/**
 * The first entries of a list, for a text that counts the rest. A rest of one entry is shown too: its count says less and
 * takes the same place.
 */
export function firstFew<Entry>(all: readonly Entry[], most: number): readonly Entry[] {
  return all.length === most + 1 ? all : all.slice(0, most)
}

/** The first entries of a list as text, and the number of the rest: `a, b and 3 more`. */
export function fewText<Entry = string>(
  all: readonly Entry[],
  most: number,
  textOf: (entry: Entry) => string = String,
): string {
  const few = firstFew(all, most)
  const left = all.length - few.length
  return `${few.map((entry) => textOf(entry)).join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}
