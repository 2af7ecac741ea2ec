import { canonicalJson } from '../../../base/canonical-json.ts'
import type { Generation } from '../generation.ts'
import type { Revision } from '../revision.ts'
import type { SourceId } from '../source-id.ts'
import type { ChangeKind, SkillChange, SkillState, SkillStates } from './skill-changes.ts'
import type { DocsChange } from './skill-review.ts'

/**
 * The light record of a generation: its names, digests and commits, as far as they differ from the generation before. It
 * outlives the contents of the generation.
 */
export interface GenerationRecord extends Pick<Generation, 'number' | 'createdAt' | 'cause'> {
  /** The number of the generation before; 0 before the first one. */
  readonly before: number
  /** `undefined` if the generation before could not be read, or if too many sources moved at once. */
  readonly moves?: readonly RecordedMove[]
}

/** The change of one source from one generation to the next. */
export interface RecordedMove {
  readonly source: SourceId
  /** Absent if the source had no content before. */
  readonly from?: RecordedRevision
  /** Absent if the source has no content any more. */
  readonly to?: RecordedRevision
  readonly skills: readonly SkillChange[]
  readonly docs?: DocsChange
  /** The numbers of the changes that did not fit into the record. */
  readonly leftOut?: Readonly<Partial<Record<ChangeKind, number>>>
}

export type RecordedRevision = Pick<Revision, 'ref' | 'commit' | 'tag'>

/** The text in which a record is stored, of at most so many bytes. Changes that do not fit are counted. */
export function textOfRecord(record: GenerationRecord, mostBytes: number): string {
  let left = mostBytes / 2
  const moves = record.moves?.map((move): RecordedMove => {
    const leftOut: Partial<Record<ChangeKind, number>> = {}
    const skills = move.skills.filter((change) => {
      left -= Buffer.byteLength(JSON.stringify(change))
      if (left < 0) leftOut[change.change] = (leftOut[change.change] ?? 0) + 1
      return left >= 0
    })
    return { ...move, skills, ...(skills.length < move.skills.length && { leftOut }) }
  })
  const text = canonicalJson({ ...record, moves })
  return Buffer.byteLength(text) <= mostBytes ? text : canonicalJson({ ...record, moves: undefined })
}

/** True if a skill that was served left in this generation. */
export function hasLeaving({ moves = [] }: GenerationRecord): boolean {
  return moves.some(({ skills }) => skills.some(isGoneAfter))
}

/** True if the skill is not there any more under its path and name. */
export function isGoneAfter(change: SkillChange): change is SkillChange & Pick<Required<SkillChange>, 'from'> {
  return change.from !== undefined && LEAVINGS.has(change.change)
}

const LEAVINGS: ReadonlySet<ChangeKind> = new Set(['removed', 'renamed', 'withheld'])

/** The skills of a source before these changes, by those after them. What was withheld all the time is not known. */
export function statesBefore(after: SkillStates, changes: readonly SkillChange[]): SkillStates {
  const before = new Map(after)
  for (const { to, path } of changes) before.delete(to?.path ?? path)
  for (const { change, path, from, to, isUnlisted } of changes) {
    if (from === undefined) {
      if (change === 'no-longer-withheld') before.set(path, { name: '' })
      continue
    }
    const { name, digest, keptFrom } = from
    const kept = keptFrom === undefined ? {} : { from: { commit: keptFrom } }
    // The same skill under another name keeps its description, by which a comparison knows it again.
    const { description } = (change === 'renamed' && to && after.get(to.path)) || NOTHING
    before.set(from.path, { name, digest, description, ...kept, ...(isUnlisted && { isUnlisted }) })
  }
  return before
}

const NOTHING: Partial<SkillState> = {}
