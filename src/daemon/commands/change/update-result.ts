import { countOf } from '../../../base/text/plural.ts'
import { docsChange } from '../../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup } from '../../../sync/model/changes/skill-changes.ts'
import type { LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { ExitStatus } from '../../cli/command.ts'
import { exitOfPulls, linesOfPull } from '../../cli/pull-results.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import type { Config } from '../../config/config.ts'
import type { ProofEnd } from '../../pull/trust/lock-proof.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { linesOfChanges } from '../../status/changes/change-lines.ts'
import type { SyncEnd } from '../../status/pull-result.ts'
import type { PackEnd } from './lock-packs.ts'
import type { LockReview } from './pull-request-text.ts'

/** The result of an update. */
export interface LockUpdated {
  readonly isWritten: boolean
  readonly ends: readonly UpdateEnd[]
  readonly packs: readonly PackEnd[]
  readonly proofs: readonly ProofEnd[]
  /** The changes for a reviewer, if they are wanted. */
  readonly review?: LockReview
}

/** The result for one source: its entry in the lock, and its pull. */
export type UpdateEnd =
  | { readonly id: SourceId; readonly failure: SourceFailure }
  | {
      readonly id: SourceId
      readonly before: LockEntry | undefined
      readonly after: LockEntry
      /** The changes from what was locked to what was found now, of which the lock has nothing that is withheld. */
      readonly changes: readonly ChangeGroup[]
      readonly sync: SyncEnd
    }

/** The exit status of an update without that of its packs. */
export function statusOfUpdate(ends: readonly UpdateEnd[]): ExitStatus {
  if (ends.some((end) => 'failure' in end)) return 1
  return exitOfPulls(ends.flatMap((end) => ('failure' in end ? [] : [end.sync])))
}

/** The result as JSON. */
export function jsonOfUpdate(file: string, { lockUse: use }: Config, { isWritten, ends, packs }: LockUpdated): object {
  const sources = ends.map((end) => {
    if ('failure' in end) return { source: end.id, problem: end.failure }
    const { id, before, after, changes, sync } = end
    const docs = docsChange(before?.docs, after.docs)
    return {
      source: id,
      ...(before !== undefined && { from: placeOf(before) }),
      to: placeOf(after),
      ...(after.signers !== undefined && { signers: after.signers }),
      changes,
      ...(docs !== undefined && { docs }),
      sync,
    }
  })
  return { lock: file, use, written: isWritten, sources, ...(packs.length > 0 && { packs }) }
}

function placeOf({ revision: { ref, commit, tag } }: LockEntry): object {
  return { ref, commit, ...(tag !== undefined && { tag }) }
}

/** The result of one source as lines. */
export function linesOfUpdate(end: UpdateEnd): string[] {
  if ('failure' in end) return [`${end.id}: not updated (${end.failure.code}): ${printableLine(end.failure.message)}`]
  const { id, before, after, changes, sync } = end
  const docs = docsChange(before?.docs, after.docs)
  return [
    `${id}: ${moveText(before, after)}`,
    ...signersTexts(after.signers).map((text) => `  signed: ${printableLine(text)}`),
    ...linesOfChanges(changes).map((line) => `  ${line}`),
    ...(docs === undefined ? [] : [`  ${docs.padEnd(8)} the docs folder`]),
    ...linesOfPull({ ...sync, changes: undefined }),
  ]
}

function moveText(before: LockEntry | undefined, { revision: { ref, commit }, skills }: LockEntry): string {
  const at = `${printableLine(ref)} at ${commit}`
  if (before === undefined) return `locked ${at}, ${countOf(skills.size, 'skill')}`
  if (before.revision.commit === commit) return `unmoved, ${at}`
  return `moved from ${printableLine(before.revision.ref)} at ${before.revision.commit} to ${at}`
}
