import type { SourceId } from '../model/source-id.ts'

/** The skills that a catalog is built without: by source, their true folders. */
export type Disabled = ReadonlyMap<SourceId, ReadonlySet<string>>

export const NONE_DISABLED: Disabled = new Map()

/**
 * The skills that people took out of service: by source, and by the true folder that each had then. An entry outlives restarts,
 * pulls and the skill itself, and goes where the skill goes.
 */
export type DisabledSkills = ReadonlyMap<SourceId, ReadonlyMap<string, DisabledSkill>>

/** One decision, with all that tells the skill from others: an author can rename, copy and link it. */
export interface DisabledSkill {
  /** Where the skill was met, the place that was disabled first. Empty where an older version wrote the entry. */
  readonly places: readonly DisabledPlace[]
  /** Other skills of the same name that were there at the time (`source/path`, folded): the name does not stand for them. */
  readonly beside: readonly string[]
  /** What has the same content in other sources stays in service. */
  readonly sourceOnly?: true
}

/** A skill as it was met in one snapshot. */
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

export const NO_DISABLED_SKILLS: DisabledSkills = new Map()

/** As many places as an entry remembers. A commit that brings a skill to more is held: what is not remembered can come back. */
export const MOST_PLACES = 256

/** The entries with this one in place of an earlier one, or, undefined, without it. */
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
