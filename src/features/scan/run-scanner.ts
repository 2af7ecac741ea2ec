import { isAbsolute, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeOf } from '../../base/error-code.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { printable } from '../../base/text/printable.ts'
import { MOST_FINDINGS, SARIF_LEVELS } from '../../sync/store/scan-records.ts'
import type { SarifLevel, ScanFinding, SkillScan } from '../../sync/store/scan-records.ts'
import type { GateScanner } from './gate-config.ts'
import type { Gate } from './gate.ts'
import { runGateProgram } from './program.ts'
import { NotScannedError, sarifResultsIn } from './sarif-results.ts'
import type { ScanResult } from './sarif-results.ts'
import { SCANNER_PRESETS } from './scanner-presets.ts'
import { GateUnansweredError } from './unanswered.ts'

/** Scans one folder, an absolute path. Throws `GateUnansweredError` if the output of the scanner cannot be read. */
export async function scanFolder(
  folder: string,
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<Omit<SkillScan, 'by'>> {
  const args = scanner.args.map((word) => word.replaceAll(FOLDER, () => folder))
  if (!scanner.args.some((word) => word.includes(FOLDER))) args.push(folder)
  const { stdout, stderr } = await runScanner(scanner, args, MOST_BYTES, gate, signal)
  try {
    return scanOf(resultsIn(stdout, scanner), folder, gate)
  } catch (error) {
    if (!(error instanceof NotScannedError)) throw error
    const said = stderr.trim() === '' ? '' : `; it says: ${stderr.trim()}`
    throw new GateUnansweredError(`${error.message}${said}`, { cause: error })
  }
}

/** Runs the scanner with these arguments. A program that is not installed is an error that says how to get it. */
export async function runScanner(
  scanner: GateScanner,
  args: readonly string[],
  mostBytes: number,
  gate: Gate,
  signal: AbortSignal,
): ReturnType<typeof runGateProgram> {
  try {
    return await runGateProgram({ ...scanner, args }, '', mostBytes, gate, signal)
  } catch (error) {
    const { install } = SCANNER_PRESETS[scanner.name]
    const isAbsent = error instanceof GateUnansweredError && codeOf(error.cause) === 'ENOENT'
    if (!isAbsent || install === undefined) throw error
    const message = `"${scanner.command}" is not installed, or not in the PATH of the daemon: ${install}, or name it in \`command\``
    throw new GateUnansweredError(message, { cause: error.cause })
  }
}

/** Stands for the folder in the arguments. */
const FOLDER = '{folder}'

/** More is cut off, and is no JSON then. */
const MOST_BYTES = 16 * 2 ** 20

function resultsIn(output: string, { name }: GateScanner): readonly ScanResult[] {
  return SCANNER_PRESETS[name].output === 'agent-scan' ? agentScanResultsIn(output) : sarifResultsIn(output)
}

function scanOf(results: readonly ScanResult[], folder: string, { clock, redactor }: Gate): Omit<SkillScan, 'by'> {
  const ofLevel = (level: SarifLevel): readonly ScanResult[] => results.filter((result) => result.level === level)
  const counts = { error: 0, warning: 0, note: 0, none: 0 }
  for (const { level } of results) counts[level] += 1
  const worst = SARIF_LEVELS.flatMap(ofLevel).slice(0, MOST_FINDINGS)
  const clean = (text: string): string => redactor.clean(text)
  return { at: clock.now().toISOString(), counts, findings: worst.map((result) => findingOf(result, folder, clean)) }
}

function findingOf(result: ScanResult, folder: string, clean: (text: string) => string): ScanFinding {
  const { tool, rule, level, message, file, line } = result
  const short = (text: string, most: number): string => printable(clean(text), most)
  // Only the path in the folder is of use: the folder itself differs from machine to machine.
  const placed = message.replaceAll(`${folder}/`, () => '')
  return {
    tool: short(tool, MOST_NAME),
    rule: short(rule, MOST_NAME),
    level,
    message: short(placed, MOST_TEXT),
    ...(file !== undefined && { file: short(placeIn(file, folder), MOST_TEXT) }),
    ...(line !== undefined && { line }),
  }
}

const MOST_NAME = 100
const MOST_TEXT = 300

/** Scanners name files by a URL, by an absolute path, from the scanned folder, or from the working folder. */
function placeIn(file: string, folder: string): string {
  const named = file.startsWith('file:') ? pathOfUrl(file) : file
  // The working folder of a gate is the root of the disk.
  const absolute = isBelowFolder(`/${named}`, folder) ? `/${named}` : named
  const within = isAbsolute(absolute) ? relative(folder, absolute) : absolute
  return URL.canParse(within) || within.startsWith('..') ? file : posix.normalize(within)
}

function isBelowFolder(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`)
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return url
  }
}

/**
 * Returns the issues in the output of `snyk-agent-scan scan --json`, which has no SARIF: a result for each path with
 * `issues` and an `error` (https://github.com/snyk/agent-scan/blob/main/src/agent_scan/models.py). Throws `NotScannedError`
 * for any other text, and if a path was not scanned.
 */
function agentScanResultsIn(text: string): readonly ScanResult[] {
  const paths = parseJson(text)
  const ofPaths = isObject(paths) ? Object.values(paths) : []
  if (ofPaths.length === 0) throw new NotScannedError('its output has no path that was scanned')
  return ofPaths.flatMap(resultsOfPath)
}

function resultsOfPath(path: unknown): readonly ScanResult[] {
  const issues = isObject(path) ? path['issues'] : undefined
  if (!isObject(path) || !Array.isArray(issues) || !issues.every(isObject))
    throw new NotScannedError('its output has a path without a list of issues')
  const { error, servers } = path
  const failures = [error, ...(Array.isArray(servers) ? servers.map(errorOf) : [])]
  if (failures.some((failure) => isObject(failure) && failure['is_failure'] !== false))
    throw new NotScannedError('it reports that the scan failed')
  return issues.map(resultOf)
}

function errorOf(server: unknown): unknown {
  return isObject(server) ? server['error'] : undefined
}

/** Codes that begin with W are warnings (docs/issue-codes.md of the scanner); all others count as errors. */
function resultOf({ code, message }: Readonly<Record<string, unknown>>): ScanResult {
  const rule = typeof code === 'string' && code !== '' ? code : 'an issue without a code'
  return {
    tool: 'snyk-agent-scan',
    rule,
    level: rule.startsWith('W') ? 'warning' : 'error',
    message: typeof message === 'string' && message !== '' ? message : 'no message',
    file: undefined,
    line: undefined,
  }
}
