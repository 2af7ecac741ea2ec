import type { SourceId } from './source-id.ts'

/**
 * The skills that people took out of service: by source, the true folders of the skills. It outlives restarts, pulls and the
 * skills themselves: one that comes back is still disabled.
 */
export type Disabled = ReadonlyMap<SourceId, ReadonlySet<string>>

export const NONE_DISABLED: Disabled = new Map()

/** What is disabled once one skill is, or is no longer. The same value where that changes nothing. */
export function withDisabled(before: Disabled, source: SourceId, path: string, disabled: boolean): Disabled {
  const paths = before.get(source) ?? new Set<string>()
  if (paths.has(path) === disabled) return before
  const after = disabled ? [...paths, path] : [...paths].filter((other) => other !== path)
  const rest = [...before].filter(([other]) => other !== source)
  return new Map(after.length === 0 ? rest : [...rest, [source, new Set(after.toSorted())]])
}
