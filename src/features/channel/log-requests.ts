import { z } from 'zod'
import { channelName } from '../../daemon/config/channel-names.ts'
import { defineRequest, paramsOf, paramsOfSource } from '../../daemon/control/request.ts'
import type { Candidates } from '../../daemon/pull/candidates.ts'
import { CHECKPOINT_PATH } from './content/channel-entry.ts'
import type { Channels } from './publish/channels.ts'

export interface LogParts {
  readonly candidates: Candidates
  readonly channels: Channels
}

/** Returns the proof that the log of a channel has the entry of what is served of it. */
export const logProofRequest = defineRequest({
  name: 'log-proof',
  params: paramsOfSource(),
  answer: z.string(),
  run: async ({ candidates }: LogParts, { source }, { signal }) => candidates.prove(source, signal),
})

/** Reads the whole log of a channel. `other`: the checkpoint of another machine. */
export const checkLogRequest = defineRequest({
  name: 'check-log',
  params: paramsOfSource({ other: z.string().optional() }),
  answer: z.object({
    log: z.string(),
    entries: z.number(),
    first: z.string().optional(),
    last: z.string().optional(),
    served: z.object({ index: z.number(), at: z.string() }).optional(),
    unread: z.number(),
    findings: z.array(z.object({ code: z.string(), message: z.string() })).readonly(),
  }),
  event: z.object({ entries: z.number() }),
  run: async ({ candidates }: LogParts, { source, other }, { send, signal }) =>
    candidates.auditLog(source, other, (entries) => send({ entries }), signal),
})

/** Returns the checkpoint of a channel of this hub, if it has one. */
export const checkpointRequest = defineRequest({
  name: 'checkpoint',
  params: paramsOf({ pack: z.string().optional(), ring: z.string().optional() }),
  answer: z.string().nullable(),
  async run({ channels }: LogParts, part) {
    const note = await channels.read(channelName(part), CHECKPOINT_PATH)
    return note === undefined ? null : Buffer.from(note).toString('utf8')
  },
})
