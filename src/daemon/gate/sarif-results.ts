import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'

/** The levels of results, the worst first (SARIF 2.1.0, 3.27.10). */
export const SARIF_LEVELS = ['error', 'warning', 'note', 'none'] as const
export type SarifLevel = (typeof SARIF_LEVELS)[number]

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

/** The output of a scanner that is no SARIF, or says that the scan failed. */
export class NotScanned extends Error {
  override readonly name = 'NotScanned'
}

/**
 * Returns the results of a SARIF 2.1.0 log that need attention: failures that the operator has not suppressed. A
 * suppression inside of a scanned file does not count, since its author wrote it. Throws `NotScanned`.
 */
export function sarifResultsIn(text: string): readonly ScanResult[] {
  const log = parseJson(text)
  const runs = isObject(log) && log['version'] === '2.1.0' ? objectsIn(log['runs']) : []
  if (runs.length === 0) throw new NotScanned('its output is not a SARIF 2.1.0 log with a run')
  return runs.flatMap(resultsOf)
}

type Json = Readonly<Record<string, unknown>>

function resultsOf(run: Json): readonly ScanResult[] {
  const driver = objectIn(objectIn(run['tool'])?.['driver'])
  const tool = textIn(driver?.['name']) ?? 'scanner'
  const hasFailed = objectsIn(run['invocations']).some(({ executionSuccessful }) => executionSuccessful === false)
  if (hasFailed) throw new NotScanned(`${tool} reports that the scan failed`)
  // A run without results was not executed (3.14.23).
  if (!Array.isArray(run['results'])) throw new NotScanned(`${tool} reports no results, not even an empty list`)
  const rules = new Rules(driver)
  return objectsIn(run['results'])
    .filter((result) => isFailure(result) && !isSuppressed(result))
    .map((result) => {
      const { id, rule } = rules.of(result)
      const { file, line } = placeOf(result, run)
      const level = levelIn(result['level']) ?? levelIn(objectIn(rule?.['defaultConfiguration'])?.['level'])
      return { tool, rule: id, level: level ?? 'warning', message: messageOf(result, rule), file, line }
    })
}

/** The descriptions of the rules of a scanner. Results name one by its index or its id. */
class Rules {
  readonly #all: readonly Json[]
  readonly #byId: ReadonlyMap<unknown, Json>

  constructor(driver: Json | undefined) {
    this.#all = objectsIn(driver?.['rules'])
    this.#byId = new Map(this.#all.map((rule) => [rule['id'], rule]))
  }

  of(result: Json): { readonly id: string; readonly rule: Json | undefined } {
    const named = objectIn(result['rule'])
    const id = textIn(result['ruleId']) ?? textIn(named?.['id'])
    const index = result['ruleIndex'] ?? named?.['index']
    const rule = typeof index === 'number' ? this.#all[index] : this.#byId.get(id)
    return { id: id ?? textIn(rule?.['id']) ?? 'a rule without a name', rule }
  }
}

/** Other kinds are about what is in order, or does not apply (3.27.9). */
function isFailure({ kind, baselineState }: Json): boolean {
  return (kind === undefined || kind === 'fail') && baselineState !== 'absent'
}

/** By the operator, outside of the scanned files (3.35). */
function isSuppressed({ suppressions }: Json): boolean {
  return objectsIn(suppressions).some(
    ({ kind, status }) => kind === 'external' && (status === undefined || status === 'accepted'),
  )
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
  const listed = typeof index === 'number' ? objectIn(objectsIn(run['artifacts'])[index]?.['location']) : undefined
  const line = objectIn(physical?.['region'])?.['startLine']
  return {
    file: textIn(artifact?.['uri']) ?? textIn(listed?.['uri']),
    line: Number.isSafeInteger(line) ? Number(line) : undefined,
  }
}

function levelIn(value: unknown): SarifLevel | undefined {
  return SARIF_LEVELS.find((level) => level === value)
}

function objectsIn(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function objectIn(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
