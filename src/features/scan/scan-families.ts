import type { Family } from '../../daemon/status/metrics/family.ts'
import { SARIF_LEVELS } from '../../sync/store/scan-records.ts'
import type { ScansStatus } from './scan-run.ts'
import type { SourceScanStatus } from './source-scan.ts'

/** The scans of what is served. */
export interface ScanFigures {
  readonly status: ScansStatus
  readonly ofSources: readonly { readonly source: string; readonly scan: SourceScanStatus | undefined }[]
}

/** The metrics of the scanner of the gate; without samples if there is no scanner. */
export function scanFamilies(scans: ScanFigures | undefined): Family[] {
  const known = (scans?.ofSources ?? []).flatMap(({ source, scan }) => (scan === undefined ? [] : [{ source, scan }]))
  return [
    {
      name: 'skillsyncd_scan_findings',
      kind: 'gauge',
      help: 'Findings of the scanner in what is served of the source, by level.',
      samples: known.flatMap(({ source, scan }) =>
        SARIF_LEVELS.map((level) => ({ labels: { source, level }, value: scan.counts[level] })),
      ),
    },
    {
      name: 'skillsyncd_scan_contents',
      kind: 'gauge',
      help: 'Served contents of the source that have a scan.',
      samples: known.map(({ source, scan }) => ({ labels: { source }, value: scan.scanned })),
    },
    ofStatus(
      'skillsyncd_scan_held',
      '1 if scans refuse so many skills that an operator has to decide, else 0.',
      scans?.status,
      ({ held }) => Number(held !== undefined),
    ),
    ofStatus(
      'skillsyncd_scan_failing',
      '1 if the last scan of everything got no answer for some of it, else 0.',
      scans?.status,
      ({ error, last }) => Number(error !== undefined || (last?.failed ?? 0) > 0),
    ),
    ofStatus(
      'skillsyncd_scan_last_timestamp_seconds',
      'The end of the last scan of everything by this process, in seconds since 1970; 0 if there was none.',
      scans?.status,
      ({ last }) => (last === undefined ? 0 : Date.parse(last.at) / 1_000),
    ),
  ]
}

function ofStatus(
  name: string,
  help: string,
  status: ScansStatus | undefined,
  valueOf: (status: ScansStatus) => number,
): Family {
  return { name, kind: 'gauge', help, samples: status === undefined ? [] : [{ value: valueOf(status) }] }
}
