import { z } from 'zod'
import type { BudgetTerms } from '../../../sync/catalog/budget/context-budget.ts'
import type { Config } from '../config.ts'
import { id, line, prose } from '../schema/scalars.ts'

const CHOICE = z.strictObject({
  source: line(200).exactOptional().describe('A glob over source ids.'),
  path: line(1024).exactOptional().describe('A glob over skill paths.'),
  name: line(200).exactOptional().describe('A glob over skill names.'),
  tag: line(200).exactOptional().describe('A tag.'),
  plugin: line(200)
    .exactOptional()
    .describe(
      'A glob over the plugins of the marketplace of a source with `marketplace: true`. The authors of the repository choose what is in a plugin.',
    ),
})

const BUDGET_CHARACTERS = z.int().min(1).max(10_000_000)

const BUDGET = z
  .union([
    BUDGET_CHARACTERS,
    z.strictObject({
      client: z
        .enum(['claude-code', 'codex', 'claude-code-2.0'])
        .describe('The agent whose listing of skills counts. Default: claude-code.')
        .optional(),
      characters: BUDGET_CHARACTERS.optional().describe(
        'The characters for the listing of the pack alone; with `client`, for the whole list of that agent, of which its own skills take a part. `window` is then ignored.',
      ),
      window: z
        .int()
        .min(1)
        .max(1_000_000_000)
        .optional()
        .describe(
          'The context window of the model, in tokens: the limit is then the share of it that the agent gives.',
        ),
    }),
  ])
  .describe('The limit of the listing of the skills: a number of characters for these alone, or the rule of an agent.')

const PACK = z.strictObject({
  id: id().describe('The name of the pack, the last segment of its endpoint /mcp/<id>.'),
  description: prose(1024).optional().describe('The purpose of the pack.'),
  include: z.array(CHOICE).min(1).describe('A skill that matches all fields of one of these belongs to the pack.'),
  exclude: z.array(CHOICE).optional().describe('A skill that matches one of these does not.'),
  budget: BUDGET.optional().describe(
    'A commit that takes the listing of the pack over this limit waits for approval. A number is for the characters of the pack alone; `window` leaves what the own skills of the agent do not take.',
  ),
})

/** Named selections of skills. */
export const PACKS = z.array(PACK).optional().describe('Named selections of skills, each with an endpoint of its own.')

/** The packs, and the limits of those that have one. */
export function packsOf(entries: z.output<typeof PACKS> = []): Pick<Config, 'packs' | 'packBudgets'> {
  return {
    packs: entries.map(({ id, description, include, exclude = [] }) => ({ id, description, include, exclude })),
    packBudgets: Object.fromEntries(
      entries.flatMap(({ id, budget }) => (budget === undefined ? [] : [[id, termsOf(budget)]])),
    ),
  }
}

function termsOf(budget: z.output<typeof BUDGET>): BudgetTerms {
  if (typeof budget === 'number') return { client: 'claude-code', characters: budget }
  const { client, characters, window } = budget
  const number = characters !== undefined && (client === undefined ? { characters } : { list: characters })
  return { client: client ?? 'claude-code', ...number, ...(window !== undefined && { window }) }
}
