import { hash } from 'node:crypto'
import { configText } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { ChannelSettings } from '../channel/channel-config.ts'
import type { PublicationSettings } from '../marketplace/publication-config.ts'
import type { RingSettings } from '../rings/ring-config.ts'
import type { GateSettings } from '../scan/gate-config.ts'

/** Returns a digest of the part of the configuration that decides what the leader of a hub publishes. */
export function hubConfigDigest(
  config: Config & RingSettings & ChannelSettings & PublicationSettings & GateSettings,
): string {
  const { follow, packs, rings, packBudgets, channel, publications, gate, lockUse, lockFrom, retention } = config
  const { skill, frontmatter, fetch } = config.limits
  const rules = {
    packs,
    packBudgets,
    channel,
    publications,
    gate,
    lockUse,
    lockFrom,
    retention,
    skill,
    frontmatter,
    fetch,
  }
  // A hub that follows another one takes its sources from there, and can add one at any time.
  const sources = follow === undefined ? config.sources : undefined
  return hash('sha256', configText({ sources, follow, ...rules, ...(rings.length > 0 && { rings }) }))
}
