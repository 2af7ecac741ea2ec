import { z } from 'zod'
import { isTime } from '../../../base/canonical-json.ts'
import { parseJson } from '../../../base/json-value.ts'
import {
  MOST_CONTENTS,
  MOST_PUBLISHED_PLACES,
  MOST_REASON,
  MOST_RECALLS,
  recallIdOf,
} from '../../../sync/model/decisions/published-recall.ts'
import type { PublishedRecall } from '../../../sync/model/decisions/published-recall.ts'
import { isSourceId } from '../../../sync/model/source-id.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { FORM_LIMITS, formProblem } from '../../../sync/skill/skill-path.ts'
import { putJson, textOf } from '../../../sync/store/objects/json-object.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { isDigest } from '../../../sync/store/skills/stored-path.ts'

const DIGEST = z.string().refine(isDigest)
const TIME = z.string().refine(isTime)
const PATH = z.string().refine((path) => path === '' || formProblem(path, FORM_LIMITS) === undefined)

const PLACE = z.object({
  source: z.custom<SourceId>((value) => typeof value === 'string' && isSourceId(value)),
  path: PATH,
  servedPath: PATH.exactOptional(),
  name: z.string().max(1_024).exactOptional(),
})

const RECALL = z
  .object({
    id: DIGEST,
    at: TIME,
    contents: z.array(DIGEST).min(1).max(MOST_CONTENTS),
    reason: z.string().min(1).max(MOST_REASON).exactOptional(),
    by: z.string().min(1).max(256).exactOptional(),
    places: z.array(PLACE).max(MOST_PUBLISHED_PLACES),
    revoked: TIME.exactOptional(),
  })
  .refine((recall) => recall.id === recallIdOf(recall))

const LIST = z.object({ recalls: z.array(RECALL).max(MOST_RECALLS) })

/** Parses the list of recalls that a head names; `undefined` if it is none, or if an id is not that of its recall. */
export function parseRecallList(bytes: Uint8Array): readonly PublishedRecall[] | undefined {
  return LIST.safeParse(parseJson(textOf(bytes))).data?.recalls
}

/** Stores a list of recalls. Equal lists are one object. */
export async function keepRecallList(objects: ObjectStore, recalls: readonly PublishedRecall[]): Promise<Digest> {
  return putJson(objects, { recalls })
}
