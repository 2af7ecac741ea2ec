import { z } from 'zod'
import { abortable } from '../../base/async/abortable.ts'
import { defineRequest, NOTHING, paramsOfSource } from '../../daemon/control/request.ts'
import type { McpDecisions } from './mcp-decisions.ts'

export interface FileParts {
  readonly mcpDecisions: McpDecisions
}

/** Fetches a file into the store, and verifies it. */
export const bringRequest = defineRequest({
  name: 'bring',
  checks: 'mode',
  params: paramsOfSource({ path: z.string(), file: z.string() }),
  answer: NOTHING,
  run: async ({ mcpDecisions }: FileParts, { source, path, file }, { signal }) =>
    abortable(mcpDecisions.bring(source, path, file), signal),
})

/** Checks a skill once more that was withheld because its bytes differed. */
export const recheckRequest = defineRequest({
  name: 'recheck',
  isForLeader: true,
  params: paramsOfSource({ path: z.string() }),
  answer: NOTHING,
  run: async ({ mcpDecisions }: FileParts, { source, path }) => mcpDecisions.recheck(source, path),
})

/** Approves a skill as it is declared. */
export const approveSkillRequest = defineRequest({
  name: 'approve-skill',
  isForLeader: true,
  params: paramsOfSource({ path: z.string(), declaration: z.string() }),
  answer: z.object({ isNew: z.boolean() }),
  run: async ({ mcpDecisions }: FileParts, { source, path, declaration }, { by }) => ({
    isNew: await mcpDecisions.approve(source, path, declaration, by),
  }),
})
