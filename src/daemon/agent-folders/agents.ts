import { join } from 'node:path'
import type { Environment } from '../config/environment.ts'
import type { Links, Use } from './link-record.ts'

/** An agent that reads skills from folders. */
export interface Agent {
  readonly id: string
  readonly title: string
  /** What is there where the agent is installed; absent for what is no program. */
  readonly home?: (environment: Environment) => string
  /** The user's own skills. */
  readonly user: (environment: Environment) => string
  /** The skills of a project, relative to it. */
  readonly project: string
  /** The agents whose folders it reads too: a skill that is linked in both, it may show twice. */
  readonly alsoReads: readonly string[]
  /** What is known against links. */
  readonly caution?: string
}

/**
 * Where agents look. All of them take a link to a skill's folder for the folder; a link in the place of `skills` itself is
 * another matter (openai/codex#11314, anthropics/claude-code#38051), so it is each skill that is linked. Who calls a skill
 * after its folder, and who after its `name`, makes no difference: the two are the same here.
 *
 * Claude Code: code.claude.com/docs/en/skills; one level deep (anthropics/claude-code#18192); changes are seen while it runs.
 * `CLAUDE_CONFIG_DIR` moves it (vercel-labs/skills, src/agents.ts).
 * Codex: codex-rs/core-skills/src/loader.rs: `$CODEX_HOME/skills` is deprecated, links to folders are followed, SKILL.md itself
 * must be a file, six levels deep; it knows a skill by the path that the link leads to.
 * Cursor: cursor.com/docs/skills; `name` must be that of the folder. Versions of early 2026 did not follow links
 * (vercel-labs/skills#105, vercel-labs/agent-skills#82), its SDK not later either (forum.cursor.com/t/161855).
 * Gemini CLI: packages/core/src/skills/skillLoader.ts and skillManager.ts: one level deep, by `name`, `.agents/skills` before its
 * own, with a warning where both have a name; a project's only where the folder is trusted. `GEMINI_CLI_HOME` moves it.
 * `.agents/skills`: agentskills.io, for all clients that share it.
 */
export const AGENTS: readonly Agent[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    home: ({ agents }) => agents.claude,
    user: ({ agents }) => join(agents.claude, 'skills'),
    project: '.claude/skills',
    alsoReads: [],
  },
  {
    id: 'codex',
    title: 'Codex',
    home: ({ agents }) => agents.codex,
    user: ({ home }) => join(home, '.agents', 'skills'),
    project: '.agents/skills',
    alsoReads: [],
  },
  {
    id: 'cursor',
    title: 'Cursor',
    home: ({ home }) => join(home, '.cursor'),
    user: ({ home }) => join(home, '.cursor', 'skills'),
    project: '.cursor/skills',
    alsoReads: ['agents', 'codex', 'claude-code'],
    caution: 'versions of early 2026 did not follow links; --copy is for those',
  },
  {
    id: 'gemini-cli',
    title: 'Gemini CLI',
    home: ({ agents }) => agents.gemini,
    user: ({ agents }) => join(agents.gemini, 'skills'),
    project: '.gemini/skills',
    alsoReads: ['agents', 'codex'],
  },
  {
    id: 'agents',
    title: '.agents/skills',
    user: ({ home }) => join(home, '.agents', 'skills'),
    project: '.agents/skills',
    alsoReads: [],
  },
]

/** What else one has to know of a folder where these have skills linked or copied. */
export function cautionsFor(uses: readonly Use[], copies: boolean, { folders }: Links): readonly string[] {
  const everywhere = [...folders.values()].flatMap((folder) => folder.uses)
  return uses.flatMap(({ agent: id, project }) => {
    const agent = AGENTS.find((candidate) => candidate.id === id)
    const twice = everywhere.filter((use) => use.project === project && agent?.alsoReads.includes(use.agent) === true)
    return [
      ...(copies || agent?.caution === undefined ? [] : [`${agent.title}: ${agent.caution}`]),
      ...twice.map((use) => `${agent?.title} reads the folder of ${use.agent} too: it may show each skill twice`),
    ]
  })
}

/** The folder of an agent: the user's, or that of one project. */
export function folderOf(agent: Agent, project: string | undefined, environment: Environment): string {
  return project === undefined ? agent.user(environment) : join(project, agent.project)
}
