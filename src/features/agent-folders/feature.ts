import type { Feature } from '../../daemon/cli/feature.ts'
import type { LinkParts } from './link-requests.ts'

/** Skills in the folders of agents. */
export const agentFoldersFeature: Feature<LinkParts> = {
  commands: {
    link: async () => (await import('./link.ts')).link,
  },
  async requests() {
    const all = await import('./link-requests.ts')
    return [all.linkRequest, all.unlinkRequest]
  },
}
