import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { closestTo } from '../../base/text/closest.ts'
import type { Context, Operands, Option } from '../../daemon/cli/command.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { UNKNOWN_HOME, ifHomeIsKnown } from '../../daemon/config/environment.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { AGENTS, agentFolderOf } from './agents.ts'
import type { Agent } from './agents.ts'
import type { Recording } from './apply-plan.ts'
import { useOfFolder } from './link-record.ts'
import { linkRequest, unlinkRequest } from './link-requests.ts'
import type { LinkPlace } from './link-target.ts'
import { readLinks } from './links-file.ts'

export const AGENT_OPERANDS: Operands = {
  text: '[AGENT…]',
  most: Number.POSITIVE_INFINITY,
  offers: [AGENTS.map(({ id }) => id)],
}

export const PROJECT_OPTION: Option = {
  type: 'string',
  value: 'DIR',
  help: "use the folder of this project, not the user's",
  offers: 'folders',
}

export const TO_OPTION: Option = {
  type: 'string',
  multiple: true,
  value: 'DIR',
  help: 'use the folder DIR, for a program that reads skills from it; may be repeated',
  offers: 'folders',
}

/** True if the command line names an agent or a folder. */
export function namesPlaces({ operands, values }: Context): boolean {
  return operands.length > 0 || textsOf(values['to']).length > 0
}

/** The folders of the named agents, and those that are named by their paths. */
export async function placesOf(context: Context): Promise<readonly LinkPlace[]> {
  const project = await projectOf(context)
  const named = textsOf(context.values['to'])
  if (project !== undefined && context.operands.length === 0)
    throw new UsageError('--project wants the name of an agent; --to names the folder itself')
  const ofAgents = agentsOf(context.operands).map((agent) => ({
    use: { agent: agent.id, project },
    path: folderOf(agent, project, context),
  }))
  return [...ofAgents, ...(await Promise.all(named.map(placeNamed)))]
}

function folderOf(agent: Agent, project: string | undefined, { environment }: Context): string {
  const path = ifHomeIsKnown(() => agentFolderOf(agent, project, environment))
  if (path !== undefined) return path
  const message = `Cannot find the folder of ${agent.id}: ${UNKNOWN_HOME}; set HOME, or name the folder with --to`
  throw new OperatorError('no-home', message)
}

async function placeNamed(named: string): Promise<LinkPlace> {
  const mend = 'name a folder'
  if (named === '') throw new UsageError(`--to "" does not name a folder; ${mend}`)
  try {
    const path = await futurePath(resolve(named))
    return { use: useOfFolder(path), path }
  } catch (error) {
    if (!isDiskError(error)) throw error
    throw new UsageError(`Cannot use --to "${named}": ${whyNotUsed(error)}; ${mend}`, { cause: error })
  }
}

/** The values of an option that may be repeated. */
export function textsOf(values: unknown): readonly string[] {
  return Array.isArray(values) ? values.map(String) : []
}

/** The named agents, without duplicates. */
function agentsOf(operands: readonly string[]): readonly Agent[] {
  return [...new Set(operands)].map((id) => {
    const agent = AGENTS.find((candidate) => candidate.id === id)
    if (agent !== undefined) return agent
    throw unknownAgent(id)
  })
}

/** The folder of the named project, with links resolved; `undefined` for the user's own folders. */
async function projectOf({ values }: Context): Promise<string | undefined> {
  const named = values['project']
  if (typeof named !== 'string') return undefined
  const mend = 'name the folder of a project'
  if (named === '') throw new UsageError(`--project "" does not name a folder; ${mend}`)
  try {
    const path = await realpath(resolve(named))
    if ((await stat(path)).isDirectory()) return path
  } catch (error) {
    if (!isDiskError(error)) throw error
    throw new UsageError(`Cannot use --project "${named}": ${whyNotUsed(error)}; ${mend}`, { cause: error })
  }
  throw new UsageError(`Cannot use --project "${named}": it is not a folder; ${mend}`)
}

/** Sends the records of links to the writer of the state folder. */
export function recordingOf(ask: AskWriter, state: string): Recording {
  return {
    put: (put) => ask(linkRequest, put),
    drop: (drop) => ask(unlinkRequest, drop),
    known: async () => readLinks(state),
    atOnce: 100,
  }
}

function unknownAgent(id: string): UsageError {
  const ids = AGENTS.map((known) => known.id)
  const meant = ids.find((known) => known.startsWith(`${id}-`)) ?? closestTo(id, ids)
  const hint = meant === undefined ? '' : `did you mean ${meant}? `
  return new UsageError(`No agent is called "${printableLine(id)}"; ${hint}there are ${ids.join(', ')}`)
}
