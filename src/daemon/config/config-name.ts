/**
 * A configuration, or a part of one, as text for comparison: equal ones have equal texts. Both must come from the same
 * schema, so that their keys have the same order. JSON alone would turn every set into `{}`.
 */
export function configText(part: unknown): string {
  return JSON.stringify(part, (_, value: unknown) =>
    value instanceof Set ? [...value].map((one) => JSON.stringify(one)).toSorted() : value,
  )
}
