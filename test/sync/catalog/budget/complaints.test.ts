import { describe, expect, test } from 'vitest'
import type { Visibility, ContextBudget } from '../../../../src/sync/catalog/budget/context-budget.ts'
import { contextBudget } from '../../../../src/sync/catalog/budget/context-budget.ts'
import { evenLengths, skillsOfLengths } from './fixture-skills.ts'

/** Public complaints about skills that a client dropped, with the numbers that they state. The texts are our own. */
describe('the numbers of public complaints', () => {
  test('63 skills with 16,577 characters: Claude Code 2.0 shows 42', () => {
    // https://github.com/anthropics/claude-code/issues/13099: "Showing 42 of 63 skills"; its author measured 11,071
    // characters in the 42 shown descriptions, 5,506 in the 21 hidden ones, some 109 of markup for each, and a limit
    // between 15,500 and 16,000.
    const skills = skillsOfLengths([...evenLengths(42, 11_071), ...evenLengths(21, 5_506)])

    for (const characters of [15_700, 16_000]) {
      const budget = contextBudget(skills, { client: 'claude-code-2.0', characters })
      expect(counts(budget)).toEqual({ whole: 42, omitted: 21 })
      expect(budget.shown.characters).toBe(11_071 + 42 * 109)
    }
  })

  test('54 skills of 371 characters: 20,055 are over 15,000 by 5,055, and some 40 are shown', () => {
    // https://github.com/anthropics/claude-code/issues/12782: descriptions of 261 characters on average and 110 of
    // markup, "54 skills × 371 chars = 20,055 chars", "only ~40 skills". 54 × 371 is 20,034; 20,055 is stated.
    const skills = skillsOfLengths(evenLengths(54, 20_055 - 54 * 109))
    const budget = contextBudget(skills, { client: 'claude-code-2.0' })

    expect(budget.full.characters).toBe(20_055)
    expect(budget.cost - budget.allowance.limit).toBe(5_055)
    expect(counts(budget)).toEqual({ whole: 40, omitted: 14 })
  })

  test('Claude Code 2.1.159 has 8,000 characters for a window of 200,000 tokens', () => {
    // https://github.com/anthropics/claude-code/issues/64606: the descriptions alone, in percent of the budget.
    const stated = [
      { skills: 25, characters: 12_274, percent: 153 },
      { skills: 56, characters: 8_311, percent: 104 },
      { skills: 41, characters: 6_542, percent: 82 },
      { skills: 22, characters: 2_801, percent: 35 },
    ]
    for (const { skills, characters, percent } of stated) {
      const budget = contextBudget(skillsOfLengths(evenLengths(skills, characters)), {
        client: 'claude-code',
        characters: 8_000,
      })
      const described = budget.skills.reduce((sum, { length }) => sum + length, 0)
      expect(Math.round((described / budget.allowance.limit) * 100)).toBe(percent)
      expect(budget.skills.some(({ visibility }) => visibility === 'name-only')).toBe(percent > 100)
    }
  })

  test('60 skills with 11,200 characters: Claude Code 2.1.133 drops 32 descriptions', () => {
    // https://github.com/anthropics/claude-code/issues/57168: "32 skill descriptions dropped" with a base window of
    // 200,000 tokens. The lengths of the names are not stated; 40 characters, with a plugin before the name, fit.
    const skills = skillsOfLengths(evenLengths(60, 11_200), 40)

    expect(counts(contextBudget(skills, { client: 'claude-code', characters: 8_000 }))).toEqual({
      whole: 28,
      'name-only': 32,
    })
    expect(counts(contextBudget(skills, { client: 'claude-code', window: 1_000_000 }))).toEqual({ whole: 60 })
  })

  test('18 skills with 18,455 characters: Codex keeps 350 of each, 6,300 in all', () => {
    // https://github.com/redhat-et/ripwire/issues/49: all 18 were cut at 350 characters, 12,155 were removed. The other
    // skills of that session are not stated; the limit stands for the room that they left.
    const skills = skillsOfLengths(evenLengths(18, 18_455))
    const fixed = contextBudget(skillsOfLengths(Array.from({ length: 18 }, () => 0)), {
      client: 'codex',
      characters: 8_000,
    })
    const characters = fixed.cost + 18 + 6_300
    const budget = contextBudget(skills, { client: 'codex', characters })

    expect(counts(budget)).toEqual({ shortened: 18 })
    expect(new Set(budget.skills.map(({ kept }) => kept))).toEqual(new Set([350]))
    expect(sumOf(budget, 'length') - sumOf(budget, 'kept')).toBe(12_155)
  })

  test('Codex omits 80 skills and every description when the names alone do not fit', () => {
    // https://github.com/openai/codex/issues/19679: "All skill descriptions were removed and 80 additional skills were
    // not included", with a window of 258,400 tokens. The number of skills is not stated.
    const [one] = contextBudget(skillsOfLengths([0]), { client: 'codex', window: 258_400 }).skills
    expect(one?.visibility).toBe('whole')
    const line = contextBudget(skillsOfLengths([0]), { client: 'codex', window: 258_400 }).cost
    const fitting = Math.floor((5_168 - 432) / line)
    const skills = skillsOfLengths(Array.from({ length: fitting + 80 }, () => 200))
    const budget = contextBudget(skills, { client: 'codex', window: 258_400 })

    expect(budget.allowance).toEqual({ unit: 'tokens', limit: 5_168 - 432 })
    expect(counts(budget)).toEqual({ 'name-only': fitting, omitted: 80 })
  })

  test('900 skills of 30 characters each are over the 8,000 characters of Codex', () => {
    // https://github.com/yogsoth-ai/de-anthropocentric-research-engine/pull/27
    const skills = skillsOfLengths(Array.from({ length: 900 }, () => 30))

    expect(counts(contextBudget(skills, { client: 'codex', characters: 8_000 }))['omitted']).toBeGreaterThan(600)
  })
})

function counts({ skills }: ContextBudget): Partial<Record<Visibility, number>> {
  const found: Partial<Record<Visibility, number>> = {}
  for (const { visibility } of skills) found[visibility] = (found[visibility] ?? 0) + 1
  return found
}

function sumOf({ skills }: ContextBudget, field: 'length' | 'kept'): number {
  return skills.reduce((sum, skill) => sum + skill[field], 0)
}
