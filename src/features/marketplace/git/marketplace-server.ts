import type { FeatureServer, ServerParts } from '../../../daemon/cli/feature.ts'
import type { Serving } from '../../../serve/mcp/core/methods.ts'
import { viewOfRing } from '../../../serve/view.ts'
import type { MarketplaceSettings } from '../marketplace-config.ts'
import { Marketplaces } from '../marketplaces.ts'
import type { MarketplaceHost, MarketplaceParts } from '../marketplaces.ts'
import { marketplaceRoutes } from './marketplace-routes.ts'

/** The parts of a daemon that serves the marketplace. */
export interface MarketplaceServerParts {
  readonly config: MarketplaceSettings
  readonly marketplace: Omit<MarketplaceHost, 'config'>
}

/** Serves the marketplace as a git remote. What was written for clients outlives a reload. */
export function marketplaceServer({ registry, now, onError }: ServerParts): FeatureServer<MarketplaceServerParts> {
  const marketplaces = new Marketplaces(registry)
  return {
    routesOf: ({ config, marketplace: host }) => [
      ({ serving, holderOf, nothingHere }) => {
        const { marketplace } = config.serve
        marketplaces.use(marketplace && { ...host, config: marketplace, ...servedFrom(serving), now })
        marketplaces.prepare(onError)
        return marketplace === undefined ? {} : marketplaceRoutes(marketplaces, holderOf, nothingHere)
      },
    ],
    [Symbol.asyncDispose]: async () => marketplaces[Symbol.asyncDispose](),
  }
}

function servedFrom({ registry, read, packs }: Serving): Pick<MarketplaceParts, 'catalogIn' | 'read' | 'packs'> {
  const views = packs?.views
  return {
    catalogIn: (ring) => (views?.registryOf(viewOfRing(ring)) ?? registry).catalog,
    read,
    packs: () => views?.packs ?? [],
  }
}
