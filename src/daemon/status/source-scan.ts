import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SARIF_LEVELS, scanKeyOf } from '../../sync/store/scan-records.ts'
import type { ScanFinding, SkillScan, SourceScans } from '../../sync/store/scan-records.ts'

/** A scan as `--json` has it. */
export type ScanRow = Omit<SkillScan, 'by'>

/** The findings of scans in a source, as `status --json` has them. */
export interface SourceScanStatus {
  /** The number of served contents that were scanned. */
  readonly scanned: number
  readonly counts: SkillScan['counts']
  /** The first of the findings in what is served, the worst first. */
  readonly findings: readonly PlacedFinding[]
  /** The commit that was kept out at last, and the first of the findings in it. Absent once it is served. */
  readonly next?: { readonly commit: string; readonly verdict: 'hold' | 'refuse' } & Pick<SourceScanStatus, 'findings'>
}

/** A finding with the content that it is in. */
export interface PlacedFinding extends ScanFinding {
  /** The path of the skill in its source, or `docs`. */
  readonly skill: string
}

/** The scan of a content; `undefined` if it was not scanned. */
export function scanIn(
  { scans }: SourceScans,
  kind: 'skill' | 'docs',
  digest: string | undefined,
): ScanRow | undefined {
  const scan = digest === undefined ? undefined : scans.get(scanKeyOf(kind, digest))
  if (scan === undefined) return undefined
  const { at, counts, findings } = scan
  return { at, counts, findings }
}

/** `undefined` if nothing of the source was scanned. */
export function sourceScanOf(snapshot: Snapshot | undefined, scans: SourceScans): SourceScanStatus | undefined {
  const contents = [
    ...(snapshot?.skills.map(({ path, digest }) => ({ path, scan: scanIn(scans, 'skill', digest) })) ?? []),
    { path: 'docs', scan: scanIn(scans, 'docs', snapshot?.docs?.digest) },
  ]
  const scanned = contents.flatMap(({ path, scan }) => (scan === undefined ? [] : [{ path, scan }]))
  const next = nextIn(scans, snapshot)
  if (scanned.length === 0 && next === undefined) return undefined
  const counts = { error: 0, warning: 0, note: 0, none: 0 }
  for (const { scan } of scanned) for (const level of SARIF_LEVELS) counts[level] += scan.counts[level]
  return { scanned: scanned.length, counts, findings: worstOf(scanned), ...(next !== undefined && { next }) }
}

/** The scan of a skill in a commit that is kept out. */
export interface NextScan {
  readonly commit: string
  readonly verdict: 'hold' | 'refuse'
  readonly scan: ScanRow
}

/** Returns `undefined` if no commit with other content of the skill is kept out. */
export function nextScanOf({ judged, scans }: SourceScans, served: Snapshot, path: string): NextScan | undefined {
  if (judged === undefined || judged.commit === served.revision.commit) return undefined
  const found = scans.get(judged.contents.get(path) ?? '')
  if (found === undefined) return undefined
  const { at, counts, findings } = found
  return { commit: judged.commit, verdict: judged.verdict, scan: { at, counts, findings } }
}

function nextIn({ judged, scans }: SourceScans, snapshot: Snapshot | undefined): SourceScanStatus['next'] {
  if (judged === undefined || judged.commit === snapshot?.revision.commit) return undefined
  const { commit, verdict, contents } = judged
  const scanned = [...contents].flatMap(([path, key]) => {
    const scan = scans.get(key)
    return scan === undefined ? [] : [{ path, scan }]
  })
  return { commit, verdict, findings: worstOf(scanned) }
}

/** A status must stay short, however many there are: `skillsyncd why` shows those of a skill. */
const MOST_SHOWN = 20

function worstOf(scanned: readonly { readonly path: string; readonly scan: ScanRow }[]): readonly PlacedFinding[] {
  const placed = scanned.flatMap(({ path, scan }) => scan.findings.map((finding) => ({ skill: path, ...finding })))
  const ofLevel = (level: ScanFinding['level']): readonly PlacedFinding[] =>
    placed.filter((finding) => finding.level === level)
  return SARIF_LEVELS.flatMap(ofLevel).slice(0, MOST_SHOWN)
}
