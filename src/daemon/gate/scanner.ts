import { isAbsolute, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GateScanner, ScanLevel } from '../config/gate.ts'
import type { CandidateSkill, GateCandidate } from './candidate.ts'
import type { Gate, Verdict } from './gate.ts'
import { runGateProgram } from './program.ts'
import { NotScanned, SARIF_LEVELS, sarifResultsIn } from './sarif-results.ts'
import type { SarifLevel, ScanResult } from './sarif-results.ts'
import { GateUnanswered } from './unanswered.ts'

/** A folder that is scanned. */
interface ScannedFolder {
  /** The path of the skill in its source, or `docs`. */
  readonly path: string
  /** An absolute path. */
  readonly folder: string
}

/**
 * Scans the new and the changed skills, one after another. The worst result decides, and not the exit status. A scanner
 * whose output is no SARIF gave no answer, unless it has found enough in other skills to refuse the commit.
 */
export async function askScanner(
  candidate: GateCandidate,
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<Verdict> {
  const texts = new Map<SarifLevel, string[]>(SARIF_LEVELS.map((level) => [level, []]))
  let unanswered: GateUnanswered | undefined
  for (const scanned of changedIn(candidate)) {
    try {
      for (const result of await scan(scanned, scanner, gate, signal))
        texts.get(result.level)?.push(textOf(result, scanned))
    } catch (error) {
      // An author must not hide what one skill has behind another one that the scanner cannot read.
      if (!(error instanceof GateUnanswered) || signal.aborted) throw error
      unanswered ??= error
    }
  }
  const verdict = verdictOn(texts, scanner)
  if (unanswered !== undefined && verdict.kind !== 'refuse') throw unanswered
  return verdict
}

function verdictOn(texts: ReadonlyMap<SarifLevel, readonly string[]>, scanner: GateScanner): Verdict {
  const worst = SARIF_LEVELS.find((level) => texts.get(level)?.length !== 0)
  const kind = worst === undefined ? 'publish' : kindOfVerdict(worst, scanner)
  if (kind === 'publish') return { kind }
  const counted = [...texts].flatMap(([level, { length }]) => (length === 0 ? [] : [`${length} of level ${level}`]))
  return { kind, reason: `the scan has results, ${counted.join(', ')}: ${[...texts.values()].flat().join('; ')}` }
}

/** The folders of new and changed content. The rest was judged when it came. */
function changedIn({ skills, docs }: GateCandidate): readonly ScannedFolder[] {
  const scanned = (path: string, { change, folder }: Pick<CandidateSkill, 'change' | 'folder'>): ScannedFolder[] =>
    (change === 'added' || change === 'changed') && folder !== null ? [{ path, folder }] : []
  return [
    ...skills.flatMap((skill) => scanned(skill.path, skill)),
    ...(docs === undefined ? [] : scanned('docs', docs)),
  ]
}

async function scan(
  { folder }: ScannedFolder,
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<readonly ScanResult[]> {
  const args = scanner.args.map((word) => word.replaceAll(FOLDER, () => folder))
  if (!scanner.args.some((word) => word.includes(FOLDER))) args.push(folder)
  const { stdout, stderr } = await runGateProgram({ ...scanner, args }, '', MOST_BYTES, gate, signal)
  try {
    return sarifResultsIn(stdout)
  } catch (error) {
    if (!(error instanceof NotScanned)) throw error
    const said = stderr.trim() === '' ? '' : `; it says: ${stderr.trim()}`
    throw new GateUnanswered(`${error.message}${said}`, { cause: error })
  }
}

/** Stands for the folder in the arguments. */
const FOLDER = '{folder}'

/** More is cut off, and is no JSON then. */
const MOST_BYTES = 16 * 2 ** 20

function kindOfVerdict(worst: SarifLevel, { refuse, hold }: GateScanner): Verdict['kind'] {
  const reaches = (least: ScanLevel): boolean =>
    least !== 'never' && SARIF_LEVELS.indexOf(worst) <= SARIF_LEVELS.indexOf(least)
  if (reaches(refuse)) return 'refuse'
  return reaches(hold) ? 'hold' : 'publish'
}

function textOf({ tool, rule, message, file, line }: ScanResult, scanned: ScannedFolder): string {
  const place = file === undefined ? scanned.path || '.' : placeOf(file, scanned)
  return `${place}${line === undefined ? '' : `:${line}`}: ${message} (${tool}, ${rule})`
}

/** Scanners name files by a URL, by an absolute path, or from the scanned folder. */
function placeOf(file: string, { path, folder }: ScannedFolder): string {
  const named = file.startsWith('file:') ? pathOfUrl(file) : file
  const within = isAbsolute(named) ? relative(folder, named) : named
  return URL.canParse(within) || within.startsWith('..') ? file : posix.join(path, within)
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return url
  }
}
