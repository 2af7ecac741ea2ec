import type { Feature } from '../../daemon/cli/feature.ts'

/** Other MCP servers as sources. */
export const mcpSourcesFeature: Feature<unknown> = {
  commands: {
    'mcp-source mirror': async () => (await import('./mirror.ts')).mirror,
    'mcp-source templates': async () => (await import('./templates.ts')).templates,
    'mcp-source resolve': async () => (await import('./resolve.ts')).resolve,
    'mcp-source add-uri': async () => (await import('./add-uri.ts')).addUri,
  },
}
