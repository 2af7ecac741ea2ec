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
      const manifest = jsonOf(pluginManifest(plugin))
      return [
        [`plugins/${plugin.name}/plugin.json`, jsonOf({ $schema: AGENT_PLUGIN, ...pluginManifest(plugin) })],
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
    renames: renamesTo(new Set(plugins.map((plugin) => plugin.name)), renames),
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: `./plugins/${plugin.name}`,
      description: plugin.description,
      version: plugin.version,
    })),
  }
}

/** The renames that lead to one of these plugins: a caller learns no other names. */
function renamesTo(plugins: ReadonlySet<string>, renames: MarketplaceConfig['renames']): Record<string, string> {
  const isServed = (name: string, steps = 0): boolean => {
    const next = renames[name]
    return (
      plugins.has(name) || (next !== undefined && steps <= Object.keys(renames).length && isServed(next, steps + 1))
    )
  }
  const served = Object.entries(renames).filter(([, name]) => isServed(name))
  return Object.fromEntries(served.toSorted(([a], [b]) => comparePaths(a, b)))
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

function pluginManifest({ name, version, description, owner }: Plugin) {
  return { name, version, description, author: { name: owner } }
}

function jsonOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
