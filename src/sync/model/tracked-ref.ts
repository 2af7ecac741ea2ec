import type { Revision } from './revision.ts'

/**
 * Where a ref last led that was followed. What is served can be something else: a pin, a rollback, or nothing. A move is
 * judged by this, so that no way around what is served is a way around the brakes.
 */
export interface Followed {
  readonly url: string
  readonly revision: Revision
  /** How many skills there were that anybody is offered. */
  readonly skills: number
}
