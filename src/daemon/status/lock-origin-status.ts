import { mendOf } from '../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { FollowedLock, LockProblem } from '../../sync/store/followed-lock.ts'
import type { LockOrigin } from '../config/config.ts'
import type { LockOriginStatus } from './status.ts'

/** The repository of a followed lock, and what is known of it. */
export function lockOriginStatusOf(origin: LockOrigin, { taken, problem }: FollowedLock = {}): LockOriginStatus {
  const { source } = origin.repository
  return {
    url: source.url,
    ...(typeof source.ref === 'string' && { ref: source.ref }),
    path: origin.path,
    ...(taken && { commit: taken.commit, at: taken.at }),
    ...(problem && { condition: conditionOf(problem) }),
  }
}

/** The repository of a followed lock, and the commit in force, as text. */
export function lockOriginText({ url, ref, path, commit }: LockOriginStatus): string {
  const at = commit === undefined ? 'no commit was taken yet' : `at ${commit}`
  return `${path} of ${ref === undefined ? '' : `${ref} of `}${url}, ${at}`
}

function conditionOf(problem: LockProblem): NonNullable<LockOriginStatus['condition']> {
  return { ...problem, mend: OWN_MENDS[problem.code] ?? mendOf(problem.code) }
}

/** No command changes this lock: its repository does. */
const OWN_MENDS: Partial<Record<SyncErrorCode, string>> = {
  'history-rewritten':
    'Compare the two commits; restore the branch, or set `accept` below `lock.from` to the full id of the new one, and skillsyncd reload',
  'lock-mismatch': 'Correct the file in its repository; until then the earlier lock is in force',
  'limit-exceeded': 'Raise the limit that the message names, or lock fewer skills',
}
