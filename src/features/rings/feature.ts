import type { Feature } from '../../daemon/cli/feature.ts'
import type { RingStatus } from './ring-status.ts'

/** Rings: groups of clients that get new commits one after the other. */
export const ringsFeature: Feature<{ readonly rings: { readonly status: readonly RingStatus[] } }> = {
  commands: {
    rings: async () => (await import('./rings.ts')).ringsCommand,
    promote: async () => (await import('./promote.ts')).promote,
    hold: async () => (await import('./promote.ts')).hold,
    unhold: async () => (await import('./promote.ts')).unhold,
  },
  pages: {
    '/rings': async (view) => {
      const { host, isAdmitted } = view
      return isAdmitted && host.rings ? (await import('./rings-view.ts')).ringsView(view, host.rings()) : undefined
    },
  },
  families: async ({ rings }) => (await import('./ring-families.ts')).ringFamilies(rings.status),
}
