import { expect, test } from 'vitest'
import type { BudgetClient } from '../../../src/sync/budget/client-rules.ts'
import { contextBudget, listingCost } from '../../../src/sync/budget/context-budget.ts'
import { skillsOfLengths } from './fixture-skills.ts'

test('Claude Code drops every description after the first that does not fit, also one that would fit', () => {
  const skills = skillsOfLengths([100, 300, 50])
  const names = skills.reduce((sum, { name }) => sum + `- ${name}\n`.length, 0)

  const { skills: listed } = contextBudget(skills, { client: 'claude-code', characters: names + 102 + 60 })

  expect(listed.map(({ visibility }) => visibility)).toEqual(['whole', 'name-only', 'name-only'])
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
