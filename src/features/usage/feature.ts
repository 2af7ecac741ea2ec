import type { Feature } from '../../daemon/cli/feature.ts'
import type { MarketplaceSettings } from '../marketplace/marketplace-config.ts'
import type { CountedConfig, UsageSettings } from './usage-config.ts'

/** The counts of the use of skills. */
export const usageFeature: Feature<{ readonly config: MarketplaceSettings & UsageSettings }, CountedConfig> = {
  variants: { 'list --usage': async () => (await import('./usage.ts')).printUsage },
  async surfaces() {
    const [{ TelemetryLimits, telemetryRoutes }, { usageView }] = await Promise.all([
      import('./telemetry-limits.ts'),
      import('./usage-view.ts'),
    ])
    return {
      pages: {
        '/usage': async (view) =>
          view.isAdmitted && view.host.uses ? usageView(view, await view.host.uses()) : undefined,
      },
      open({ now }) {
        const limits = new TelemetryLimits(now)
        return {
          routesOf: ({ config: { usage, serve } }) =>
            usage?.otlp === true
              ? [(site) => telemetryRoutes({ ...site, marketplace: serve.marketplace, limits })]
              : [],
        }
      },
    }
  },
}
