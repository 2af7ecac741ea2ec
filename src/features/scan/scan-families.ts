import type { Config } from '../../daemon/config/config.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { Family } from '../../daemon/status/metrics/family.ts'
import { sourceScanOf } from '../../daemon/status/source-scan.ts'
import type { SourceScanStatus } from '../../daemon/status/source-scan.ts'
import type { ScansStatus } from '../../daemon/status/status.ts'
import type { Registry } from '../../serve/registry.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SARIF_LEVELS } from '../../sync/store/scan-records.ts'

/** The parts of a daemon that know its scans. */
export interface ScannedDaemon extends Pick<DaemonContext, 'store'> {
  readonly config: Config
  readonly registry: Registry
  readonly scans: { readonly status: ScansStatus | undefined }
}

/** The metrics of the scanner of the gate; without samples if there is no scanner. */
export function scanFamilies(daemon: ScannedDaemon): Family[] {
  const { status } = daemon.scans
  const known = status === undefined ? [] : knownScans(daemon)
  return [
    {
      name: 'skillsyncd_scan_findings',
      kind: 'gauge',
      help: 'Findings of the scanner in what is served, by level.',
      samples: known.flatMap(({ source, scan }) =>
        SARIF_LEVELS.map((level) => ({ labels: { source, level }, value: scan.counts[level] })),
      ),
    },
    {
      name: 'skillsyncd_scan_contents',
      kind: 'gauge',
      help: 'Served contents that have a scan.',
      samples: known.map(({ source, scan }) => ({ labels: { source }, value: scan.scanned })),
    },
    ofStatus(
      'skillsyncd_scan_waiting',
      '1 if scans refuse so many skills that an operator has to decide, else 0.',
      status,
      ({ waiting }) => Number(waiting !== undefined),
    ),
    ofStatus(
      'skillsyncd_scan_failing',
      '1 if the last scan of everything got no answer for some of it, else 0.',
      status,
      ({ error, last }) => Number(error !== undefined || (last?.failed ?? 0) > 0),
    ),
    ofStatus(
      'skillsyncd_scan_last_timestamp_seconds',
      'The end of the last scan of everything by this process; 0 if there was none.',
      status,
      ({ last }) => (last === undefined ? 0 : Date.parse(last.at) / 1_000),
    ),
  ]
}

interface KnownScan {
  readonly source: SourceId
  readonly scan: SourceScanStatus
}

/** The sources whose served contents have a scan, in the order of the configuration. */
function knownScans({ config, registry, store }: ScannedDaemon): readonly KnownScan[] {
  const { snapshots } = registry.catalog
  return config.sources.flatMap(({ source: { id: source } }) => {
    const snapshot = snapshots.find((one) => one.source === source)
    const scan = sourceScanOf(snapshot, store.scans.knownOf(source))
    return scan === undefined ? [] : [{ source, scan }]
  })
}

function ofStatus(
  name: string,
  help: string,
  status: ScansStatus | undefined,
  valueOf: (status: ScansStatus) => number,
): Family {
  return { name, kind: 'gauge', help, samples: status === undefined ? [] : [{ value: valueOf(status) }] }
}
