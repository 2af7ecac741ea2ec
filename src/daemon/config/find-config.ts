import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
import { ifHomeIsKnown } from './environment.ts'
import type { Environment } from './environment.ts'
import { processEnvironment } from './process-environment.ts'
import { ConfigError } from './rules/config-error.ts'

/** The file to read: the named one, else the first that exists in the current folder, the user's and the system's. */
export async function findConfig(explicit?: string, environment = processEnvironment()): Promise<string> {
  const file = explicit === undefined ? await searchConfig(environment) : resolve(explicit)
  if (file !== undefined) return file
  const searched = configPlaces(environment)
    .map((place) => `"${place}"`)
    .join(', ')
  throw new ConfigMissingError(
    `Cannot find a configuration: there is none at ${searched}; skillsyncd add URL writes one, --config FILE names one`,
  )
}

/** No file is named, and none is at the usual places. */
export class ConfigMissingError extends ConfigError {}

/** The first configuration that exists in the current folder, the user's and the system's. `undefined` if none does. */
export async function searchConfig(environment: Environment): Promise<string | undefined> {
  for (const file of configPlaces(environment)) if (await exists(file)) return file
  return undefined
}

function configPlaces(environment: Environment): readonly string[] {
  const ofUser = ifHomeIsKnown(() => userConfigFile(environment)) ?? []
  return [join(process.cwd(), CONFIG_NAME), ofUser, join('/etc/skillsyncd', CONFIG_NAME)].flat()
}

/** The configuration of a user, whatever folder a command runs in. */
export function userConfigFile({ configHome }: Environment): string {
  return join(configHome, 'skillsyncd', CONFIG_NAME)
}

/** The name of a configuration that the search finds. */
const CONFIG_NAME = 'skillsyncd.yaml'

/** A file that cannot be checked counts as present: reading it reports the reason, while skipping would hide it. */
async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    return codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR'
  }
}
