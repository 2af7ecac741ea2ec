import { resolve } from 'node:path'
import type { Context } from '../../../daemon/cli/command.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { organizationFiles, personFile } from './enrolled-files.ts'
import type { EnrolledFile, EnrolledMachine } from './enrolled-files.ts'
import type { EnrolledAgent, MarketplaceAddress } from './enrollment.ts'

/** The marketplace, and the agents that take it. */
export interface Enrollment {
  readonly marketplace: MarketplaceAddress
  readonly agents: readonly EnrolledAgent[]
}

/** The files of the agents that have one, of a person or of an organization. */
export function enrolledFiles(context: Context, { marketplace, agents }: Enrollment): readonly EnrolledFile[] {
  const machine = machineOf(context)
  return context.values['organization'] === true
    ? agents.flatMap((agent) => organizationFiles(agent, marketplace, machine))
    : agents.flatMap((agent) => personFile(agent, marketplace, machine) ?? [])
}

/** The machine of the command line, or the image that `--root` names. */
export function machineOf({ environment, values }: Context): EnrolledMachine {
  const { root } = values
  if (root === '') throw new UsageError('--root names no folder')
  return { environment, platform: process.platform, root: typeof root === 'string' ? resolve(root) : undefined }
}
