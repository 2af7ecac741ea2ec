import { createRequire } from 'node:module'
import type * as Semver from 'semver'

const require = createRequire(import.meta.url)

/**
 * Loads semver with the first version that is read, which no start needs. Loads synchronously, since checks of a value
 * cannot wait.
 */
export function semver(): typeof Semver {
  const loaded: typeof Semver = require('semver')
  return loaded
}
