import { expect, test } from 'vitest'
import { budgetStatusLines } from '../../../../src/daemon/commands/show/budget-status.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { budgetSummary } from '../../../../src/sync/catalog/budget/budget-summary.ts'
import { skillsOfLengths } from '../../../sync/catalog/budget/fixture-skills.ts'

test.each<[string, object]>([
  ['8000', { client: 'claude-code', characters: 8_000 }],
  ['{ characters: 8000 }', { client: 'claude-code', characters: 8_000 }],
  ['{ client: claude-code, characters: 8000 }', { client: 'claude-code', list: 8_000 }],
  ['{ window: 200000 }', { client: 'claude-code', window: 200_000 }],
])('a budget of %s is for the pack alone, or for what the agent leaves to it', (budget, terms) => {
  const text = [
    'sources: [{ id: a, url: https://git.example.com/a.git }]',
    `packs: [{ id: core, include: [{ source: a }], budget: ${budget} }]`,
  ].join('\n')

  const config = parseConfig(text, 'skillsyncd.yaml', environmentOf({}, '/home/ada'))

  expect(config).toMatchObject({ packBudgets: { core: terms } })
})

test.each([
  [40, 0],
  [90, 1],
])('of %i skills, a status has %i next steps about what default models lose', (count, steps) => {
  const budget = budgetSummary(skillsOfLengths(Array.from({ length: count }, (_, index) => 300 + index)))

  const lines = budgetStatusLines({ ...budget, overlaps: [], packs: [] }, { all: false, paint: (_, text) => text })

  expect(lines.filter((line) => line.includes('status --json') && line.includes('disable SKILL'))).toHaveLength(steps)
})
