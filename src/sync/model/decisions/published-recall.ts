import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../base/canonical-json.ts'
import type { SourceId } from '../source-id.ts'

/**
 * An order of an operator that a content is served nowhere: not at this hub, and not at the followers of its channel.
 * Only `id`, `at` and `contents` are known to each follower; the rest may name what it must not see.
 */
export interface Recall {
  /** `recallIdOf` the rest. */
  readonly id: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** Digests of skills, and SHA-256 of their SKILL.md; sorted, and at least one. */
  readonly contents: readonly string[]
  /** Absent if the reader may not have it. */
  readonly reason?: string
  /** The name of the log in which it was first, as the hub says; absent if it was made here. */
  readonly by?: string
}

/** A place of a skill by the ids and paths of the hub that publishes it. */
export interface PublishedPlace {
  readonly source: SourceId
  readonly path: string
  readonly servedPath?: string
  readonly name?: string
}

/** A recall as the channel of a hub has it. */
export interface PublishedRecall extends Recall {
  readonly places: readonly PublishedPlace[]
  /** The time at which it ended, ISO 8601, UTC. One that is absent from a later list goes on. */
  readonly revoked?: string
}

/** The identity of a recall, by the parts that every reader gets: 64 lower-case hex digits. */
export function recallIdOf({ at, contents }: Pick<Recall, 'at' | 'contents'>): string {
  return createHash('sha256').update(canonicalJson({ at, contents })).digest('hex')
}

/**
 * The most recalls of one list, and in force here of one hub; of those that ended, the oldest are left out first.
 */
export const MOST_RECALLS = 1_024

/** The most digests of one recall. */
export const MOST_CONTENTS = 64

/** The most characters of a reason. */
export const MOST_REASON = 500

/** The most places of a recall that are published: the first one, and the newest. */
export const MOST_PUBLISHED_PLACES = 16
