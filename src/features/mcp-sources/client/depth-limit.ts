/**
 * Returns the value, or null if it is nested too deeply: `JSON.parse` accepts any depth, but `JSON.stringify` does not.
 */
export function withinDepth(value: unknown): unknown {
  return isWithin(value, MOST_LEVELS) ? value : null
}

/** Far above `FRONTMATTER_LIMITS.depth`, and far below what the stack can hold. */
const MOST_LEVELS = 500

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((item) => isWithin(item, levels - 1))
}
