import { unprovedBy } from '../proving.ts'
import { finding } from './remark.ts'
import type { Remark } from './remark.ts'
import type { Verifying } from './verifying.ts'

/** Whether what is served is signed by those who have to have signed it, by the keys that are trusted now. */
export async function* signaturesHold({ config, snapshots }: Verifying): AsyncGenerator<Remark> {
  for (const snapshot of snapshots) {
    const configured = config.sources.find(({ source }) => source.id === snapshot.source)
    const why = configured && (await unprovedBy(configured, snapshot))
    if (why !== undefined) yield finding(why.code, why.message, { source: snapshot.source })
  }
}
