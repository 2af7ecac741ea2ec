/** A count with its noun: `1 skill`, `2 skills`. */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
