import { ChannelUpstream } from '../features/channel/follow/channel-upstream.ts'
import type { FollowedParts } from '../features/channel/follow/channel-upstream.ts'
import { snapshotOfPublished } from '../features/channel/follow/published-snapshot.ts'
import { snapshotOfListing } from '../features/mcp-sources/listing/survey-listing.ts'
import type { McpConnections } from '../features/mcp-sources/mcp-connections.ts'
import { McpUpstream } from '../features/mcp-sources/upstream/mcp-upstream.ts'
import { openTreeUpstream } from '../sync/pull/open-upstream.ts'
import { configuredIn } from './config/config.ts'
import type { Config } from './config/config.ts'
import type { ReachingParts } from './pull/pull-context.ts'

/** The parts that outlive a pull of a source without trees. */
export interface SourceKindsParts {
  readonly config: Config
  readonly servers: Pick<McpConnections, 'at'>
  readonly followed: FollowedParts
}

/** The kinds of sources: how each is opened, and how a snapshot is made of one that has no trees. */
export function sourceKinds({
  config,
  servers,
  followed,
}: SourceKindsParts): Pick<ReachingParts, 'open' | 'snapshots'> {
  return {
    open(source, reach) {
      switch (source.kind) {
        case 'git':
        case 'directory':
          return openTreeUpstream(source, reach)
        case 'mcp':
          return new McpUpstream(source, { ...reach, server: servers.at(configuredIn(config, source.id), source) })
        case 'channel':
          return new ChannelUpstream(source, { ...reach, followed })
        default:
          return source satisfies never
      }
    },
    snapshots: { mcp: snapshotOfListing, channel: snapshotOfPublished },
  }
}
