import { comparePaths } from '../../sync/model/digest.ts'
import type { MarketplaceConfig, Plugin } from './plugins.ts'

/** The texts of the marketplace that are not files of skills, by their paths. Equal input gives equal bytes. */
export function manifestsOf(config: MarketplaceConfig, plugins: readonly Plugin[]): ReadonlyMap<string, Buffer> {
  return new Map([
    // Without this, git on Windows may change the ends of lines.
    ['.gitattributes', Buffer.from('* -text\n')],
    ['.claude-plugin/marketplace.json', jsonOf(claudeMarketplace(config, plugins))],
    ['.agents/plugins/marketplace.json', jsonOf(agentsMarketplace(config, plugins))],
    ['.cursor-plugin/marketplace.json', jsonOf(cursorMarketplace(config, plugins))],
    ...plugins.flatMap((plugin): (readonly [string, Buffer])[] => {
      const manifest = jsonOf(pluginManifest(config, plugin))
      return [
        [`plugins/${plugin.name}/plugin.json`, jsonOf({ $schema: AGENT_PLUGIN, ...pluginManifest(config, plugin) })],
        [`plugins/${plugin.name}/.claude-plugin/plugin.json`, manifest],
        [`plugins/${plugin.name}/.cursor-plugin/plugin.json`, manifest],
      ]
    }),
  ])
}

/** Agent Plugins 1.0.0: Codex takes no later version. */
const AGENT_PLUGIN = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json'

/** The format of Claude Code, which Copilot, VS Code, Codex and the `skills` CLI read too. */
function claudeMarketplace({ name, owner, description, renames }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    owner: { name: owner },
    description,
    forceRemoveDeletedPlugins: true,
    renames: Object.fromEntries(Object.entries(renames).toSorted(([a], [b]) => comparePaths(a, b))),
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: `./plugins/${plugin.name}`,
      description: plugin.description,
      version: plugin.version,
    })),
  }
}

/** The format of Codex. */
function agentsMarketplace({ name, owner }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    interface: { displayName: owner },
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: { source: 'local', path: `./plugins/${plugin.name}` },
      policy: { installation: 'AVAILABLE', authentication: 'ON_INSTALL' },
      category: 'Productivity',
    })),
  }
}

/** The format of Cursor, whose schema allows no further key. */
function cursorMarketplace({ name, owner, description }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    owner: { name: owner },
    metadata: { description },
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: `plugins/${plugin.name}`,
      description: plugin.description,
    })),
  }
}

function pluginManifest({ owner }: MarketplaceConfig, { name, version, description }: Plugin) {
  return { name, version, description, author: { name: owner } }
}

function jsonOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
