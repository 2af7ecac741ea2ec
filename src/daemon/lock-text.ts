import type { LockStanding } from './lock-rules.ts'

/** How a source stands to the lock, for people; undefined where there is nothing to say, since there is no lock. */
export function standingText({ state, by, commit }: LockStanding): string | undefined {
  const at = commit === undefined ? '' : ` at ${commit.slice(0, 12)}`
  const why = by === undefined ? '' : ` (${by})`
  switch (state) {
    case 'followed':
      return `followed${why},${at}`
    case 'ignored':
      return commit === undefined ? undefined : `not followed; it has the source${at}`
    case 'absent':
      return `has nothing of the source${why}`
    case 'differs':
      return `is for another configuration of the source${why},${at}`
    case 'unreadable':
      return `cannot be read${why}`
    case 'missing':
      return by === undefined ? undefined : `there is none${why}`
    default:
      return state satisfies never
  }
}
