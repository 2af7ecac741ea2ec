import type { Feature } from '../../daemon/cli/feature.ts'
import type { ScannedDaemon } from './scan-families.ts'

/** The scanner of the gate, on what is served. */
export const scanFeature: Feature<ScannedDaemon> = {
  commands: { scan: async () => (await import('./scan.ts')).scan },
  async surfaces() {
    const { scanFamilies } = await import('./scan-families.ts')
    return { families: scanFamilies }
  },
}
