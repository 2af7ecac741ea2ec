import { disabledIn } from '../../sync/decisions/disabled-matches.ts'
import type { ScanDisabling } from '../../sync/decisions/disabled-skills.ts'
import type { OutOfService } from '../../sync/decisions/out-of-service.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { scanKeyOf } from '../../sync/store/scan-records.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'
import type { GateScanner } from '../config/gate.ts'
import { isRefused } from '../gate/scanner.ts'

/** The scans of one run, by source and by `scanKeyOf` the content. */
export type RunScans = ReadonlyMap<SourceId, ReadonlyMap<string, SkillScan>>

/** A skill that is served, or was until a scan withheld it. */
export interface ScannedSkill {
  readonly source: SourceId
  readonly path: string
  readonly digest: string
}

/** The effects that a run of scans has on what is served. */
export interface ScanJudgement {
  /** The skills that the scanner refuses and that are in service. */
  readonly refused: readonly ScannedSkill[]
  /** The skills that the scanner refuses, and that a person has enabled with their present content. */
  readonly accepted: readonly ScannedSkill[]
  /** The folders of skills whose scan of before is over: a later one found nothing, or no ring has their content. */
  readonly cleared: readonly Pick<ScannedSkill, 'source' | 'path'>[]
  /** The number of skills that scans withhold already, apart from those that are cleared. */
  readonly withheld: number
  /** The number of skills that could be served. */
  readonly all: number
}

/** The terms of a judgement. */
export interface JudgementTerms {
  readonly out: OutOfService
  readonly scanner: Pick<GateScanner, 'refuse'>
  /** The content that rings after the first serve in place of that of the first. */
  readonly inRings: readonly Snapshot[]
}

/** Judges the scans of one run by the levels of the configuration. Skills that were not scanned stay as they are. */
export function judgeScans(snapshots: readonly Snapshot[], scans: RunScans, terms: JudgementTerms): ScanJudgement {
  const judged = snapshots.map((snapshot) => judgeSource(snapshot, scans.get(snapshot.source), terms))
  return {
    refused: judged.flatMap(({ refused }) => refused),
    accepted: judged.flatMap(({ accepted }) => accepted),
    cleared: judged.flatMap(({ cleared }) => cleared),
    withheld: judged.reduce((sum, { withheld }) => sum + withheld, 0),
    all: judged.reduce((sum, { all }) => sum + all, 0),
  }
}

/**
 * True if so many skills would be out of service because of scans that bad rules are the more likely cause: more than
 * this share of all, unless it is one of several.
 */
export function isMassFinding({ refused, withheld, all }: ScanJudgement, mostPercent: number): boolean {
  const out = refused.length + withheld
  if (refused.length === 0 || (out === 1 && all > 1)) return false
  return out * 100 > mostPercent * all
}

/** The changes of the decisions about one source. */
export function scanChangesOf(
  { refused, cleared }: Pick<ScanJudgement, 'refused' | 'cleared'>,
  at: string,
): ReadonlyMap<SourceId, ReadonlyMap<string, ScanDisabling | undefined>> {
  const changes = new Map<SourceId, Map<string, ScanDisabling | undefined>>()
  const put = (source: SourceId, path: string, scan: ScanDisabling | undefined): void => {
    changes.set(source, (changes.get(source) ?? new Map<string, ScanDisabling | undefined>()).set(path, scan))
  }
  for (const { source, path } of cleared) put(source, path, undefined)
  for (const { source, path, digest } of refused) put(source, path, { digest, at })
  return changes
}

function judgeSource(
  snapshot: Snapshot,
  scans: ReadonlyMap<string, SkillScan> | undefined,
  { out, scanner, inRings }: JudgementTerms,
): ScanJudgement {
  const { source } = snapshot
  const matches = disabledIn(snapshot, out)
  const entries = [...(out.disabled.get(source) ?? [])].flatMap(([path, { scan }]) => (scan ? [{ path, scan }] : []))
  const acceptedDigests = new Set(entries.flatMap(({ scan }) => (scan.accepted === true ? [scan.digest] : [])))
  const skills = scannedSkillsIn(snapshot)
  const older = inRings.filter((one) => one.source === source).flatMap(scannedSkillsIn)
  const present = new Set([...skills, ...older].map(({ digest }) => digest))
  const findingOf = ({ digest }: ScannedSkill): 'unknown' | 'refused' | 'clean' => {
    const scan = scans?.get(scanKeyOf('skill', digest))
    if (scan === undefined) return 'unknown'
    return isRefused(scan, scanner) ? 'refused' : 'clean'
  }
  const isCleared = (digest: string): boolean => {
    const scan = scans?.get(scanKeyOf('skill', digest))
    return scans !== undefined && (!present.has(digest) || (scan !== undefined && !isRefused(scan, scanner)))
  }
  const bad = skills.filter((skill) => findingOf(skill) === 'refused')
  const isByScan = ({ path }: ScannedSkill): boolean => matches.get(path)?.by === 'scan'
  return {
    refused: bad.filter(({ path, digest }) => !matches.has(path) && !acceptedDigests.has(digest)),
    accepted: bad.filter(({ digest }) => acceptedDigests.has(digest)),
    cleared: entries.flatMap(({ path, scan }) => (isCleared(scan.digest) ? [{ source, path }] : [])),
    withheld: skills.filter((skill) => isByScan(skill) && findingOf(skill) !== 'clean').length,
    all: skills.length,
  }
}

function scannedSkillsIn({ source, skills }: Snapshot): readonly ScannedSkill[] {
  return skills.flatMap((skill) => {
    const { path, digest, standing } = skill
    return digest === undefined || standing === 'withheld' || isOfUpstream(skill) ? [] : [{ source, path, digest }]
  })
}
