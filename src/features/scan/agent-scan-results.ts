import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { NotScannedError } from './sarif-results.ts'
import type { ScanResult } from './sarif-results.ts'

/**
 * Returns the issues in the output of `snyk-agent-scan scan --json`, which has no SARIF: a result for each path with
 * `issues` and an `error` (https://github.com/snyk/agent-scan/blob/main/src/agent_scan/models.py). Throws `NotScannedError`
 * for any other text, and if a path was not scanned.
 */
export function agentScanResultsIn(text: string): readonly ScanResult[] {
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
