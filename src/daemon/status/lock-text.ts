import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import { mendOf } from '../../sync/model/sync-error.ts'
import type { FollowedLock } from '../../sync/store/followed-lock.ts'
import type { Config, LockOrigin } from '../config/config.ts'
import type { LockStanding } from '../pull/trust/lock-rules.ts'
import type { LockOriginStatus } from './status.ts'

/** The state of the lock for a source, as text; `undefined` if there is no lock to report. */
export function lockStandingText({ state, by, commit }: LockStanding): string | undefined {
  const at = commit === undefined ? '' : ` at ${commit.slice(0, 12)}`
  const why = by === undefined ? '' : ` (${by})`
  switch (state) {
    case 'followed':
      return `followed${why},${at}`
    case 'other-rules':
      return `followed,${at}; it was made for another selection of skills: skillsyncd update moves it`
    case 'differs':
      return `is for another configuration of the source${why},${at}`
    case 'absent':
      return `has nothing of the source${why}; skillsyncd lock adds it`
    case 'lost':
      return `has nothing of the source any more, which stays${at}`
    case 'ignored':
      return commit === undefined ? undefined : `not followed (lock: ignore); it has the source${at}`
    case 'overruled':
      return `not followed while the source is held; it has the source${at}`
    case 'unreadable':
      return `cannot be read${why}`
    case 'missing':
      return by === undefined ? undefined : `there is none${why}`
    default:
      return state satisfies never
  }
}

/** The use of a lock that a command wrote: it is followed from now on, unless the configuration says otherwise. */
export function lockUseText({ lockUse, sources }: Config): string {
  if (lockUse === 'follow') return 'what is in it is served, and skillsyncd update moves it'
  const locked = sources.filter(({ source }) => source.update === 'locked').map(({ source }) => source.id)
  return `not followed (lock: ignore), but with --locked${locked.length === 0 ? '' : `, and by ${locked.join(', ')}`}`
}

/** True if the source follows the lock. */
export function isFollowed({ state }: Pick<LockStanding, 'state'>): boolean {
  return state === 'followed' || state === 'other-rules'
}

/** The repository of a followed lock, and what is known of it. */
export function lockOriginStatusOf(origin: LockOrigin, { taken, problem }: FollowedLock = {}): LockOriginStatus {
  const { source } = origin.repository
  return {
    url: source.url,
    ...(typeof source.ref === 'string' && { ref: source.ref }),
    path: origin.path,
    ...(taken && { commit: taken.commit, at: taken.at }),
    ...(problem && { problem: { ...problem, fix: OWN_MENDS[problem.code] ?? problem.fix ?? mendOf(problem) } }),
  }
}

/** The repository of a followed lock, and the commit in force, as text. */
export function lockOriginText({ url, ref, path, commit }: LockOriginStatus): string {
  const at = commit === undefined ? 'no commit was taken yet' : `at ${commit}`
  return `${path} of ${ref === undefined ? '' : `${ref} of `}${url}, ${at}`
}

/** No command changes this lock: its repository does. */
const OWN_MENDS: Partial<Record<SyncErrorCode, string>> = {
  'history-rewritten':
    'Compare the two commits; restore the branch, or set `accept` below `lock.from` to the full id of the new one, and skillsyncd reload',
  'lock-mismatch': 'Correct the file in its repository; until then the earlier lock is in force',
  'limit-exceeded': 'Lock fewer skills',
}
