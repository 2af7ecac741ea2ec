import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { Context } from './command.ts'
import { isYes } from './confirm.ts'

export const SERVICE_UNIT = 'skillsyncd.service'
export const PLIST = 'dev.skillsyncd.plist'

/** The folder of the units of a user. */
export function userUnitFolder(configHome: string): string {
  return join(configHome, 'systemd', 'user')
}

/** The path at which launchd finds the property list. */
export function launchAgentPath(home: string): string {
  return join(home, 'Library', 'LaunchAgents', PLIST)
}

/** The text of this user's service; `undefined` if none is installed. */
export async function userService({ configHome, home }: Environment): Promise<string | undefined> {
  const path = process.platform === 'darwin' ? launchAgentPath(home) : join(userUnitFolder(configHome), SERVICE_UNIT)
  return unlessAbsent(readFile(path, 'utf8'))
}

/** True if a service manager runs for this user. */
function hasServiceManager({ runtime }: Environment): boolean {
  return process.platform === 'darwin' || (runtime !== undefined && existsSync(join(runtime, 'systemd')))
}

/** Asks a person on a terminal whether to install the service of this user, if there is none, and installs it. */
export async function offerService(context: Context, { file, state }: Config): Promise<void> {
  const { environment, commands } = context
  const known = commands.get('service')
  if (known === undefined || !hasServiceManager(environment) || (await userService(environment)) !== undefined) return
  if (!(await isYes(context, 'Run the daemon in the background from now on (service install --user --now)?'))) return
  const service = await known.load()
  await service.run({ ...context, operands: ['install'], values: { user: true, now: true, config: file, state } })
}
