import type { Revision } from './revision.ts'

/**
 * The last target of a followed ref. The served revision can be another: that of a hold or a rollback, or none. A move
 * is judged by this target, so that no detour around the served revision avoids the brakes.
 */
export interface TrackedRef {
  readonly url: string
  readonly revision: Revision
  /** The number of offered skills. */
  readonly skills: number
}
