import { z } from 'zod'
import { defineRequest, NOTHING, paramsOf } from '../../daemon/control/request.ts'
import type { LinkSync } from './link-sync.ts'
import { ENTRY, LINKED_SKILL, NAME, ONLY, USE } from './links-file.ts'

export interface LinkParts {
  readonly linking: LinkSync
}

/** Records what is about to be put into a folder. Returns the names that stand for other skills. */
export const linkRequest = defineRequest({
  name: 'link',
  params: paramsOf({
    folder: z.string(),
    uses: z.array(USE).readonly(),
    made: z.array(z.string()).readonly(),
    copies: z.boolean(),
    only: ONLY.optional(),
    skills: z.array(LINKED_SKILL.extend({ ...ENTRY.shape, name: NAME })).readonly(),
  }),
  answer: z.object({ taken: z.array(z.object({ name: NAME, by: LINKED_SKILL })).readonly() }),
  run: async ({ linking }: LinkParts, put) => linking.put(put),
})

/** Records what was removed from a folder. */
export const unlinkRequest = defineRequest({
  name: 'unlink',
  params: paramsOf({ folder: z.string(), uses: z.array(USE).readonly(), names: z.array(NAME).readonly() }),
  answer: NOTHING,
  run: async ({ linking }: LinkParts, drop) => linking.drop(drop),
})
