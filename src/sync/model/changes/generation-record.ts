import { z } from 'zod'
import { canonicalJson } from '../../../base/canonical-json.ts'
import { DECIDED_AT, DECIDED_COMMIT, DECIDED_SOURCE } from '../decisions/decided.ts'
import { CAUSE } from '../generation.ts'
import { CHANGE, CHANGE_KINDS, type ChangeKind, type SkillChange, type SkillStates } from './skill-changes.ts'
import { DOCS_CHANGE } from './skill-review.ts'

const REVISION = z.object({ ref: z.string(), commit: DECIDED_COMMIT, tag: DECIDED_COMMIT.exactOptional() }).readonly()

const MOVE = z
  .object({
    source: DECIDED_SOURCE,
    /** Absent if the source had no content before. */
    from: REVISION.exactOptional(),
    /** Absent if the source has no content any more. */
    to: REVISION.exactOptional(),
    skills: z.array(CHANGE).readonly(),
    docs: DOCS_CHANGE.exactOptional(),
    /** The numbers of the changes that did not fit into the record. */
    leftOut: z.partialRecord(z.enum(CHANGE_KINDS), z.int().positive()).readonly().exactOptional(),
  })
  .readonly()

/** The form of a record in its text. */
export const RECORD = z
  .object({
    number: z.int(),
    createdAt: DECIDED_AT,
    /** The number of the generation before; 0 before the first one. */
    before: z.int().nonnegative(),
    cause: CAUSE.optional().catch(undefined),
    /** `undefined` if the generation before could not be read, or if too many sources moved at once. */
    moves: z.array(MOVE).readonly().optional(),
  })
  .refine(({ number, before }) => before < number)
  .readonly()

/**
 * The light record of a generation: its names, digests and commits, as far as they differ from the generation before. It
 * outlives the contents of the generation.
 */
export type GenerationRecord = z.infer<typeof RECORD>
/** The change of one source from one generation to the next. */
export type RecordedMove = z.infer<typeof MOVE>
export type RecordedRevision = z.infer<typeof REVISION>

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
    // A skill keeps its description, by which a comparison knows it again.
    const description = after.get(to?.path ?? path)?.description
    before.set(from.path, { name, digest, description, ...kept, ...(isUnlisted && { isUnlisted }) })
  }
  return before
}
