import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { PullContext } from '../../sync/pull/pull-context.ts'
import { scanKeyOf } from '../../sync/store/scan-records.ts'
import type { ScanRecords, SkillScan, SourceScans } from '../../sync/store/scan-records.ts'
import { storedIn } from '../../sync/store/skills/stored-path.ts'
import { gateCandidateOf } from './candidate.ts'
import type { GateConfig } from './gate-config.ts'
import { askGate } from './gate.ts'
import type { KnownScans } from './scanner.ts'

/** The operator's gate, as a step of a pull. */
export function gateStep(
  config: GateConfig,
  { store, environment, redactor, clock, log }: DaemonContext,
): NonNullable<PullContext['gate']> {
  return async (next, earlier, signal) => {
    // No generation names them yet, and the collection of another pull may run while the gate reads them.
    using _held = store.checkouts.hold(storedIn(next))
    for (const stored of storedIn(next)) await store.checkouts.ensure(stored)
    const candidate = gateCandidateOf(next, earlier, store.checkouts)
    const scans = knownScansOf(store.scans, next, earlier)
    const verdict = await askGate(candidate, { config, environment, redactor, clock, scans }, signal)
    if (verdict.kind === 'publish') {
      if (verdict.unanswered !== undefined)
        log.warn('gate-unanswered', { source: next.source, message: verdict.unanswered })
      return undefined
    }
    const what = `${next.revision.commit} of "${next.source}"`
    return verdict.kind === 'hold'
      ? new SyncError(
          'awaiting-approval',
          `Cannot serve without approval: the gate lets ${what} wait: ${verdict.reason}`,
        )
      : new SyncError('content-refused', `Cannot serve ${what}: the gate refuses it: ${verdict.reason}`, { fix: GATE })
  }
}

const GATE = 'Have what the gate names corrected upstream, or change `gate`'

/** The scans of a source for the judgement of its next content. Scans of neither content are dropped. */
function knownScansOf(records: ScanRecords, next: Snapshot, served: Snapshot | undefined): KnownScans {
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
function scansAfter(
  { scans }: SourceScans,
  added: ReadonlyMap<string, SkillScan>,
  live: ReadonlySet<string>,
): SourceScans['scans'] {
  return new Map([...scans, ...added].filter(([key]) => live.has(key)))
}

/** The keys of the contents of a snapshot. */
function keysIn(snapshot: Snapshot | undefined): readonly string[] {
  const ofSkills = snapshot?.skills.flatMap(({ digest }) => (digest === undefined ? [] : [scanKeyOf('skill', digest)]))
  const docs = snapshot?.docs
  return [...(ofSkills ?? []), ...(docs === undefined ? [] : [scanKeyOf('docs', docs.digest)])]
}
