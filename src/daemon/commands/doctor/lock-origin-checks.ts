import { readFollowedLock } from '../../../features/lock-repository/followed-lock.ts'
import { isPassing } from '../../../sync/model/sync-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult, DoctorCheck, Ground } from '../../cli/check.ts'
import { lockOriginStatusOf, lockOriginText } from '../../status/lock-text.ts'

/** Checks that the newest lock of its repository is in force, as far as the daemon knows. */
export function lockOriginChecks({ config }: Ground): DoctorCheck[] {
  const { lockFrom, state } = config
  if (lockFrom === undefined) return []
  const look = async (): Promise<CheckResult[]> => {
    const { ok, warn, fail } = verdicts('lock-origin')
    const origin = lockOriginStatusOf(lockFrom, await readFollowedLock(state))
    const { commit, condition } = origin
    const text = lockOriginText(origin)
    if (condition !== undefined) {
      const message = `${text}; ${condition.code}: ${condition.message}`
      return [isPassing(condition.code) ? warn(message, condition.mend) : fail(message, condition.mend)]
    }
    return [commit === undefined ? warn(text, 'The daemon takes it when it runs: skillsyncd start') : ok(text)]
  }
  return [{ name: 'lock-origin', look }]
}
