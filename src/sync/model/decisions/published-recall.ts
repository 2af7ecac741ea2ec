import { createHash } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson } from '../../../base/canonical-json.ts'
import { FORM_LIMITS, formProblem } from '../../skill/skill-path.ts'
import { DECIDED_AT, DECIDED_SOURCE } from './decided.ts'

/** The identity of a recall, by the parts that every reader gets: 64 lower-case hex digits. */
export function recallIdOf({ at, contents }: { readonly at: string; readonly contents: readonly string[] }): string {
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

export const SHA256_HEX = z.string().regex(/^[\da-f]{64}$/)

const PATH = z.string().refine((path) => path === '' || formProblem(path, FORM_LIMITS) === undefined)

/** A place of a skill by the ids and paths of the hub that publishes it. */
const PLACE = z
  .object({
    source: DECIDED_SOURCE,
    path: PATH,
    servedPath: PATH.exactOptional(),
    name: z.string().max(1_024).exactOptional(),
  })
  .readonly()

/**
 * A recall as the channel of a hub has it: an order of an operator that a content is served nowhere, not at this hub, and
 * not at the followers of its channel. Only `id`, `at` and `contents` are known to each follower; the rest may name what
 * it must not see.
 */
export const PUBLISHED_RECALL = z
  .object({
    id: SHA256_HEX,
    at: DECIDED_AT,
    /** Digests of skills, and SHA-256 of their SKILL.md; sorted. */
    contents: z.array(SHA256_HEX).min(1).max(MOST_CONTENTS).readonly(),
    reason: z.string().min(1).max(MOST_REASON).exactOptional(),
    /** The name of the log in which it was first, as the hub says. */
    by: z.string().min(1).max(256).exactOptional(),
    places: z.array(PLACE).max(MOST_PUBLISHED_PLACES).readonly(),
    /** The time at which it ended. One that is absent from a later list goes on. */
    revoked: DECIDED_AT.exactOptional(),
  })
  .refine((recall) => recall.id === recallIdOf(recall))
  .readonly()

export type PublishedPlace = z.infer<typeof PLACE>
export type PublishedRecall = z.infer<typeof PUBLISHED_RECALL>
