import type { Feature } from '../../daemon/cli/feature.ts'
import type { PublicationFigures } from './publication-families.ts'

interface Measured {
  readonly publications: { readonly figures: readonly PublicationFigures[] }
}

/** The plugin marketplace: a git remote, branches that are pushed, and the settings of agents that read them. */
export const marketplaceFeature: Feature<Measured> = {
  commands: {
    enroll: async () => (await import('./enrollment/enroll.ts')).enroll,
    marketplace: async () => (await import('./marketplace.ts')).marketplaceCommand,
    publish: async () => (await import('./publish.ts')).publish,
  },
  async surfaces() {
    const { publicationFamilies } = await import('./publication-families.ts')
    return { families: ({ publications }) => publicationFamilies(publications.figures) }
  },
}
