import type { SourceId } from '../source-id.ts'

/** The skills that a catalog leaves out: their true folders, by source. */
export type Disabled = ReadonlyMap<SourceId, ReadonlySet<string>>

export const NONE_DISABLED: Disabled = new Map()

/**
 * The skills that the operator took out of service, by source and by the true folder that each had then. An entry
 * outlives restarts, pulls and the skill itself, and follows the skill to other places.
 */
export type DisabledSkills = ReadonlyMap<SourceId, ReadonlyMap<string, DisabledSkill>>

/** One decision, with all data that identifies the skill: an author can rename, copy and link it. */
export interface DisabledSkill {
  /** The places at which the skill was found, the disabled one first. Empty only for an entry of scans. */
  readonly places: readonly DisabledPlace[]
  /** Other skills that had the same name at that time (`source/path`, folded): the name does not identify them. */
  readonly beside: readonly string[]
  /** Skills with the same content in other sources stay in service. */
  readonly sourceOnly?: true
  /** The reason that the operator gave. */
  readonly reason?: string
  /**
   * A scan took the skill out of service, and no person: only these contents of it are meant, and it has no places. Rings
   * can have several.
   */
  readonly scans?: readonly ScanDisabling[]
}

/** The content that a scan took out of service. */
export interface ScanDisabling {
  /** The digest of the skill. */
  readonly digest: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** A person enabled the skill with this content: no scan takes it out of service again. */
  readonly accepted?: true
}

/** The changes by a scan at one place of a source. */
export interface ScanChange {
  /** The contents that go out of service. */
  readonly withheld: readonly ScanDisabling[]
  /** The digests of those that no scan keeps out of service any more. */
  readonly cleared: ReadonlySet<string>
}

/** A skill as it was found in one snapshot. */
export interface DisabledPlace {
  readonly source: SourceId
  readonly path: string
  readonly servedPath?: string
  readonly name?: string
  /** The id of its contract. */
  readonly id?: string
  /** The SHA-256 of its SKILL.md. */
  readonly document?: string
}

/** True for an entry that takes a skill out of service, and is not only what a person accepted after a scan. */
export function isInForce(entry: DisabledSkill | undefined): boolean {
  return entry !== undefined && !isAccepted(entry)
}

/** True for an entry of scans alone, all of whose contents a person accepted. */
export function isAccepted({ scans }: DisabledSkill): boolean {
  return scans?.every(({ accepted }) => accepted === true) === true
}

export const NO_DISABLED_SKILLS: DisabledSkills = new Map()

/**
 * The maximum of places per entry. A commit that brings a skill to more places is held: a skill could come back at a
 * place that is not remembered.
 */
export const MOST_PLACES = 256

/** The entries with this one added or replaced, or removed if it is `undefined`. */
export function withEntry(
  before: DisabledSkills,
  source: SourceId,
  path: string,
  entry: DisabledSkill | undefined,
): DisabledSkills {
  const ofSource = new Map(before.get(source))
  if (entry === undefined) ofSource.delete(path)
  else ofSource.set(path, entry)
  const rest = [...before].filter(([other]) => other !== source)
  const sorted = [...ofSource].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return new Map(sorted.length === 0 ? rest : [...rest, [source, new Map(sorted)]])
}
