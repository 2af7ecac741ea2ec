/**
 * A configuration, or a part of one, as text: equal ones have equal texts. They came from the same schema, so that equal ones
 * have their keys in the same order; JSON alone would make `{}` of every set.
 */
export function configText(part: unknown): string {
  return JSON.stringify(part, (_, value: unknown) =>
    value instanceof Set ? [...value].map((one) => JSON.stringify(one)).toSorted() : value,
  )
}
