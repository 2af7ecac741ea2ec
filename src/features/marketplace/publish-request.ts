import { z } from 'zod'
import { channelName, partOf } from '../../daemon/config/channel-names.ts'
import { defineRequest, paramsOf } from '../../daemon/control/request.ts'
import type { Publications } from './publish/publications.ts'

const BRANCH = { url: z.string(), branch: z.string(), pack: z.string().optional() }

const PUSHED = z.object({
  ...BRANCH,
  kind: z.enum(['pushed', 'unchanged', 'would-push']),
  commit: z.string().optional(),
  parent: z.string().optional(),
  tree: z.string(),
})

const FAILED = z.object({
  ...BRANCH,
  kind: z.literal('failed'),
  problem: z.object({ code: z.string(), message: z.string(), fix: z.string() }),
})

const WRITTEN = z.object({
  to: z.string(),
  pack: z.string().optional(),
  ring: z.string().optional(),
  entries: z.number(),
  objects: z.number(),
  isNew: z.boolean(),
})

const END = z.union([PUSHED, FAILED, WRITTEN])

/** The end of a push to a branch, or of a channel that was written. */
export type PublishEnd = z.infer<typeof END>
/** The end of a channel that was written to a folder. */
export type ChannelWritten = z.infer<typeof WRITTEN>

export interface PublishParts {
  readonly channels: {
    publish(
      folder: Pick<ChannelWritten, 'to' | 'pack' | 'ring'>,
      signal: AbortSignal,
    ): Promise<Pick<ChannelWritten, 'entries' | 'objects' | 'isNew'>>
  }
  readonly publications: Publications
}

/** Pushes the marketplace, or with `to` writes the channel to a folder. Rejects if nothing can be published. */
export const publishRequest = defineRequest({
  name: 'publish',
  isForLeader: true,
  params: paramsOf({
    to: z.string().optional(),
    git: z.string().optional(),
    branch: z.string().optional(),
    pack: z.string().optional(),
    ring: z.string().optional(),
    dry: z.boolean(),
  }),
  answer: z.array(END).readonly(),
  async run({ channels, publications }: PublishParts, { to, git: url, branch, pack, ring, dry }, { signal }) {
    if (to !== undefined) {
      const { entries, objects, isNew } = await channels.publish({ to, pack, ring }, signal)
      return [{ to, ...partOf(channelName({ pack, ring })), entries, objects, isNew }]
    }
    const named = url === undefined ? undefined : { url, branch, pack }
    return publications.publish({ named, isDry: dry }, signal)
  },
})
