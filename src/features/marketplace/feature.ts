import type { Feature } from '../../daemon/cli/feature.ts'
import type { MarketplaceServerParts } from './git/marketplace-server.ts'
import type { PublishParts } from './publish-request.ts'

/** The plugin marketplace: a git remote, branches that are pushed, and the settings of agents that read them. */
export const marketplaceFeature: Feature<PublishParts & MarketplaceServerParts> = {
  commands: {
    'hub enroll': async () => (await import('./enrollment/enroll.ts')).enroll,
    'hub publish': async () => (await import('./publish.ts')).publish,
  },
  variants: { 'list --plugins': async () => (await import('./marketplace.ts')).printPlugins },
  status: async () => ({ lines: (await import('./publication-lines.ts')).publicationLines }),
  items: async () => (await import('./publication-lines.ts')).publicationItems,
  requests: async () => [(await import('./publish-request.ts')).publishRequest],
  async surfaces() {
    const [{ publicationFamilies }, { connectSection }, { marketplaceServer }] = await Promise.all([
      import('./publication-families.ts'),
      import('./connect-section.ts'),
      import('./git/marketplace-server.ts'),
    ])
    return {
      sections: ({ config: { serve } }) => (serve.marketplace === undefined ? [] : [connectSection(serve.marketplace)]),
      families: ({ publications }) => publicationFamilies(publications.figures),
      open: marketplaceServer,
    }
  },
}
