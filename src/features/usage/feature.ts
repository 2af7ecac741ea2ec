import type { Feature } from '../../daemon/cli/feature.ts'

/** The counts of the use of skills. */
export const usageFeature: Feature<unknown> = {
  commands: { usage: async () => (await import('./usage.ts')).usageCommand },
}
