import { z } from 'zod'
import { isSourceId } from '../../sync/model/source-id.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { HubSourceIds } from '../../sync/store/hub-sources.ts'
import { defineRequest, paramsOf } from './request.ts'

const IDS = z.array(z.custom<SourceId>((id) => typeof id === 'string' && isSourceId(id))).readonly()

/** Follows the log of the hub now, if one is followed as a whole. Returns the sources after that. */
export const followRequest = defineRequest({
  name: 'follow',
  isForLeader: true,
  isOfProcess: true,
  params: paramsOf({}),
  answer: z.object({ sources: IDS, gone: IDS }),
  run: async ({ followHub }: { readonly followHub: (signal: AbortSignal) => Promise<HubSourceIds> }, _, { signal }) =>
    followHub(signal),
})
