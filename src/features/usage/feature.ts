import type { Feature } from '../../daemon/cli/feature.ts'

/** The counts of the use of skills. */
export const usageFeature: Feature<unknown> = {
  commands: { usage: async () => (await import('./usage.ts')).usageCommand },
  async surfaces() {
    const { usageView } = await import('./usage-view.ts')
    return {
      pages: {
        '/usage': async (view) =>
          view.isAdmitted && view.host.uses ? usageView(view, await view.host.uses()) : undefined,
      },
    }
  },
}
