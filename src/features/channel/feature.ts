import type { Feature } from '../../daemon/cli/feature.ts'
import type { ChannelFigures } from './channel-families.ts'
import type { RecallFigures } from './recall/recall-families.ts'

interface Measured {
  readonly channels: { readonly figures: readonly ChannelFigures[] }
  readonly recalls: { readonly figures: RecallFigures }
}

/** Channels: what a hub serves, signed and logged, for daemons that follow it; witnesses of the log, and recalls. */
export const channelFeature: Feature<Measured> = {
  commands: {
    recall: async () => (await import('./recall/recall.ts')).recall,
    channel: async () => (await import('./channel.ts')).channel,
    witness: async () => (await import('./witness.ts')).witness,
  },
  async surfaces() {
    const [{ channelFamilies }, { recallFamilies }] = await Promise.all([
      import('./channel-families.ts'),
      import('./recall/recall-families.ts'),
    ])
    return {
      families: ({ channels, recalls }) => [...channelFamilies(channels.figures), ...recallFamilies(recalls.figures)],
    }
  },
}
