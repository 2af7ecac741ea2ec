import type { Feature } from '../../daemon/cli/feature.ts'
import type { PublishParts } from './publish-request.ts'

/** The plugin marketplace: a git remote, branches that are pushed, and the settings of agents that read them. */
export const marketplaceFeature: Feature<PublishParts> = {
  commands: {
    enroll: async () => (await import('./enrollment/enroll.ts')).enroll,
    marketplace: async () => (await import('./marketplace.ts')).marketplaceCommand,
    publish: async () => (await import('./publish.ts')).publish,
  },
  requests: async () => [(await import('./publish-request.ts')).publishRequest],
  async surfaces() {
    const { publicationFamilies } = await import('./publication-families.ts')
    return { families: ({ publications }) => publicationFamilies(publications.figures) }
  },
}
