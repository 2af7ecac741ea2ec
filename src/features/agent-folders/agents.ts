import { join } from 'node:path'
import type { JsonObject } from '../../base/json-value.ts'
import type { UserFolders } from '../../daemon/config/environment.ts'

/** An agent that reads skills from folders. */
export interface Agent {
  readonly id: string
  readonly title: string
  /** A path that exists if the agent is installed. Absent if the entry is not a program. */
  readonly home?: (user: UserFolders) => string
  /** The user's own skills. */
  readonly user: (user: UserFolders) => string
  /** The skills of a project, relative to the project. */
  readonly project: string
  /** The file of the user's MCP servers, if it is at one place on every system. */
  readonly mcp?: (user: UserFolders) => string
  /** The agents whose folders this agent also reads. It may show a skill twice if both have it linked. */
  readonly alsoReads: readonly string[]
  /** A known problem with links. */
  readonly caution?: string
  /** The reason why the agent does not show a skill with this frontmatter; `undefined` if it does, or its rule is not known. */
  readonly omits?: (frontmatter: JsonObject) => string | undefined
}

/**
 * The folders that agents read. All agents follow a link to a skill's folder. A link instead of `skills` itself is less
 * reliable (openai/codex#11314, anthropics/claude-code#38051), so each skill is linked. Some agents name a skill after
 * its folder, others after its `name`; the two are equal here.
 *
 * Claude Code: code.claude.com/docs/en/skills; one level deep (anthropics/claude-code#18192); sees changes while it
 * runs. `CLAUDE_CONFIG_DIR` moves it (vercel-labs/skills, src/agents.ts).
 * Codex: codex-rs/core-skills/src/loader.rs: `$CODEX_HOME/skills` is deprecated, links to folders are followed,
 * SKILL.md itself must be a file, six levels deep; it identifies a skill by the path that the link leads to.
 * Cursor: cursor.com/docs/skills; `name` must be that of the folder. Versions of early 2026 did not follow links
 * (vercel-labs/skills#105, vercel-labs/agent-skills#82), and later versions of its SDK did not either
 * (forum.cursor.com/t/161855).
 * Gemini CLI: packages/core/src/skills/skillLoader.ts and skillManager.ts: one level deep, by `name`, `.agents/skills`
 * before its own, with a warning if both have a name; a project's skills only if the folder is trusted.
 * `GEMINI_CLI_HOME` moves it.
 * GitHub Copilot: docs.github.com/copilot, "Adding agent skills", for its CLI and its cloud agent.
 * VS Code: code.visualstudio.com/docs/agent-customization/agent-skills, and `DEFAULT_SKILL_SOURCE_FOLDERS` in
 * microsoft/vscode (promptFileLocations.ts): the folders of Copilot.
 * OpenCode: opencode.ai/docs/skills, and packages/opencode/src/skill/skill.ts: links are followed, at any depth.
 * `XDG_CONFIG_HOME` moves it.
 * Windsurf: docs.windsurf.com/windsurf/cascade/skills. It reads the folders of Claude Code only if a setting says so.
 * Antigravity: antigravity.google/docs/skills. Versions before 2026-07 read `~/.gemini/antigravity/skills`.
 * `.agents/skills`: agentskills.io, for all clients that share it.
 *
 * `omits` is as measured on 2026-11-28 with Copilot CLI 1.0.102 (`copilot skill list`; github/copilot-cli#3494) and Codex
 * 0.171.0 (`codex debug prompt-input`), and of Gemini CLI as in skillLoader.ts at 04fbf507. VS Code takes the name of the
 * folder and leaves out no such skill (promptsServiceImpl.ts at 00eacc90). Claude Code left out none.
 */
export const AGENTS: readonly Agent[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    home: ({ agents }) => agents.claude,
    user: ({ agents }) => join(agents.claude, 'skills'),
    project: '.claude/skills',
    mcp: ({ home, agents }) => join(agents.claude === join(home, '.claude') ? home : agents.claude, '.claude.json'),
    alsoReads: [],
  },
  {
    id: 'codex',
    title: 'Codex',
    home: ({ agents }) => agents.codex,
    user: ({ home }) => join(home, '.agents', 'skills'),
    project: '.agents/skills',
    mcp: ({ agents }) => join(agents.codex, 'config.toml'),
    alsoReads: [],
    omits: omittedByCodex,
  },
  {
    id: 'cursor',
    title: 'Cursor',
    home: ({ home }) => join(home, '.cursor'),
    user: ({ home }) => join(home, '.cursor', 'skills'),
    project: '.cursor/skills',
    mcp: ({ home }) => join(home, '.cursor', 'mcp.json'),
    alsoReads: ['agents', 'codex', 'claude-code'],
    caution: 'versions of early 2026 did not follow links; --copy is for those',
  },
  {
    id: 'gemini-cli',
    title: 'Gemini CLI',
    home: ({ agents }) => agents.gemini,
    user: ({ agents }) => join(agents.gemini, 'skills'),
    project: '.gemini/skills',
    mcp: ({ agents }) => join(agents.gemini, 'settings.json'),
    alsoReads: ['agents', 'codex'],
    omits: ({ description }) => (typeof description === 'string' ? undefined : 'it has no description'),
  },
  {
    id: 'copilot',
    title: 'GitHub Copilot',
    home: ({ home }) => join(home, '.copilot'),
    user: ({ home }) => join(home, '.copilot', 'skills'),
    project: '.github/skills',
    mcp: ({ home }) => join(home, '.copilot', 'mcp-config.json'),
    alsoReads: ['agents', 'codex', 'claude-code'],
    omits: omittedByCopilot,
  },
  {
    id: 'vscode',
    title: 'VS Code',
    home: ({ home }) => join(home, '.vscode'),
    user: ({ home }) => join(home, '.copilot', 'skills'),
    project: '.github/skills',
    alsoReads: ['agents', 'codex', 'claude-code'],
  },
  {
    id: 'opencode',
    title: 'OpenCode',
    home: ({ configHome }) => join(configHome, 'opencode'),
    user: ({ configHome }) => join(configHome, 'opencode', 'skills'),
    project: '.opencode/skills',
    mcp: ({ configHome }) => join(configHome, 'opencode', 'opencode.json'),
    alsoReads: ['agents', 'codex', 'claude-code'],
  },
  {
    id: 'windsurf',
    title: 'Windsurf',
    home: ({ home }) => join(home, '.codeium', 'windsurf'),
    user: ({ home }) => join(home, '.codeium', 'windsurf', 'skills'),
    project: '.windsurf/skills',
    mcp: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    alsoReads: ['agents', 'codex'],
  },
  {
    id: 'antigravity',
    title: 'Antigravity',
    home: ({ home }) => join(home, '.gemini', 'config'),
    user: ({ home }) => join(home, '.gemini', 'config', 'skills'),
    project: '.agents/skills',
    mcp: ({ home }) => join(home, '.gemini', 'config', 'mcp_config.json'),
    alsoReads: [],
  },
  {
    id: 'agents',
    title: '.agents/skills',
    user: ({ home }) => join(home, '.agents', 'skills'),
    project: '.agents/skills',
    alsoReads: [],
  },
]

/** Copilot counts UTF-16 units, the end of the line of a block among them. It takes the name of the folder if there is none. */
function omittedByCopilot({ name, description }: JsonObject): string | undefined {
  if (name !== undefined && name !== null) {
    if (typeof name !== 'string') return 'its name is not text'
    if (name.length > 64) return 'its name is over 64 characters'
    if (!/^[a-z\d][\w.: -]*$/i.test(name))
      return 'its name does not begin with a letter or digit, or has others than A-Z, a-z, 0-9, "-", "_", ".", ":" and spaces'
  }
  return typeof description === 'string' && description.length > 1024
    ? 'its description is over 1,024 characters'
    : undefined
}

/** Codex cuts a long description. It takes the name of the folder if there is none. */
function omittedByCodex({ name, description }: JsonObject): string | undefined {
  const nameInOne = typeof name === 'string' ? name.trim().replaceAll(/\s+/g, ' ') : ''
  if (Array.from(nameInOne).length > 64) return 'its name is over 64 characters'
  const isDescribed = typeof description === 'string' ? description.trim() !== '' : typeof description === 'number'
  return isDescribed ? undefined : 'it has no description'
}

/** The agents that the operator means by one of the table: itself, and for the shared folder each that reads it. */
export function readersOf(id: string): readonly Agent[] {
  return AGENTS.filter(
    (agent) => agent.id === id || (id === SHARED && (agent.id === 'codex' || agent.alsoReads.includes(SHARED))),
  )
}

const SHARED = 'agents'

/** The folder of an agent: the user's, or that of one project. */
export function agentFolderOf(agent: Agent, project: string | undefined, user: UserFolders): string {
  return project === undefined ? agent.user(user) : join(project, agent.project)
}
