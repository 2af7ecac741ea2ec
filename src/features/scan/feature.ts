import type { Feature } from '../../daemon/cli/feature.ts'
import type { ScannedDaemon } from './scan-families.ts'
import type { ScanParts } from './scan-request.ts'

/** The scanner of the gate, on what is served. */
export const scanFeature: Feature<ScanParts & ScannedDaemon> = {
  items: async () => (await import('./scan-items.ts')).scanItems,
  requests: async () => [(await import('./scan-request.ts')).scanRequest],
  async surfaces() {
    const { scanFamilies } = await import('./scan-families.ts')
    return { families: scanFamilies }
  },
}
