import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { SARIF_LEVELS } from '../../sync/store/scan-records.ts'
import type { SarifLevel } from '../../sync/store/scan-records.ts'

/** A result of a scanner. All texts are foreign. */
export interface ScanResult {
  /** The name of the scanner. */
  readonly tool: string
  readonly rule: string
  readonly level: SarifLevel
  readonly message: string
  /** The place as the scanner names it: a path, or a URI; `undefined` if it names none. */
  readonly file: string | undefined
  /** From 1. */
  readonly line: number | undefined
}

/** The output of a scanner that cannot be read, or says that the scan failed. */
export class NotScannedError extends Error {
  override readonly name = 'NotScanned'
}

/**
 * Returns the results of a SARIF 2.1.0 log that need attention: failures that the operator has not suppressed. A
 * suppression inside of a scanned file does not count, since its author wrote it. Throws `NotScannedError`.
 */
export function sarifResultsIn(text: string): readonly ScanResult[] {
  const log = parseJson(text)
  const runs = isObject(log) && log['version'] === '2.1.0' ? objectsIn(log['runs']) : []
  if (runs.length === 0) throw new NotScannedError('its output is not a SARIF 2.1.0 log with a run')
  if (isObject(log) && isFilled(log['inlineExternalProperties'])) throw new NotScannedError(ELSEWHERE)
  return runs.flatMap(resultsOf)
}

type Json = Readonly<Record<string, unknown>>

function resultsOf(run: Json): readonly ScanResult[] {
  const scanner = objectIn(run['tool'])
  const tool = textIn(objectIn(scanner?.['driver'])?.['name']) ?? 'scanner'
  if (objectsIn(run['invocations']).some(hasFailed)) throw new NotScannedError(`${tool} reports that the scan failed`)
  // A run without results was not executed (3.14.23).
  if (!Array.isArray(run['results'])) throw new NotScannedError(`${tool} reports no results, not even an empty list`)
  if (!run['results'].every(isObject)) throw new NotScannedError(`${tool} reports results that are none`)
  const external = objectIn(run['externalPropertyFileReferences'])
  if (PARTS.some((part) => isFilled(external?.[part]))) throw new NotScannedError(ELSEWHERE)
  if (objectsIn(run['invocations']).some((one) => isFaulty(one['exitCode'], run['results'])))
    throw new NotScannedError(`${tool} reports the exit code of a failure`)
  const rules = new Rules(scanner, objectsIn(run['invocations']))
  return objectsIn(run['results'])
    .filter((result) => !HARMLESS.has(result['kind']) && result['baselineState'] !== 'absent')
    .filter((result) => !isSuppressed(result))
    .map((result) => {
      const { id, rule } = rules.of(result)
      const { file, line } = placeOf(result, run)
      return {
        tool,
        rule: id,
        level: levelOf(result, rules.levelOf(id, rule)),
        message: messageOf(result, rule),
        file,
        line,
      }
    })
}

const ELSEWHERE = 'its output has a part of the results in another place, which is not read'

/** The parts of a run that decide what is found (3.15). */
const PARTS = ['results', 'invocations', 'driver', 'extensions', 'policies']

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null
}

/** True for an exit code that no finding explains: scanners end with 1 if they have found something. */
function isFaulty(exitCode: unknown, results: unknown): boolean {
  const isUsual = exitCode === undefined || exitCode === 0
  return !isUsual && (exitCode !== 1 || listIn(results).length === 0)
}

/** True if the scan ended early, or left something out because of an error: an author can cause that (3.20). */
function hasFailed(invocation: Json): boolean {
  const { executionSuccessful, toolExecutionNotifications, toolConfigurationNotifications } = invocation
  if (ENDINGS.some((ending) => isFilled(invocation[ending]))) return true
  const notifications = [...objectsIn(toolExecutionNotifications), ...objectsIn(toolConfigurationNotifications)]
  return executionSuccessful === false || notifications.some(({ level }) => level === 'error')
}

/** The end of a scanner by a signal, or before it began (3.20). */
const ENDINGS = ['exitSignalName', 'exitSignalNumber', 'processStartFailureMessage']

/** The kinds of results that report no problem, and no place that a person has to judge (3.27.9). */
const HARMLESS: ReadonlySet<unknown> = new Set(['pass', 'notApplicable', 'informational'])

/** A result that a person has to judge has the level `none` by the standard: here it counts as a warning. */
function levelOf({ kind, level }: Json, ofRule: SarifLevel): SarifLevel {
  if (kind === 'review' || kind === 'open') return 'warning'
  // What the standard does not know must not pass for less than it is.
  if (kind !== undefined && kind !== 'fail') return 'error'
  return level === undefined ? ofRule : (levelIn(level) ?? 'error')
}

/** The descriptions of the rules of a scanner and of its extensions. */
class Rules {
  readonly #driver: readonly unknown[]
  readonly #extensions: readonly (readonly unknown[])[]
  readonly #byId: ReadonlyMap<unknown, Json>
  readonly #overrides: readonly Json[]

  constructor(tool: Json | undefined, invocations: readonly Json[]) {
    this.#overrides = invocations.flatMap((one) => objectsIn(one['ruleConfigurationOverrides']))
    this.#driver = listIn(objectIn(tool?.['driver'])?.['rules'])
    this.#extensions = listIn(tool?.['extensions']).map((extension) => listIn(objectIn(extension)?.['rules']))
    const all = [...this.#extensions, this.#driver].flat().filter(isObject)
    this.#byId = new Map(all.map((rule) => [rule['id'], rule]))
  }

  /** A result names its rule by an index, from 0, or by an id. An index of -1 stands for none (3.27.6, 3.52.5). */
  of(result: Json): { readonly id: string; readonly rule: Json | undefined } {
    const named = objectIn(result['rule'])
    const id = textIn(result['ruleId']) ?? textIn(named?.['id'])
    const extension = objectIn(named?.['toolComponent'])?.['index']
    const rules = typeof extension === 'number' && extension >= 0 ? this.#extensions[extension] : this.#driver
    const index = named?.['index'] ?? result['ruleIndex']
    const rule = (typeof index === 'number' ? objectIn(rules?.[index]) : undefined) ?? this.#named(id)
    return { id: id ?? textIn(rule?.['id']) ?? 'a rule without a name', rule }
  }

  /**
   * The level of results that have none of their own: the highest of the rule and of what the scan had it changed to
   * (3.20.5). An override that names no rule counts for all.
   */
  levelOf(id: string, rule: Json | undefined): SarifLevel {
    const own = [
      rule?.['defaultConfiguration'],
      ...this.#overrides.filter((one) => this.#isOf(one, id, rule)).map(configurationOf),
    ]
    const levels = own.flatMap((one) => {
      const level = objectIn(one)?.['level']
      return level === undefined ? [] : [levelIn(level) ?? 'error']
    })
    return levels.toSorted((a, b) => SARIF_LEVELS.indexOf(a) - SARIF_LEVELS.indexOf(b))[0] ?? 'warning'
  }

  #isOf({ descriptor }: Json, id: string, rule: Json | undefined): boolean {
    const { rule: named, id: ofOverride } = this.of({ rule: descriptor })
    if (named !== undefined) return named === rule
    return (
      !isObject(descriptor) ||
      textIn(descriptor['id']) === undefined ||
      id === ofOverride ||
      id.startsWith(`${ofOverride}/`)
    )
  }

  /** The id of a result can have parts after that of its rule (3.27.5). */
  #named(id: string | undefined): Json | undefined {
    const parts = id?.split('/') ?? []
    const ids = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'))
    return ids.map((one) => this.#byId.get(one)).find((rule) => rule !== undefined)
  }
}

/** By the operator, outside of the scanned files, and by no suppression that is not accepted (3.27.23, 3.35). */
function isSuppressed({ suppressions }: Json): boolean {
  const all = objectsIn(suppressions)
  const areAccepted = all.every(({ status }) => status === undefined || status === 'accepted')
  return areAccepted && all.some(({ kind }) => kind === 'external')
}

function messageOf(result: Json, rule: Json | undefined): string {
  const message = objectIn(result['message'])
  const short = objectIn(rule?.['shortDescription'])
  return textIn(message?.['text']) ?? textIn(message?.['markdown']) ?? textIn(short?.['text']) ?? 'no message'
}

function placeOf(result: Json, run: Json): Pick<ScanResult, 'file' | 'line'> {
  const [location] = objectsIn(result['locations'])
  const physical = objectIn(location?.['physicalLocation'])
  const artifact = objectIn(physical?.['artifactLocation'])
  const index = artifact?.['index']
  const listed =
    typeof index === 'number' ? objectIn(objectIn(listIn(run['artifacts'])[index])?.['location']) : undefined
  const line = objectIn(physical?.['region'])?.['startLine']
  return {
    file: textIn(artifact?.['uri']) ?? textIn(listed?.['uri']),
    line: Number.isSafeInteger(line) ? Number(line) : undefined,
  }
}

function configurationOf({ configuration }: Json): unknown {
  return configuration
}

function levelIn(value: unknown): SarifLevel | undefined {
  return SARIF_LEVELS.find((level) => level === value)
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function objectsIn(value: unknown): readonly Json[] {
  return listIn(value).filter(isObject)
}

function objectIn(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
