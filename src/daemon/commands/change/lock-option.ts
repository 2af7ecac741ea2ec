import { resolve } from 'node:path'
import type { Context } from '../../cli/command.ts'
import type { Config } from '../../config/config.ts'
import { lockFileOf } from '../../pull/trust/lock-rules.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'

/** The option of the commands that change a lock. */
export const LOCK_OPTION = {
  type: 'string',
  value: 'FILE',
  help: 'the lock to change, such as skills.lock in a clone; default: that of the configuration',
  offers: 'files',
} as const

/** The configuration with the lock that the operator names, in place of its own. */
export function withLockOption<Whole extends Config>({ values }: Context, config: Whole): Whole {
  const { lock } = values
  if (typeof lock !== 'string') return config
  if (lock === '') throw new UsageError('--lock names no file')
  return { ...config, lock: resolve(lock), lockFrom: undefined }
}

/** The lock that a command changes. Throws for one that is followed from a repository: only that may change it. */
export function changedLockOf(config: Config): string {
  const { lockFrom } = config
  if (lockFrom === undefined) return lockFileOf(config)
  const { path, repository } = lockFrom
  throw new OperatorError(
    'lock-of-repository',
    `Cannot change the lock: it is followed from ${repository.source.url}; change "${path}" there, in a clone: skillsyncd update --lock ${path}, then commit and merge it`,
  )
}
