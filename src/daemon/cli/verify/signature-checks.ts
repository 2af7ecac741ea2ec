import { refusalOf } from '../../trust/serving-policy.ts'
import { finding } from './finding.ts'
import type { VerifyDiagnostic } from './finding.ts'
import type { Verifying } from './verify-context.ts'

/** Checks the required signatures of the served content with the keys that are trusted now. */
export async function* signaturesHold({ config, snapshots }: Verifying): AsyncGenerator<VerifyDiagnostic> {
  for (const snapshot of snapshots) {
    const refusal = await refusalOf(config, snapshot)
    if (refusal?.code === 'revision-unverified')
      yield finding(refusal.code, refusal.message, { source: snapshot.source })
  }
}
