import type { Feature } from '../../daemon/cli/feature.ts'
import type { LinkingConfig } from './link-config.ts'
import type { LinkParts } from './link-requests.ts'

/** Skills in the folders of agents. */
export const agentFoldersFeature: Feature<LinkParts, LinkingConfig> = {
  commands: {
    link: async () => (await import('./link.ts')).link,
  },
  checks: async () => ({ ofMachine: (await import('./link-checks.ts')).linkChecks }),
  // Without it, what was put into agents' folders cannot be removed again.
  stateRecord: {
    check: 'links-damaged',
    read: async ({ state }) => (await import('./links-file.ts')).readLinks(state),
  },
  status: async () => ({ found: (await import('./folder-status.ts')).foundFolders }),
  folders: async () => ({ of: (await import('./link-config.ts')).writtenFolders }),
  sourceNotes: async () => ({ lines: (await import('./folder-status.ts')).unfollowedLines }),
  async surfaces() {
    const [{ AGENTS }, { foldersSection }] = await Promise.all([
      import('./agents.ts'),
      import('../../serve/page/connect-view.ts'),
    ])
    return { sections: () => [foldersSection(AGENTS.map(({ id }) => id))] }
  },
  async requests() {
    const all = await import('./link-requests.ts')
    return [all.linkRequest, all.unlinkRequest]
  },
}
