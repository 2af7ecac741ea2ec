import { z } from 'zod'
import { homelessLinks, LINK_KEYS, linksOf } from '../features/agent-folders/link-config.ts'
import type { LinkSettings } from '../features/agent-folders/link-config.ts'
import { CHANNEL_KEYS, channelFoldersOf, channelOf } from '../features/channel/channel-config.ts'
import type { ChannelSettings } from '../features/channel/channel-config.ts'
import { MARKETPLACE_KEYS, marketplaceFaults, pluginFaults } from '../features/marketplace/marketplace-config.ts'
import type { MarketplaceSettings } from '../features/marketplace/marketplace-config.ts'
import { PUBLICATION_KEYS, publicationFaults, publicationsOf } from '../features/marketplace/publication-config.ts'
import type { PublicationSettings } from '../features/marketplace/publication-config.ts'
import { RING_KEYS, ringFaults, ringsOf } from '../features/rings/ring-config.ts'
import type { RingSettings } from '../features/rings/ring-config.ts'
import { GATE_KEYS, gateFaults, gateOf } from '../features/scan/gate-config.ts'
import type { GateSettings } from '../features/scan/gate-config.ts'
import { USAGE_KEYS } from '../features/usage/usage-config.ts'
import type { UsageSettings } from '../features/usage/usage-config.ts'
import { configReader } from './config/config-reader.ts'
import type { Config } from './config/config.ts'
import { CORE_KEYS, coreConfigOf, settlingOf } from './config/core-config.ts'
import { SERVE_KEYS } from './config/sections/serve.ts'

// The whole configuration: the keys of the core, and those of each feature.

const { sources, follow, defaults, packs, audit, programs, ...machine } = CORE_KEYS

/** Every key of skillsyncd.yaml, in the order of the reference. */
export const CONFIG = z.strictObject({
  sources,
  follow,
  defaults,
  serve: z
    .strictObject({ ...SERVE_KEYS, ...MARKETPLACE_KEYS })
    .prefault({})
    .describe('The server: addresses, access and forms of the skills.'),
  packs,
  ...RING_KEYS,
  ...LINK_KEYS,
  ...PUBLICATION_KEYS,
  ...CHANNEL_KEYS,
  ...machine,
  ...GATE_KEYS,
  audit,
  ...USAGE_KEYS,
  programs,
})

/** The whole configuration of a daemon. */
export type WholeConfig = RingSettings &
  Config &
  LinkSettings &
  PublicationSettings &
  MarketplaceSettings &
  ChannelSettings &
  GateSettings &
  UsageSettings

export const { readConfig, parseConfig, configOfSources } = configReader({
  schema: CONFIG,
  faults: [ringFaults, pluginFaults, marketplaceFaults, publicationFaults, gateFaults],
  missing: homelessLinks,
  configOf(file, place): WholeConfig {
    const settling = settlingOf(file, place)
    const { absolute } = settling
    const core = coreConfigOf(file, place, settling)
    return {
      ...core,
      serve: { ...core.serve, marketplace: file.serve.marketplace },
      rings: ringsOf(file),
      links: linksOf(file.links, absolute),
      publications: publicationsOf(file.publish, settling),
      channel: file.channel && channelOf(file.channel, settling),
      channelFolders: channelFoldersOf(file.publish, file.rings ?? [], absolute),
      gate: file.gate && gateOf(file.gate, absolute),
      usage: file.usage,
    }
  },
})
