import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isDiskError } from '../../../sync/store/files/disk-error.ts'
import { AGENTS } from '../../agent-folders/agents.ts'
import type { Agent } from '../../agent-folders/agents.ts'
import type { Recording } from '../../agent-folders/apply-plan.ts'
import { whyNotUsed } from '../../base/disk-error-text.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { Context, Operands, Option } from '../command.ts'
import type { AskWriter } from '../daemon-client.ts'

export const AGENT_OPERANDS: Operands = {
  text: '[AGENT…]',
  most: Number.POSITIVE_INFINITY,
  offers: [AGENTS.map(({ id }) => id)],
}

export const PROJECT_OPTION: Option = {
  type: 'string',
  value: 'DIR',
  help: "the folder of this project, not the user's own",
  offers: 'folders',
}

export const DRY_RUN_OPTION: Option = { type: 'boolean', help: 'say what would be done, and do nothing' }

/** The named agents, without duplicates. */
export function agentsOf(operands: readonly string[]): readonly Agent[] {
  return [...new Set(operands)].map((id) => {
    const agent = AGENTS.find((candidate) => candidate.id === id)
    if (agent !== undefined) return agent
    throw new UsageError(`No agent is called "${id}"; there are ${AGENTS.map((known) => known.id).join(', ')}`)
  })
}

/** The folder of the named project, with links resolved; `undefined` for the user's own folders. */
export async function projectOf({ values }: Context): Promise<string | undefined> {
  const named = values['project']
  if (typeof named !== 'string') return undefined
  const mend = 'name the folder of a project'
  if (named === '') throw new UsageError(`--project "" names no folder; ${mend}`)
  try {
    const path = await realpath(resolve(named))
    if ((await stat(path)).isDirectory()) return path
  } catch (error) {
    if (!isDiskError(error)) throw error
    throw new UsageError(`Cannot use --project "${named}": ${whyNotUsed(error)}; ${mend}`, { cause: error })
  }
  throw new UsageError(`Cannot use --project "${named}": it is no folder; ${mend}`)
}

/** Sends the records of links to the writer. */
export function recordingOf(ask: AskWriter): Recording {
  return { put: (put) => ask('link', put), drop: (drop) => ask('unlink', drop) }
}
