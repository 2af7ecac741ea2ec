import type { Feature } from '../../daemon/cli/feature.ts'

/** The counts of the use of skills. */
export const usageFeature: Feature<unknown> = {
  pages: {
    '/usage': async (view) => {
      const { host, isAdmitted } = view
      return isAdmitted && host.uses ? (await import('./usage-view.ts')).usageView(view, await host.uses()) : undefined
    },
  },
  commands: { usage: async () => (await import('./usage.ts')).usageCommand },
}
