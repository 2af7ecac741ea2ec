import { z } from 'zod'
import { defineRequest, paramsOfSource } from '../../daemon/control/request.ts'
import { VERDICT_STATES } from '../../sync/model/verdict/verdict.ts'
import type { McpDecisions } from './mcp-decisions.ts'

export interface AdditionParts {
  readonly mcpDecisions: McpDecisions
}

const VALUES = z.record(z.string(), z.string()).readonly()

const ADDITION = z.object({
  source: z.string(),
  path: z.string(),
  upstream: z.string(),
  state: z.enum(VERDICT_STATES).optional(),
  findings: z.array(z.string()).readonly(),
})

/** Returns the templates of a server for skills that it does not list. */
export const templatesRequest = defineRequest({
  name: 'templates',
  params: paramsOfSource(),
  answer: z.object({
    spaces: z
      .array(
        z.object({
          template: z.string(),
          variables: z.array(z.string()).readonly(),
          name: z.string().optional(),
          description: z.string().optional(),
        }),
      )
      .readonly(),
    refused: z.array(z.object({ template: z.string(), why: z.string() })).readonly(),
  }),
  run: async ({ mcpDecisions }: AdditionParts, { source }, { signal }) => mcpDecisions.additions.spaces(source, signal),
})

/** Returns the values that a server offers for a variable of a template. */
export const completeRequest = defineRequest({
  name: 'complete',
  params: paramsOfSource({ template: z.string(), variable: z.string(), values: VALUES }),
  answer: z.object({ values: z.array(z.string()).readonly(), hasMore: z.boolean() }),
  run: async ({ mcpDecisions }: AdditionParts, { source, ...completing }, { signal }) =>
    mcpDecisions.additions.complete(source, completing, signal),
})

/** Adds the skill that a template leads to. */
export const resolveRequest = defineRequest({
  name: 'resolve',
  params: paramsOfSource({ template: z.string(), values: VALUES, isUnverified: z.boolean() }),
  answer: ADDITION,
  run: async ({ mcpDecisions }: AdditionParts, { source, ...resolving }, { signal, by }) =>
    mcpDecisions.additions.resolve(source, { ...resolving, by }, signal),
})

/** Adds a skill that is not listed, by its URI. */
export const addUriRequest = defineRequest({
  name: 'add-uri',
  isForLeader: true,
  params: paramsOfSource({ uri: z.string(), isUnverified: z.boolean() }),
  answer: ADDITION,
  run: async ({ mcpDecisions }: AdditionParts, { source, ...named }, { signal, by }) =>
    mcpDecisions.additions.add(source, { ...named, by }, signal),
})

/** Has the files of a skill measured from now on: its server does not declare their sizes. */
export const measureRequest = defineRequest({
  name: 'measure',
  isForLeader: true,
  params: paramsOfSource({ path: z.string() }),
  answer: z.object({}),
  async run({ mcpDecisions }: AdditionParts, { source, path }, { by }) {
    await mcpDecisions.additions.measure(source, path, by)
    return {}
  },
})

/** Removes a skill that was added by its URI. */
export const removeUriRequest = defineRequest({
  name: 'remove-uri',
  isForLeader: true,
  params: paramsOfSource({ uri: z.string() }),
  answer: ADDITION,
  run: async ({ mcpDecisions }: AdditionParts, { source, uri }, { by }) =>
    mcpDecisions.additions.remove(source, uri, by),
})
