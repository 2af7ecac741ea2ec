import { expect, test } from 'vitest'
import { budgetSummary } from '../../../../src/sync/catalog/budget/budget-summary.ts'
import { leavesOut } from '../../../../src/sync/catalog/budget/budget-text.ts'
import { MEASURED } from '../../../../src/sync/catalog/budget/client-rules.ts'
import type { BudgetClient } from '../../../../src/sync/catalog/budget/client-rules.ts'
import { allowanceOf, contextBudget, listingCost } from '../../../../src/sync/catalog/budget/context-budget.ts'
import type { BudgetTerms } from '../../../../src/sync/catalog/budget/context-budget.ts'
import { skillsOfLengths } from './fixture-skills.ts'

test.each([
  [[300, 300, 1_500, 300, 300, 200, 200, 300, 100, 100, 50, 300, 20, 20], '11011110101010'],
  [[1_500, 300, 300, 300, 300, 300, 300], '1100000'],
  [[300, 300, 300, 300, 300, 300, 500, 400, 300, 200, 100, 50, 20], '1111100001011'],
])(
  'Claude Code at 200,000 tokens shows of descriptions of %j characters each that fits, as measured',
  (lengths, shown) => {
    const all = skillsOfLengths(lengths).map(({ description }, index) => {
      const name = `zz-${100 + index}`
      return { id: `team/${name}`, name, description }
    })

    const { skills: listed } = contextBudget(all, { client: 'claude-code', window: 200_000 })

    expect(listed.map(({ visibility }) => (visibility === 'whole' ? '1' : '0')).join('')).toBe(shown)
  },
)

test.each<[BudgetTerms, number]>([
  [{ client: 'claude-code', characters: 8_000 }, 8_000],
  [{ client: 'claude-code', list: 8_000 }, 8_000 - MEASURED['claude-code'].brought],
  [{ client: 'claude-code', list: 5_000 }, 1],
  [{ client: 'codex', list: 8_000 }, 8_000 - 4 * MEASURED.codex.brought],
  [{ client: 'claude-code-2.0', list: 8_000 }, 8_000],
])('the terms %j leave %i characters to the skills that are served', (terms, limit) => {
  expect(allowanceOf(terms)).toEqual({ unit: 'characters', limit })
})

test('a fixed number is reported before the usual models of its client, and a loss with a smaller one is no alarm', () => {
  const skills = skillsOfLengths(Array.from({ length: 10 }, () => 300))
  const rowsOf = (...asked: readonly BudgetTerms[]) =>
    budgetSummary(skills, asked).clients.map(({ client, role, of }) => [client, role, of].join(', '))

  expect(rowsOf({ client: 'claude-code', characters: 8_000 })).toEqual([
    'claude-code, limit, for these skills alone',
    'claude-code, default, default model',
    'claude-code, smaller, with 200000 tokens',
  ])
  expect(rowsOf({ client: 'codex', list: 8_000 })).toEqual(['codex, limit, of a list of 8000'])
  expect(rowsOf({ client: 'claude-code', window: 200_000 })).toEqual(['claude-code, limit, with 200000 tokens'])
  expect(leavesOut(budgetSummary(skills))).toBe(false)
  expect(leavesOut(budgetSummary(skills, [{ client: 'claude-code', window: 200_000 }]))).toBe(true)
})

test('Claude Code lists `when_to_use` after the description, and cuts both together at 1,536 characters', () => {
  const [skill] = skillsOfLengths([1_000])
  const described = { ...skill!, whenToUse: 'When it is due. '.repeat(40).trim() }

  const { skills: listed, full } = contextBudget([described], { client: 'claude-code', window: 1_000_000 })

  expect(listed).toMatchObject([
    { visibility: 'shortened', length: 1_000 + 1 + described.whenToUse.length, kept: 1_536 },
  ])
  expect(full.characters).toBe(`- ${described.name}: \n`.length + 1_536)
})

test('Codex ends a description of over 1,024 characters with three dots, and does not list `when_to_use`', () => {
  const [skill] = skillsOfLengths([1_500])
  const described = { ...skill!, whenToUse: 'When it is due.' }

  const { skills: listed, full } = contextBudget([described], { client: 'codex', window: 1_000_000 })

  expect(listed).toMatchObject([{ visibility: 'shortened', length: 1_500, kept: 1_024 }])
  expect(full.characters).toBe(`- ${described.name}:  (file: r0/${described.name}/SKILL.md)\n`.length + 1_024)
})

test('a description of 1,024 characters is whole in Codex, and characters outside of the first plane count once', () => {
  const [skill] = skillsOfLengths([0])

  const { skills: listed } = contextBudget([{ ...skill!, description: '😀'.repeat(1_024) }], {
    client: 'codex',
    window: 1_000_000,
  })

  expect(listed).toMatchObject([{ visibility: 'whole', length: 1_024, kept: 1_024 }])
})

test('a skill that is reserved for people is listed by Codex alone, which does not read that field', () => {
  const [open, reserved] = skillsOfLengths([100, 100])
  const skills = [open!, { ...reserved!, isForPeople: true as const }]
  const listedBy = (client: BudgetClient): readonly string[] =>
    contextBudget(skills, { client }).skills.map(({ name }) => name)

  expect(listedBy('claude-code')).toEqual([open!.name])
  expect(listedBy('codex')).toEqual([open!.name, reserved!.name])
  const costIn = (client: BudgetClient) => listingCost(skills, { client, characters: 8_000 })
  expect(costIn('codex')).toBeGreaterThan(costIn('claude-code'))
})

test.each<[BudgetClient, number | undefined, number, number, object]>([
  ['claude-code', 200_000, 31, 300, { whole: 5, 'name-only': 26 }],
  ['claude-code', 200_000, 10, 170, { whole: 10 }],
  ['claude-code', 200_000, 150, 100, { whole: 5, 'name-only': 145 }],
  ['claude-code', undefined, 31, 300, { whole: 31 }],
  ['claude-code', undefined, 200, 300, { whole: 73, 'name-only': 127 }],
  ['claude-code', undefined, 60, 700, { whole: 33, 'name-only': 27 }],
  ['codex', undefined, 75, 300, { whole: 75 }],
  ['codex', undefined, 200, 300, { shortened: 200 }],
])('%s with a window of %s shows of %i skills of %i characters what was measured', (client, window, ...rest) => {
  const [count, length, expected] = rest
  const terms = { client, ...(window !== undefined && { window }) }
  const all = Array.from({ length: count }, (_, index) => ({
    id: `s/${index}`,
    name: `zz-${String(index).padStart(3, '0')}`,
    description: 'x'.repeat(length),
  }))

  const { skills } = contextBudget(all, terms)

  const counts = Object.fromEntries(
    Map.groupBy(skills, ({ visibility }) => visibility)
      .entries()
      .map(([visibility, { length: found }]) => [visibility, found]),
  )
  expect(counts).toEqual(expected)
})
