import { isIPv6 } from 'node:net'
import { isMapping, parseJson } from '../../base/json-value.ts'
import { countOf } from '../../base/text/plural.ts'
import type { Config } from '../../daemon/config/config.ts'
import { ifHomeIsKnown } from '../../daemon/config/environment.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import { readBounded } from '../../daemon/runtime/plain-file.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { AGENTS, readersOf } from './agents.ts'
import type { Agent } from './agents.ts'
import { sourcesWithFolders } from './fetched-skills.ts'
import type { LinkedFolder, Links, Use } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'

/** The surroundings in which an agent may find a skill twice. */
export interface CautionGround {
  readonly config: Config
  readonly environment: Environment
  readonly links: Links
}

/** Warnings for a folder in which these agents have skills linked or copied. */
export async function cautionsFor(
  { uses, copies }: Pick<LinkedFolder, 'uses' | 'copies'>,
  { config, environment, links: { folders } }: CautionGround,
): Promise<readonly string[]> {
  const everywhere = [...folders.values()].flatMap((folder) => folder.uses)
  const cautions = uses.map(async ({ agent: id, project }: Use) => {
    const agent = AGENTS.find((candidate) => candidate.id === id)
    if (agent === undefined) return []
    const { title, caution, alsoReads } = agent
    const twice = everywhere.filter((use) => use.project === project && alsoReads.includes(use.agent))
    const found = await serversOf(agent, environment)
    const isOurs = namesOf(config).some((name) => found?.text.includes(name))
    const hubs = isOurs ? [] : sourcesWithFolders(config).filter(({ url }) => found?.text.includes(url))
    return [
      ...(copies || caution === undefined ? [] : [`${title}: ${caution}`]),
      ...twice.map((use) => `${title} reads the folder of ${use.agent} too: it may show each skill twice`),
      ...(isOurs ? [`${title} has these skills over MCP too, by ${found?.file}: ${TWICE}`] : []),
      ...hubs.map(({ id }) => `${title} has the skills of ${id} over MCP too, by ${found?.file}: ${TWICE}`),
    ]
  })
  return (await Promise.all(cautions)).flat()
}

/** The skills of a folder that its agents do not show, a line for each agent and reason. */
export function omissionsIn(
  uses: readonly Use[],
  skills: readonly { readonly name: string; readonly skill: Linkable }[],
): readonly string[] {
  const readers = new Set(uses.flatMap(({ agent }) => readersOf(agent)))
  return [...readers].flatMap(({ title, omits }) => {
    const byReason = Map.groupBy(skills, ({ skill: { skill } }) => skill.frontmatter && omits?.(skill.frontmatter))
    return [...byReason].flatMap(([why, some]) =>
      why === undefined ? [] : [`${title} does not show ${firstNames(some)}: ${why}`],
    )
  })
}

function firstNames(skills: readonly { readonly name: string }[]): string {
  const left = skills.length - MOST_NAMED
  const names = skills.slice(0, MOST_NAMED).map(({ name }) => name)
  return `${names.join(', ')}${left > 0 ? ` and ${countOf(left, 'other skill')}` : ''}`
}

const MOST_NAMED = 8

const TWICE = 'it may show each twice; remove the server there, or the links (skillsyncd link --remove)'

/** The agent's file of MCP servers, and the servers that it names. `undefined` if it cannot be read. */
async function serversOf(
  agent: Agent,
  environment: Environment,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const file = ifHomeIsKnown(() => agent.mcp?.(environment))
  if (file === undefined) return undefined
  try {
    const bytes = (await readBounded(file, MOST_BYTES)) ?? new Uint8Array()
    const text = Buffer.from(bytes).toString()
    return { file, text: serversIn(parseJson(text)) ?? text }
  } catch (error) {
    if (isDiskError(error)) return undefined
    throw error
  }
}

/** Claude Code keeps its history in the same file. */
const MOST_BYTES = 2 ** 23

/** The servers in a JSON file, wherever they are in it, as JSON; `undefined` if it is not JSON, but TOML or JSONC. */
function serversIn(value: unknown): string | undefined {
  if (!isMapping(value)) return undefined
  const found = Object.entries(value).map(([key, inner]) =>
    SERVERS.has(key) ? JSON.stringify(inner) : (serversIn(inner) ?? ''),
  )
  return found.join('\n')
}

const SERVERS: ReadonlySet<string> = new Set(['mcpServers', 'servers', 'mcp'])

/** The name of the program, which `mcp` is started by, and the addresses of the daemon. */
function namesOf({ serve: { http } }: Config): readonly string[] {
  const addresses = [http.host, '127.0.0.1', 'localhost'].map(
    (host) => `//${isIPv6(host) ? `[${host}]` : host}:${http.port}/mcp`,
  )
  return ['skillsyncd', ...addresses, ...(http.publicUrl === undefined ? [] : [http.publicUrl])]
}
