import type { Snapshot } from '../../sync/model/snapshot.ts'
import { scanKeyOf } from '../../sync/store/scan-records.ts'
import type { ScanRecords, SkillScan, SourceScans } from '../../sync/store/scan-records.ts'
import type { KnownScans } from './scanner.ts'

/** The scans of a source for the judgement of its next content. Scans of neither content are dropped. */
export function knownScansOf(records: ScanRecords, next: Snapshot, served: Snapshot | undefined): KnownScans {
  const live = new Set([...keysIn(next), ...keysIn(served)])
  return {
    read: async () => records.read(next.source),
    add: async (scans, judged) => {
      await records.change(next.source, (before) => ({
        scans: scansAfter(before, scans, live),
        ...(judged !== undefined && { judged }),
      }))
    },
  }
}

/** The scans with those that are new, and without those of content that is not live. */
export function scansAfter(
  { scans }: SourceScans,
  added: ReadonlyMap<string, SkillScan>,
  live: ReadonlySet<string>,
): SourceScans['scans'] {
  return new Map([...scans, ...added].filter(([key]) => live.has(key)))
}

/** The keys of the contents of a snapshot. */
export function keysIn(snapshot: Snapshot | undefined): readonly string[] {
  const ofSkills = snapshot?.skills.flatMap(({ digest }) => (digest === undefined ? [] : [scanKeyOf('skill', digest)]))
  const docs = snapshot?.docs
  return [...(ofSkills ?? []), ...(docs === undefined ? [] : [scanKeyOf('docs', docs.digest)])]
}
