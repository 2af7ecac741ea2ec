import { createRequire } from 'node:module'
import type * as Semver from 'semver'

const require = createRequire(import.meta.url)

/** Loaded with the first version that is read, which no start has to do; at once, since the checks of a value cannot wait. */
export function semver(): typeof Semver {
  const loaded: typeof Semver = require('semver')
  return loaded
}
