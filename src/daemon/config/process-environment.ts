import { homedir, userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { environmentOf } from './environment.ts'
import type { Environment } from './environment.ts'

/** The environment of this process. Nothing else reads `process.env`. */
export function processEnvironment(): Environment {
  return environmentOf(process.env, ownHome())
}

/** `homedir` takes `HOME` as it is: of one that is empty or relative, all below would be in whatever folder we were started in. */
function ownHome(): string {
  const home = homedir()
  return isAbsolute(home) ? home : userInfo().homedir
}
