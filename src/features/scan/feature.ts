import type { AskedParty, Feature } from '../../daemon/cli/feature.ts'
import type { GatedConfig } from './gate-config.ts'
import type { ScannedDaemon } from './scan-families.ts'
import type { ScanParts } from './scan-request.ts'

/** The scanner of the gate, on what is served. */
export const scanFeature: Feature<ScanParts & ScannedDaemon, GatedConfig> = {
  variants: { 'verify --scan': async () => (await import('./scan.ts')).printScan },
  checks: async () => ({ asked: askedGate }),
  status: async () => ({ lines: (await import('./scans-lines.ts')).scansLines }),
  items: async () => (await import('./scans-lines.ts')).scanItems,
  requests: async () => [(await import('./scan-request.ts')).scanRequest],
  async surfaces() {
    const { scanFamilies } = await import('./scan-families.ts')
    return { families: scanFamilies }
  },
}

function askedGate({ gate }: GatedConfig): readonly AskedParty[] {
  if (gate === undefined) return []
  const { asked } = gate
  return [asked.kind === 'address' ? { ...asked, use: 'the gate' } : { ...asked, kind: 'program', use: 'the gate' }]
}
