import type { Feature } from '../../daemon/cli/feature.ts'
import type { AdditionParts } from './addition-requests.ts'
import type { FileParts } from './file-requests.ts'

/** Other MCP servers as sources. */
export const mcpSourcesFeature: Feature<AdditionParts & FileParts> = {
  commands: {
    'mcp-source mirror': async () => (await import('./mirror.ts')).mirror,
    'mcp-source add': async () => (await import('./add.ts')).addUnlisted,
  },
  async requests() {
    const [files, additions] = await Promise.all([import('./file-requests.ts'), import('./addition-requests.ts')])
    return [
      files.bringRequest,
      files.recheckRequest,
      files.approveSkillRequest,
      additions.templatesRequest,
      additions.completeRequest,
      additions.resolveRequest,
      additions.addUriRequest,
      additions.measureRequest,
      additions.removeUriRequest,
    ]
  },
}
