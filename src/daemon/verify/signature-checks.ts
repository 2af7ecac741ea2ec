import { refusalOf } from '../admission.ts'
import { finding } from './remark.ts'
import type { Remark } from './remark.ts'
import type { Verifying } from './verifying.ts'

/** Whether what is served is signed by those who have to have signed it, by the keys that are trusted now. */
export async function* signaturesHold({ config, snapshots }: Verifying): AsyncGenerator<Remark> {
  for (const snapshot of snapshots) {
    const refusal = await refusalOf(config, snapshot)
    if (refusal?.code === 'revision-unverified')
      yield finding(refusal.code, refusal.message, { source: snapshot.source })
  }
}
