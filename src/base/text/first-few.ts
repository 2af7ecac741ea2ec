/**
 * The first entries of a list, for a text that counts the rest. A rest of one entry is shown too: its count says less and
 * takes the same place.
 */
export function firstFew<Entry>(all: readonly Entry[], most: number): readonly Entry[] {
  return all.length === most + 1 ? all : all.slice(0, most)
}

/** The first names of a list, and the number of the rest: `a, b and 3 more`. */
export function fewText(names: readonly string[], most: number): string {
  const few = firstFew(names, most)
  const left = names.length - few.length
  return `${few.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}
