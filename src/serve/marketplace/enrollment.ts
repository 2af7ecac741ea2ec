import { shellWord } from '../../base/text/shell-word.ts'

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

/** An agent that takes a marketplace. */
export interface EnrolledAgent {
  /** The name in commands. */
  readonly id: string
  readonly title: string
  /** The steps of one person. */
  readonly person: (marketplace: MarketplaceAddress) => readonly EnrollmentStep[]
  /** The files for all users of a Linux machine; absent if the agent has none. */
  readonly organization?: (marketplace: MarketplaceAddress) => readonly EnrollmentStep[]
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
    organization: (marketplace) => [
      json('/etc/claude-code/managed-settings.json', {
        ...managedSettings(marketplace),
        strictKnownMarketplaces: [{ source: 'hostPattern', hostPattern: hostPattern(marketplace) }],
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
    organization: (marketplace) => [
      { where: '/etc/codex/config.toml', text: codexConfig(marketplace) },
      { where: '/etc/codex/requirements.toml', text: codexRequirements(marketplace) },
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
      json('/etc/github-copilot/managed-settings.json', {
        ...managedSettings(marketplace),
        strictKnownMarketplaces: [{ source: 'git', url: marketplace.url }],
      }),
    ],
  },
  {
    id: 'vscode',
    title: 'VS Code',
    person: ({ url }) => [json('settings.json', { 'chat.plugins.marketplaces': [url] })],
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

function json(where: string, value: object): EnrollmentStep {
  return { where, text: JSON.stringify(value, undefined, 2) }
}

/** The keys that Claude Code and Copilot share. */
function managedSettings({ url, name, plugins }: MarketplaceAddress) {
  return {
    extraKnownMarketplaces: { [name]: { source: { source: 'git', url }, autoUpdate: true } },
    enabledPlugins: Object.fromEntries(plugins.map((plugin) => [`${plugin}@${name}`, true])),
  }
}

function hostPattern({ url }: MarketplaceAddress): string {
  return `^${new URL(url).hostname.replaceAll(/[.[\]]/g, String.raw`\$&`)}$`
}

function codexConfig({ url, name, plugins }: MarketplaceAddress): string {
  return [
    `[marketplaces.${name}]`,
    'source_type = "git"',
    `source = ${JSON.stringify(url)}`,
    ...plugins.flatMap((plugin) => ['', `[plugins."${plugin}@${name}"]`, 'enabled = true']),
  ].join('\n')
}

function codexRequirements(marketplace: MarketplaceAddress): string {
  return [
    '[marketplaces]',
    'restrict_to_allowed_sources = true',
    '',
    `[marketplaces.allowed_sources.${marketplace.name}]`,
    'source = "host_pattern"',
    `host_pattern = '${hostPattern(marketplace)}'`,
  ].join('\n')
}
