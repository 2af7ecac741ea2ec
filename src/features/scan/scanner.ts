import { posix } from 'node:path'
import { SARIF_LEVELS, scanKeyOf } from '../../sync/store/scan-records.ts'
import type { JudgedCommit, SarifLevel, ScanFinding, SkillScan, SourceScans } from '../../sync/store/scan-records.ts'
import type { CandidateSkill, GateCandidate } from './candidate.ts'
import type { GateScanner, ScanLevel } from './gate-config.ts'
import type { Gate, GateVerdict } from './gate.ts'
import { scanFolder } from './run-scanner.ts'
import { scannerIdentity } from './scanner-identity.ts'
import { SCANNER_PRESETS } from './scanner-presets.ts'
import { GateUnansweredError } from './unanswered.ts'

/** The stored scans of the source of a candidate. */
export interface KnownScans {
  read(): Promise<SourceScans>
  /** Adds scans by their keys. `judged`: the candidate, if it is kept out. */
  add(scans: ReadonlyMap<string, SkillScan>, judged: JudgedCommit | undefined): Promise<void>
}

/** A folder that is scanned. */
interface ScannedFolder {
  /** The path of the skill in its source, or `docs`. */
  readonly path: string
  /** An absolute path. */
  readonly folder: string
  /** The key of its content among the scans; `undefined` for content without a digest. */
  readonly key: string | undefined
}

/** A folder with its scan. */
interface FolderScan extends ScannedFolder {
  readonly scan: SkillScan
}

/**
 * Scans the new and the changed skills, one after another, but for those whose content the same scanner has scanned
 * before. The worst result decides, and not the exit status. A scanner whose output cannot be read gave no answer,
 * unless it has found enough in other skills to refuse the commit. What was scanned is kept even if the time is over.
 */
export async function askScanner(
  candidate: GateCandidate,
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<GateVerdict> {
  const folders = changedIn(candidate, scanner)
  const by = folders.length === 0 ? undefined : await scannerIdentity(scanner, gate, signal)
  const known = (await gate.scans?.read())?.scans ?? NONE
  const scans: FolderScan[] = []
  let verdict: GateVerdict | undefined
  try {
    let unanswered: GateUnansweredError | undefined
    for (const scanned of folders) {
      try {
        const scan = reusable(known, scanned, by) ?? (await scanOf(scanned, by, scanner, gate, signal))
        scans.push({ ...scanned, scan })
      } catch (error) {
        // An author must not hide what one skill has behind another one that the scanner cannot read.
        if (!(error instanceof GateUnansweredError) || signal.aborted) throw error
        unanswered ??= error
      }
    }
    const found = verdictOn(scans, scanner)
    if (unanswered !== undefined && found.kind !== 'refuse') throw unanswered
    verdict = found
    return found
  } finally {
    await gate.scans?.add(byKey(scans), verdict && judgedOf(candidate, scans, verdict))
  }
}

const NONE: SourceScans['scans'] = new Map()

function reusable(known: SourceScans['scans'], { key }: ScannedFolder, by: string | undefined): SkillScan | undefined {
  const scan = key === undefined || by === undefined ? undefined : known.get(key)
  return scan?.by === by ? scan : undefined
}

async function scanOf(
  { folder }: ScannedFolder,
  by: string | undefined,
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<SkillScan> {
  return { ...(by !== undefined && { by }), ...(await scanFolder(folder, scanner, gate, signal)) }
}

function byKey(scans: readonly FolderScan[]): ReadonlyMap<string, SkillScan> {
  return new Map(scans.flatMap(({ key, scan }) => (key === undefined ? [] : [[key, scan] as const])))
}

function judgedOf(
  { commit }: GateCandidate,
  scans: readonly FolderScan[],
  { kind }: GateVerdict,
): JudgedCommit | undefined {
  if (kind === 'publish') return undefined
  const contents = scans.flatMap(({ path, key }) => (key === undefined ? [] : [[path, key] as const]))
  return { commit, verdict: kind, contents: new Map(contents) }
}

/** The verdict that the levels of the configuration give on these scans. */
function verdictOn(scans: readonly FolderScan[], scanner: GateScanner): GateVerdict {
  const counted = SARIF_LEVELS.map((level) => [level, sumOf(scans, level)] as const).filter(([, count]) => count > 0)
  const [worst] = counted[0] ?? []
  const kind = worst === undefined ? 'publish' : kindOfVerdict(worst, scanner)
  if (kind === 'publish') return { kind }
  const numbers = counted.map(([level, count]) => `${count} of level ${level}`).join(', ')
  return { kind, reason: `the scan has results, ${numbers}: ${textsOf(scans).join('; ')}` }
}

function sumOf(scans: readonly FolderScan[], level: SarifLevel): number {
  return scans.reduce((sum, { scan }) => sum + scan.counts[level], 0)
}

/** The findings, the worst first. */
function textsOf(scans: readonly FolderScan[]): readonly string[] {
  return SARIF_LEVELS.flatMap((level) =>
    scans.flatMap(({ path, scan }) =>
      scan.findings.filter((finding) => finding.level === level).map((finding) => findingText(finding, path)),
    ),
  )
}

/** The folders of new and changed content. The rest was judged when it came. */
function changedIn({ skills, docs }: GateCandidate, { name }: GateScanner): readonly ScannedFolder[] {
  const scanned = (
    path: string,
    kind: 'skill' | 'docs',
    { change, folder, digest }: Pick<CandidateSkill, 'change' | 'folder' | 'digest'>,
  ): ScannedFolder[] => {
    if ((change !== 'added' && change !== 'changed') || folder === null) return []
    return [{ path, folder, key: digest === null ? undefined : scanKeyOf(kind, digest) }]
  }
  const ofDocs = docs === undefined || !SCANNER_PRESETS[name].scansDocs ? [] : scanned('docs', 'docs', docs)
  return [...skills.flatMap((skill) => scanned(skill.path, 'skill', skill)), ...ofDocs]
}

function kindOfVerdict(worst: SarifLevel, { refuse, hold }: GateScanner): GateVerdict['kind'] {
  if (reaches(worst, refuse)) return 'refuse'
  return reaches(worst, hold) ? 'hold' : 'publish'
}

/** True if a result of this level counts where `least` is the least level that does. */
function reaches(level: SarifLevel, least: ScanLevel): boolean {
  return least !== 'never' && SARIF_LEVELS.indexOf(level) <= SARIF_LEVELS.indexOf(least)
}

/** True if the scan has a finding for which the configuration refuses content. */
export function isRefused({ counts }: Pick<SkillScan, 'counts'>, { refuse }: Pick<GateScanner, 'refuse'>): boolean {
  return SARIF_LEVELS.some((level) => counts[level] > 0 && reaches(level, refuse))
}

/** A finding in one line. `path`: of the scanned folder. */
function findingText({ tool, rule, message, file, line }: ScanFinding, path: string): string {
  const place = file === undefined ? path || '.' : isWithin(file) ? posix.join(path, file) : file
  return `${place}${line === undefined ? '' : `:${line}`}: ${message} (${tool}, ${rule})`
}

/** False for a place outside of the scanned folder. */
function isWithin(file: string): boolean {
  return !file.startsWith('/') && !file.startsWith('..') && !URL.canParse(file)
}
