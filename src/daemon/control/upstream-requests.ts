import { z } from 'zod'
import { isObjectId } from '../../sync/model/revision.ts'
import type { Candidates } from '../pull/candidates.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { defineRequest, paramsOfSource } from './request.ts'

interface UpstreamParts {
  readonly candidates: Candidates
}

const ID = z.string().refine(isObjectId)

/** Returns the revision that the ref of a source points to now. Fetches nothing. */
export const revisionRequest = defineRequest({
  name: 'revision',
  params: paramsOfSource(),
  answer: z.object({ ref: z.string(), commit: ID, tag: ID.optional() }),
  run: async ({ candidates }: UpstreamParts, { source }, { signal }) => candidates.revision(source, signal),
})

/** Takes the upstream state of a source, or its state at one commit, into the store. It is not served. */
export const candidateRequest = defineRequest({
  name: 'candidate',
  params: paramsOfSource({ commit: z.string().optional() }),
  answer: z.object({ snapshot: z.string() }),
  async run({ candidates }: UpstreamParts, { source, commit }, { signal }) {
    if (commit !== undefined && !isObjectId(commit))
      throw new OperatorError('unknown-commit', `"${commit}" is not a full commit id`)
    return (await candidates.take(source, commit, signal)).held
  },
})

const REVISION = z.object({ ref: z.string(), commit: z.string(), tag: z.string().optional() })

/** Compares the upstream state of a source with what is served. Changes nothing. */
export const compareRequest = defineRequest({
  name: 'compare',
  params: paramsOfSource(),
  answer: z.object({
    served: REVISION.optional(),
    revision: REVISION,
    relation: z.enum(['descends', 'rewritten', 'unknown']).optional(),
    isGone: z.boolean().optional(),
  }),
  run: async ({ candidates }: UpstreamParts, { source }, { signal }) => candidates.compare(source, signal),
})

/** Has another reader fetch the served commit of a source again. Returns the files that differ; nothing if nothing is served. */
export const secondOpinionRequest = defineRequest({
  name: 'second-opinion',
  params: paramsOfSource(),
  answer: z
    .discriminatedUnion('kind', [
      z.object({
        by: z.string(),
        kind: z.literal('compared'),
        files: z.number(),
        differences: z
          .array(z.object({ skill: z.string().optional(), path: z.string(), message: z.string() }))
          .readonly(),
        more: z.number(),
        unread: z.array(z.string()).readonly().optional(),
      }),
      z.object({ by: z.string(), kind: z.literal('not-compared'), why: z.string() }),
    ])
    .nullish()
    .transform((opinion) => opinion ?? undefined),
  run: async ({ candidates }: UpstreamParts, { source }, { signal }) => candidates.secondOpinion(source, signal),
})
