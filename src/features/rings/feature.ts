import type { Feature } from '../../daemon/cli/feature.ts'
import type { RingHubConfig } from './ring-config.ts'
import type { RingParts } from './ring-requests.ts'

/** Rings: groups of clients that get new commits one after the other. */
export const ringsFeature: Feature<RingParts, RingHubConfig> = {
  commands: { promote: async () => (await import('./promote.ts')).promote },
  variants: { 'status --rings': async () => (await import('./rings.ts')).printRings },
  async status() {
    const [{ ringLines }, { storedRings }] = await Promise.all([import('./ring-lines.ts'), import('./stored-rings.ts')])
    return { lines: ringLines, stored: storedRings }
  },
  items: async () => (await import('./ring-lines.ts')).ringItems,
  async requests() {
    const all = await import('./ring-requests.ts')
    return [all.ringsRequest, all.promoteRequest]
  },
  async surfaces() {
    const [{ ringsView }, { ringFamilies }] = await Promise.all([
      import('./rings-view.ts'),
      import('./ring-families.ts'),
    ])
    return {
      pages: {
        '/rings': async (view) => (view.isAdmitted && view.host.rings ? ringsView(view, view.host.rings()) : undefined),
      },
      families: ({ rings }) => ringFamilies(rings.status),
    }
  },
}
