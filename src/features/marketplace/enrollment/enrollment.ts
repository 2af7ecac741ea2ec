import type { JsonObject } from '../../../base/json-value.ts'
import { jsonText, tomlText } from '../../../base/settings/settings-edit.ts'
import type { JsonMember, TomlTable } from '../../../base/settings/settings-edit.ts'
import { shellWord } from '../../../base/text/shell-word.ts'

/** A marketplace as agents are given it. */
export interface MarketplaceAddress {
  /** The URL of the git remote; it ends in `.git`. */
  readonly url: string
  readonly name: string
  /** The plugins to install, at least one. */
  readonly plugins: readonly string[]
  readonly isTokenRequired: boolean
}

/** One step to enroll an agent: a text for a shell, or for a file. */
export interface EnrollmentStep {
  /** `Shell`, or the file. */
  readonly where: string
  readonly text: string
}

/** The settings that enroll an agent. Its file may have others. */
export type EnrolledSettings =
  | { readonly format: 'json'; readonly members: readonly JsonMember[] }
  | { readonly format: 'toml'; readonly tables: readonly TomlTable[] }

/** A file for all users of a Linux machine. */
export interface ManagedFile {
  readonly path: string
  readonly settings: EnrolledSettings
}

/** An agent that takes a marketplace. */
export interface EnrolledAgent {
  /** The name in commands. */
  readonly id: string
  readonly title: string
  /** The steps of one person. */
  readonly person: (marketplace: MarketplaceAddress) => readonly EnrollmentStep[]
  /** The settings of one person with the effect of these steps; absent if the agent has none that are known to work. */
  readonly settings?: (marketplace: MarketplaceAddress) => EnrolledSettings
  /** The files for all users of a Linux machine; absent if the agent has none. */
  readonly organization?: (marketplace: MarketplaceAddress) => readonly ManagedFile[]
}

/** The agents that read plugin marketplaces. A new one is an entry. */
export const ENROLLED_AGENTS: readonly EnrolledAgent[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    person: ({ url, name, plugins }) => [
      shell(
        `claude plugin marketplace add ${shellWord(url)}`,
        ...plugins.map((plugin) => `claude plugin install ${plugin}@${name}`),
      ),
    ],
    settings: (marketplace) => ({ format: 'json', members: pluginMembers(marketplace) }),
    organization: (marketplace) => [
      managedJson('/etc/claude-code/managed-settings.json', marketplace, {
        source: 'hostPattern',
        hostPattern: hostPattern(marketplace),
      }),
    ],
  },
  {
    id: 'codex',
    title: 'Codex',
    person: ({ url, name, plugins }) => [
      shell(
        `codex plugin marketplace add ${shellWord(url)}`,
        ...plugins.map((plugin) => `codex plugin add ${plugin}@${name}`),
      ),
    ],
    settings: codexSettings,
    organization: (marketplace) => [
      { path: '/etc/codex/config.toml', settings: codexSettings(marketplace) },
      { path: '/etc/codex/requirements.toml', settings: codexRequirements(marketplace) },
    ],
  },
  {
    id: 'copilot',
    title: 'Copilot CLI',
    person: ({ url, name, plugins }) => [
      shell(
        `copilot plugin marketplace add ${shellWord(url)}`,
        ...plugins.map((plugin) => `copilot plugin install ${plugin}@${name}`),
      ),
    ],
    organization: (marketplace) => [
      managedJson('/etc/github-copilot/managed-settings.json', marketplace, { source: 'git', url: marketplace.url }),
    ],
  },
  {
    id: 'vscode',
    title: 'VS Code',
    person: (marketplace) => [stepOf('settings.json', vscodeSettings(marketplace))],
    settings: vscodeSettings,
  },
  {
    id: 'gemini',
    title: 'Gemini CLI',
    person: ({ url, plugins }) => [
      shell(
        ...plugins.map((plugin) => `gemini skills install ${shellWord(url)} --path plugins/${plugin}/skills --consent`),
      ),
    ],
  },
  {
    id: 'cursor',
    title: 'Cursor',
    // Cursor's own servers fetch, and by its documents (June 2026) from GitHub alone.
    person: () => [
      shell('skillsyncd hub publish --git https://github.com/ORGANIZATION/REPOSITORY.git'),
      {
        where: 'Dashboard, by an admin of the team',
        text: 'Settings, Plugins, Team marketplaces: import ORGANIZATION/REPOSITORY',
      },
    ],
  },
]

/**
 * The step by which git gets the token: all agents use git, and this leaves no token in their settings. `undefined` if
 * none is needed.
 */
export function tokenStep({ url, isTokenRequired }: MarketplaceAddress): EnrollmentStep | undefined {
  if (!isTokenRequired) return undefined
  return { where: '~/.netrc', text: `machine ${new URL(url).hostname} login token password TOKEN` }
}

function shell(...commands: readonly string[]): EnrollmentStep {
  return { where: 'Shell', text: commands.join('\n') }
}

/** The settings as the text of a new file. */
export function stepOf(where: string, settings: EnrolledSettings): EnrollmentStep {
  return { where, text: settings.format === 'json' ? jsonText(settings.members) : tomlText(settings.tables) }
}

/** The keys that Claude Code and Copilot share. */
function pluginMembers({ url, name, plugins }: MarketplaceAddress): readonly JsonMember[] {
  const marketplace = { source: { source: 'git', url }, autoUpdate: true }
  return [
    { path: ['extraKnownMarketplaces', name], value: marketplace },
    ...plugins.map((plugin) => ({ path: ['enabledPlugins', `${plugin}@${name}`], value: true })),
  ]
}

/** `allowed`: the form in which the agent reads the addresses that it may take. */
function managedJson(path: string, marketplace: MarketplaceAddress, allowed: JsonObject): ManagedFile {
  const members = [...pluginMembers(marketplace), { path: ['strictKnownMarketplaces'], item: allowed }]
  return { path, settings: { format: 'json', members } }
}

function vscodeSettings({ url }: MarketplaceAddress): EnrolledSettings {
  return { format: 'json', members: [{ path: ['chat.plugins.marketplaces'], item: url }] }
}

function hostPattern({ url }: MarketplaceAddress): string {
  return `^${new URL(url).hostname.replaceAll(/[.[\]]/g, String.raw`\$&`)}$`
}

function codexSettings({ url, name, plugins }: MarketplaceAddress): EnrolledSettings {
  const marketplace = { path: ['marketplaces', name], values: { source_type: 'git', source: url } }
  const enabled = plugins.map((plugin) => ({ path: ['plugins', `${plugin}@${name}`], values: { enabled: true } }))
  return { format: 'toml', tables: [marketplace, ...enabled] }
}

function codexRequirements(marketplace: MarketplaceAddress): EnrolledSettings {
  const allowed = { source: 'host_pattern', host_pattern: hostPattern(marketplace) }
  return {
    format: 'toml',
    tables: [
      { path: ['marketplaces'], values: { restrict_to_allowed_sources: true } },
      { path: ['marketplaces', 'allowed_sources', marketplace.name], values: allowed },
    ],
  }
}
