/**
 * The value, or null in place of one that is nested deeper than anything is read: parsing takes any depth, and writing
 * it again does not.
 */
export function legible(value: unknown): unknown {
  return isWithin(value, MOST_LEVELS) ? value : null
}

/** Far more than `limits.frontmatter.depth` lets any skill have, and far less than the stack has room for. */
const MOST_LEVELS = 500

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((item) => isWithin(item, levels - 1))
}
