import { z } from 'zod'
import type { BudgetTerms } from '../../../sync/catalog/budget/context-budget.ts'
import type { Config } from '../config.ts'
import { id, later, line, mapping, prose } from '../schema/scalars.ts'

const CHOICE = mapping(() => ({
  source: line(200).exactOptional().describe('A glob over source ids.'),
  path: line(1024).exactOptional().describe('A glob over skill paths.'),
  name: line(200).exactOptional().describe('A glob over skill names.'),
  tag: line(200).exactOptional().describe('A tag.'),
  plugin: line(200)
    .exactOptional()
    .describe('A glob over plugins, of a source with `marketplace: true`; its authors choose what is in them.'),
}))

const BUDGET_CHARACTERS = z.int().min(1).max(10_000_000)

const BUDGET = later(() =>
  z.union([
    BUDGET_CHARACTERS,
    z.strictObject({
      client: z
        .enum(['claude-code', 'codex', 'claude-code-2.0'])
        .describe('The agent whose listing of skills counts. Default: claude-code.')
        .optional(),
      characters: BUDGET_CHARACTERS.optional().describe(
        'The characters for the pack alone; with `client`, for the whole list of that agent, own skills included. `window` is then ignored.',
      ),
      window: z
        .int()
        .min(1)
        .max(1_000_000_000)
        .optional()
        .describe(
          'The context window of the model, in tokens: the limit is the share that the agent gives, less its own skills.',
        ),
    }),
  ]),
)

const PACK = mapping(() => ({
  id: id().describe('The name of the pack, and of its endpoint /mcp/<id>.'),
  description: prose(1024).optional().describe('Its purpose; its clients get this in place of `serve.instructions`.'),
  include: z.array(CHOICE).min(1).describe('A skill that matches all keys of one of these is in the pack.'),
  exclude: z.array(CHOICE).optional().describe('A skill that matches all keys of one of these is left out.'),
  budget: BUDGET.optional().describe(
    'A commit that takes the listing of the pack over this limit waits for approval. A number: the characters for the pack alone.',
  ),
}))

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
