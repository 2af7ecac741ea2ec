import type { Revision } from '../sync/model/revision.ts'
import { NotSigned } from '../sync/model/sync-error.ts'
import type { Proof } from '../sync/model/tree.ts'
import type { Signers } from '../sync/model/trust.ts'
import { prove } from '../sync/prove.ts'
import type { Pulling } from '../sync/take.ts'
import type { ConfiguredSource } from './config.ts'
import { readTrust } from './trust.ts'

/** Who signed a revision, by the keys that are trusted at this moment. Undefined where nobody has to have signed. */
export function proverOf({ source, signed }: ConfiguredSource): Pulling['prove'] {
  if (signed === undefined) return undefined
  return async (proof: Proof, { commit, ref }: Revision): Promise<Signers> => {
    const proven = await prove({ ...proof, ref }, await readTrust(signed))
    if (proven.kind === 'refused') throw new NotSigned(`Cannot take commit ${commit} of "${source.id}": ${proven.why}`)
    return { ...(proven.commit && { commit: proven.commit }), ...(proven.tag && { tag: proven.tag }) }
  }
}
