import { countOf } from '../../base/text/plural.ts'
import type { MassFinding } from '../../daemon/status/status.ts'
import type { ScannedContent } from '../../sync/model/decisions/disabled-entries.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SARIF_LEVELS } from '../../sync/store/scan-records.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'
import type { RunScans } from './scan-judgement.ts'
import type { FailedScan } from './scan-served.ts'

/** A request to scan what is served. */
export interface ScanRequest {
  readonly sources: readonly SourceId[]
  /** True to scan content again that this scanner has scanned before. */
  readonly isFresh: boolean
  /** True to take what the scanner refuses out of service, however much it is. */
  readonly withholdsAll: boolean
}

/** The end of a run, as `skillsyncd verify --scan --json` prints it. */
export interface ScanEnd {
  /** ISO 8601, UTC. */
  readonly at: string
  /** The number of contents with a scan, stored ones included. */
  readonly scanned: number
  readonly counts: SkillScan['counts']
  readonly failed: readonly FailedScan[]
  /** The skills that the scanner refuses: what was done about each. */
  readonly refused: readonly RefusedSkill[]
  /** `source/path` of the skills that are in service again. */
  readonly cleared: readonly string[]
  /** Present if so many skills are refused that an operator has to decide: nothing was taken out of service. */
  readonly waiting?: MassFinding
}

export interface RefusedSkill {
  /** `source/path`. */
  readonly skill: string
  readonly is: 'withheld' | 'served' | 'accepted'
}

/** The numbers of findings in all scans of a run. */
export function countsIn(scans: RunScans): SkillScan['counts'] {
  const counts = { error: 0, warning: 0, note: 0, none: 0 }
  for (const ofSource of scans.values())
    for (const scan of ofSource.values()) for (const level of SARIF_LEVELS) counts[level] += scan.counts[level]
  return counts
}

export function scannedPlaceText({ source, path }: Pick<ScannedContent, 'source' | 'path'>): string {
  return `${source}/${path}`
}

/** The reason why a run took nothing out of service, with the remedy. */
export function massText({ skills, of, mostPercent }: MassFinding): string {
  return `${skills} of ${countOf(of, 'skill')} would be out of service, more than ${mostPercent} percent: nothing was withheld`
}
