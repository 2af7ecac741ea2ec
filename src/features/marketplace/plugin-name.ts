import { isWindowsDevice } from '../../base/paths.ts'

/** True for a name that every client of marketplaces takes: with another one, Copilot refuses the whole marketplace. */
export function isServedPluginName(name: string): boolean {
  return name.length <= MOST_NAME && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) && !isWindowsDevice(name)
}

/** True for a name that Claude Code takes from its maker alone, or gives a meaning of its own. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name) || name.startsWith('claudeai-')
}

/** The limit of the clients for the names of plugins and marketplaces. */
export const MOST_NAME = 64

const RESERVED: ReadonlySet<string> = new Set([
  'agent-skills',
  'anthropic-agent-skills',
  'anthropic-marketplace',
  'anthropic-plugin-directory',
  'anthropic-plugins',
  'builtin',
  'claude-code-marketplace',
  'claude-code-plugins',
  'claude-community',
  'claude-for-financial-services',
  'claude-for-legal',
  'claude-plugin-directory',
  'claude-plugins-community',
  'claude-plugins-official',
  'claude-tag-plugins',
  'financial-services-plugins',
  'first-party-plugins',
  'github',
  'healthcare',
  'inline',
  'knowledge-work-plugins',
  'life-sciences',
  'npm',
  'skills-dir',
  'synced',
])
