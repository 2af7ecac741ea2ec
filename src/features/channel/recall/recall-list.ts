import { z } from 'zod'
import { parseJson } from '../../../base/json-value.ts'
import { MOST_RECALLS, PUBLISHED_RECALL } from '../../../sync/model/decisions/published-recall.ts'
import type { PublishedRecall } from '../../../sync/model/decisions/published-recall.ts'
import { putJson, textOf } from '../../../sync/store/objects/json-object.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'

const LIST = z.object({ recalls: z.array(PUBLISHED_RECALL).max(MOST_RECALLS) })

/** Parses the list of recalls that a head names; `undefined` if it is none, or if an id is not that of its recall. */
export function parseRecallList(bytes: Uint8Array): readonly PublishedRecall[] | undefined {
  return LIST.safeParse(parseJson(textOf(bytes))).data?.recalls
}

/** Stores a list of recalls. Equal lists are one object. */
export async function keepRecallList(objects: ObjectStore, recalls: readonly PublishedRecall[]): Promise<Digest> {
  return putJson(objects, { recalls })
}
