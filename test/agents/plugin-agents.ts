import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { AgentHome } from './agents.ts'
import type { ModelApi } from './model-api.ts'

/** An agent that installs plugins, as its commands and its folders are used in tests. */
export interface PluginAgent {
  readonly title: string
  /** Adds a marketplace, and installs one plugin of it. */
  install(home: AgentHome, url: string, plugin: string): Promise<void>
  /** Brings the plugin to what the marketplace has now. */
  update(home: AgentHome, plugin: string): Promise<void>
  /** Starts a session. Returns all that the model is sent. */
  prompt(home: AgentHome, api: ModelApi): Promise<string>
  /** Returns the skills that a prompt names, each with its description, in order. Skills of the agent's own are left out. */
  skillsIn(prompt: string): readonly string[]
  /** The folder of an installed plugin. */
  folder(home: AgentHome, plugin: string): Promise<string>
}

/** The descriptions of the tests begin with this word, and those of the agents' own skills do not. */
const OURS = /^About /

export const CLAUDE_CODE: PluginAgent = {
  title: 'Claude Code',
  async install(home, url, plugin) {
    await home.run('claude', 'plugin', 'marketplace', 'add', url)
    await home.run('claude', 'plugin', 'install', plugin)
  },
  async update(home, plugin) {
    await home.run('claude', 'plugin', 'marketplace', 'update', marketplaceOf(plugin))
    await home.run('claude', 'plugin', 'update', plugin)
  },
  async prompt(home, api) {
    Object.assign(home.env, { ANTHROPIC_BASE_URL: api.origin, ANTHROPIC_API_KEY: 'dummy' })
    // Without this, a session that answers one prompt does not wait for the plugins of its settings.
    Object.assign(home.env, { CLAUDE_CODE_SYNC_PLUGIN_INSTALL: '1' })
    await home.run('claude', '-p', 'hi')
    return api.taken()
  },
  skillsIn: (prompt) => ours(prompt.matchAll(/^- ([\w:-]+): (.+)$/gm)),
  async folder(home, plugin) {
    const installed = await readFile(join(home.path, '.claude/plugins/installed_plugins.json'), 'utf8')
    return JSON.parse(installed).plugins[plugin][0].installPath
  },
}

export const CODEX: PluginAgent = {
  title: 'Codex',
  async install(home, url, plugin) {
    await home.run('codex', 'plugin', 'marketplace', 'add', url)
    await home.run('codex', 'plugin', 'add', plugin)
  },
  async update(home, plugin) {
    await home.run('codex', 'plugin', 'marketplace', 'upgrade', marketplaceOf(plugin))
  },
  async prompt(home) {
    const prompt = await home.run('codex', 'debug', 'prompt-input', 'hi')
    return prompt.replaceAll(String.raw`\n`, '\n')
  },
  skillsIn: (prompt) => ours(prompt.matchAll(/^- ([\w:-]+): (.+) \(file: .+\)$/gm)),
  async folder(home, plugin) {
    const [name = '', marketplace = ''] = plugin.split('@')
    const versions = join(home.path, '.codex/plugins/cache', marketplace, name)
    // It keeps the folder of the version that it uses, and no other one.
    return join(versions, (await readdir(versions)).join())
  },
}

export const COPILOT: PluginAgent = {
  title: 'Copilot',
  async install(home, url, plugin) {
    await home.run('copilot', 'plugin', 'marketplace', 'add', url)
    await home.run('copilot', 'plugin', 'install', plugin)
  },
  async update(home) {
    await home.run('copilot', 'plugin', 'update', '--all')
  },
  async prompt(home, api) {
    const [type, url] = ['anthropic', api.origin]
    Object.assign(home.env, { COPILOT_PROVIDER_TYPE: type, COPILOT_PROVIDER_BASE_URL: url })
    Object.assign(home.env, { COPILOT_PROVIDER_API_KEY: 'dummy', COPILOT_MODEL: 'claude-sonnet-4.5' })
    await home.run('copilot', '-p', 'hi')
    return api.taken()
  },
  skillsIn: (prompt) => ours(prompt.matchAll(/<skill>\s*<name>([\w:-]+)<\/name>\s*<description>(.+)<\/description>/g)),
  async folder(home, plugin) {
    const [name = '', marketplace = ''] = plugin.split('@')
    return join(home.path, '.copilot/installed-plugins', marketplace, name)
  },
}

/** The agents that install plugins of marketplaces. */
export const PLUGIN_AGENTS: readonly PluginAgent[] = [CLAUDE_CODE, CODEX, COPILOT]

/** Returns the files of the skills of a plugin, as they are installed: their paths, each with its bytes. */
export async function installedFiles(folder: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(join(folder, 'skills'), { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const read = async (path: string) => [relative(folder, path), await readFile(path, 'latin1')] as const
  return Promise.all(paths.toSorted().map(read))
}

function marketplaceOf(plugin: string): string {
  return plugin.split('@')[1] ?? ''
}

function ours(found: Iterable<RegExpMatchArray>): readonly string[] {
  const named = Array.from(found, ([, name = '', description = '']) => ({ name, description }))
  const lines = named.filter(({ description }) => OURS.test(description))
  return [...new Set(lines.map(({ name, description }) => `${name}: ${description}`))].toSorted()
}
