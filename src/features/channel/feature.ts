import type { Feature } from '../../daemon/cli/feature.ts'
import type { ChannelHubConfig, ChannelSettings } from './channel-config.ts'
import type { ChannelFigures } from './channel-families.ts'
import type { ChannelHost } from './channel-routes.ts'
import type { LogParts } from './log-requests.ts'
import type { RecallFigures } from './recall/recall-families.ts'
import type { RecallParts } from './recall/recall-requests.ts'

interface Measured {
  readonly config: ChannelSettings
  readonly channels: ChannelHost & { readonly figures: readonly ChannelFigures[] }
  readonly recalls: { readonly figures: RecallFigures }
}

/** Channels: what a hub serves, signed and logged, for daemons that follow it; witnesses of the log, and recalls. */
export const channelFeature: Feature<LogParts & RecallParts & Measured, ChannelHubConfig> = {
  commands: {
    'hub channel': async () => (await import('./channel.ts')).channel,
    'hub witness': async () => (await import('./witness.ts')).witness,
  },
  variants: {
    'hub export --proof': async () => (await import('./export-proof.ts')).exportProof,
    'verify --log': async () => (await import('./log-checks.ts')).checkLogs,
    'verify --proof': async () => (await import('./check-proof.ts')).checkProof,
  },
  folders: async () => ({ of: ({ channelFolders }) => channelFolders.map(({ to: path }) => ({ path })) }),
  writeLockProofs: async (...asked) => (await import('./lock-proofs.ts')).writeLockProofs(...asked),
  status: async () => ({ lines: (await import('./channel-items.ts')).channelLines }),
  items: async () => (await import('./channel-items.ts')).channelItems,
  async requests() {
    const [recalls, log] = await Promise.all([import('./recall/recall-requests.ts'), import('./log-requests.ts')])
    return [
      recalls.recallRequest,
      recalls.revokeRecallRequest,
      recalls.recallReachRequest,
      log.logProofRequest,
      log.checkLogRequest,
      log.checkpointRequest,
    ]
  },
  async surfaces() {
    const [{ channelFamilies }, { channelRoutes }, { recallFamilies }] = await Promise.all([
      import('./channel-families.ts'),
      import('./channel-routes.ts'),
      import('./recall/recall-families.ts'),
    ])
    return {
      families: ({ channels, recalls }) => [...channelFamilies(channels.figures), ...recallFamilies(recalls.figures)],
      open: () => ({
        routesOf: ({ config, channels }) =>
          config.channel === undefined ? [] : [(site) => channelRoutes(channels, site)],
      }),
    }
  },
}
