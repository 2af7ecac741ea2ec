import type { Feature } from '../../daemon/cli/feature.ts'

/** Skills in the folders of agents. */
export const agentFoldersFeature: Feature<unknown> = {
  commands: {
    link: async () => (await import('./link.ts')).link,
    unlink: async () => (await import('./unlink.ts')).unlink,
  },
}
