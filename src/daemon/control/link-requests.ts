import { z } from 'zod'
import type { LinkSync } from '../../features/agent-folders/link-sync.ts'
import { ENTRY, LINKED_SKILL, NAME, ONLY, USE } from '../../features/agent-folders/links-file.ts'
import type { ControlHandlers } from './control-server.ts'
import { parseParams } from './request-params.ts'

/** The requests of a running daemon about agents' folders. `check` validates each request. */
export function linkHandlers(linking: LinkSync, check: (params: unknown) => unknown): ControlHandlers {
  return {
    async link(params) {
      check(params)
      return linking.put(parseParams(PUT, params))
    },
    async unlink(params) {
      check(params)
      await linking.drop(parseParams(DROP, params))
      return null
    },
  }
}

const PUT = z.object({
  folder: z.string(),
  uses: z.array(USE),
  made: z.array(z.string()),
  copies: z.boolean(),
  only: ONLY.optional(),
  skills: z.array(LINKED_SKILL.extend({ ...ENTRY.shape, name: NAME })),
})

const DROP = z.object({ folder: z.string(), uses: z.array(USE), names: z.array(NAME) })
