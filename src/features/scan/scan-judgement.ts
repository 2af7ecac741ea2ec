import type { ScannedContent } from '../../sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import type { DisabledMatch } from '../../sync/model/decisions/disabled-matches.ts'
import { firstPlace, type OutOfService } from '../../sync/model/decisions/out-of-service.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { scanKeyOf } from '../../sync/store/scan-records.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'
import type { GateScanner } from './gate-config.ts'
import { isRefused } from './scanner.ts'

/** The scans of one run, by source and by `scanKeyOf` the content. */
export type RunScans = ReadonlyMap<SourceId, ReadonlyMap<string, SkillScan>>

/** The effects that a run of scans has on what is served. */
export interface ScanJudgement {
  /** The skills that the scanner refuses and that are in service. */
  readonly refused: readonly ScannedContent[]
  /** The skills that the scanner refuses, and that a person has enabled with their present content. */
  readonly accepted: readonly ScannedContent[]
  /** The contents whose scan of before is over: a later one found nothing, or no ring has them any more. */
  readonly cleared: readonly ScannedContent[]
  /** The number of skills that scans withhold already, apart from those that are cleared, or refused in another version. */
  readonly withheld: number
  /** The number of skills that could be served. */
  readonly all: number
}

/**
 * Judges the scans of one run by the levels of the configuration. Skills that were not scanned stay as they are. A
 * source has several snapshots if rings serve other content of it than the first one.
 */
export function judgeScans(
  snapshots: readonly Snapshot[],
  scans: RunScans,
  out: OutOfService,
  scanner: Pick<GateScanner, 'refuse'>,
): ScanJudgement {
  const bySource = Map.groupBy(snapshots, ({ source }) => source)
  const judged = [...bySource].map(([source, held]) => judgeSource(held, scans.get(source), out, scanner))
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
  const out = skillsOut({ refused, withheld })
  if (refused.length === 0 || (out === 1 && all > 1)) return false
  return out * 100 > mostPercent * all
}

/** The number of skills that scans would keep out of service, in whatever versions. */
export function skillsOut({ refused, withheld }: Pick<ScanJudgement, 'refused' | 'withheld'>): number {
  return new Set(refused.map(({ source, path }) => `${source}/${path}`)).size + withheld
}

function judgeSource(
  snapshots: readonly Snapshot[],
  scans: ReadonlyMap<string, SkillScan> | undefined,
  out: OutOfService,
  scanner: Pick<GateScanner, 'refuse'>,
): ScanJudgement {
  const skills = judgedIn(snapshots, out)
  const sources = new Set<string | undefined>(snapshots.map(({ source }) => source))
  const rules = out.filter((rule) => rule.by === 'scan' && sources.has(firstPlace(rule)?.source))
  const entries = rules.flatMap(({ on }) =>
    on.places.flatMap(({ source, path }) => on.contents.map((digest) => ({ source, path, digest }))),
  )
  const acceptedDigests = new Set(rules.flatMap(({ ended, on }) => (ended === undefined ? [] : on.contents)))
  const present = new Set(skills.map(({ digest }) => digest))
  const findingOf = ({ digest }: Pick<ScannedContent, 'digest'>): 'unknown' | 'refused' | 'clean' => {
    const scan = scans?.get(scanKeyOf('skill', digest))
    if (scan === undefined) return 'unknown'
    return isRefused(scan, scanner) ? 'refused' : 'clean'
  }
  const isCleared = (entry: ScannedContent): boolean =>
    scans !== undefined && (!present.has(entry.digest) || findingOf(entry) === 'clean')
  const bad = skills.filter((skill) => findingOf(skill) === 'refused')
  const refused = bad.filter(({ match, digest }) => match === undefined && !acceptedDigests.has(digest))
  const withheld = new Set(skills.flatMap((skill) => (isWithheld(skill, findingOf(skill)) ? [skill.path] : [])))
  const told = ({ source, path, digest }: ScannedContent): ScannedContent => ({ source, path, digest })
  return {
    refused: refused.map(told),
    accepted: bad.filter(({ digest }) => acceptedDigests.has(digest)).map(told),
    cleared: entries.filter(isCleared).map(told),
    withheld: withheld.difference(new Set(refused.map(({ path }) => path))).size,
    all: new Set(skills.map(({ path }) => path)).size,
  }
}

function isWithheld({ match }: JudgedSkill, finding: 'unknown' | 'refused' | 'clean'): boolean {
  return match?.by === 'scan' && finding !== 'clean'
}

interface JudgedSkill extends ScannedContent {
  /** The reason why it is out of service; `undefined` if it is in service. */
  readonly match: DisabledMatch | undefined
}

/** The skills of the snapshots, each content at a place once. */
function judgedIn(snapshots: readonly Snapshot[], out: OutOfService): readonly JudgedSkill[] {
  const judged = new Map<string, JudgedSkill>()
  for (const snapshot of snapshots) {
    const matches = disabledIn(snapshot, out)
    for (const skill of snapshot.skills.flatMap((one) => scannableOf(one, snapshot.source)))
      judged.set(`${skill.digest} ${skill.path}`, { ...skill, match: matches.get(skill.path) })
  }
  return [...judged.values()]
}

function scannableOf(skill: Skill, source: SourceId): ScannedContent[] {
  const { path, digest, standing } = skill
  return digest === undefined || standing === 'withheld' || isOfUpstream(skill) ? [] : [{ source, path, digest }]
}
