import type { Revision } from '../../../sync/model/revision.ts'
import type { Signers } from '../../../sync/model/signers.ts'
import { NotSigned, SignedLate } from '../../../sync/model/sync-error.ts'
import type { Proof } from '../../../sync/model/tree.ts'
import type { PullContext } from '../../../sync/pull/pull-context.ts'
import { prove } from '../../../sync/signatures/verify-signature.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import { durationText } from '../../config/schema/scalars.ts'
import { readTrust } from './trust.ts'

/**
 * Returns the check of a revision's signers, by the keys that are trusted at that moment. `undefined` if no signature
 * is required.
 */
export function proverOf({ source, signed }: ConfiguredSource, now = () => new Date()): PullContext['prove'] {
  if (signed === undefined) return undefined
  return async (proof: Proof, { commit, ref }: Revision, sight): Promise<Signers> => {
    const graceMs = sight === 'first' ? signed.graceMs : undefined
    const proven = await prove({ ...proof, ref }, { ...(await readTrust(signed)), graceMs }, now())
    const refusal = `Cannot take commit ${commit} of "${source.id}"`
    if (proven.kind === 'refused') throw new NotSigned(`${refusal}: ${proven.why}`)
    if (proven.kind === 'late') {
      const since = `and comes for the first time more than ${durationText(signed.graceMs ?? 0)} (signed.grace) after that`
      throw new SignedLate(
        `${refusal}: ${proven.why}, ${since}; if you know it, extend the key until the object is accepted`,
      )
    }
    return { ...(proven.commit && { commit: proven.commit }), ...(proven.tag && { tag: proven.tag }) }
  }
}
