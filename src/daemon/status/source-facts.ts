import type { SourceStatus } from './status.ts'

/** True if the served commit is the one that upstream was last seen to have, at the same address. */
export function isUpToDate({ served, upstream }: SourceStatus): boolean {
  return upstream !== undefined && served?.commit === upstream.commit && served.url === undefined
}

/** True if the configuration names the served commit itself: there is no ref to query upstream for. */
export function isFixed({ ref, served }: SourceStatus): boolean {
  return ref !== undefined && served !== undefined && ref.toLowerCase() === served.commit
}

/** True if the operator keeps it from moving. */
export function isKept({ hold }: SourceStatus['decision']): boolean {
  return hold !== undefined
}
