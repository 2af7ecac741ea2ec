import { array, assert, constantFrom, integer, oneof, property, record, string } from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import type { BudgetSkill } from '../../../../src/sync/catalog/budget/budget-skill.ts'
import { overlapsIn } from '../../../../src/sync/catalog/budget/budget-summary.ts'
import type { BudgetClient } from '../../../../src/sync/catalog/budget/client-rules.ts'
import { contextBudget } from '../../../../src/sync/catalog/budget/context-budget.ts'
import type { BudgetTerms } from '../../../../src/sync/catalog/budget/context-budget.ts'

const clients: Arbitrary<BudgetClient> = constantFrom('claude-code', 'codex', 'claude-code-2.0')

const skills: Arbitrary<BudgetSkill[]> = array(
  record({
    name: string({ minLength: 1, maxLength: 30 }),
    description: string({ maxLength: 1_700, unit: 'binary' }),
  }),
  { maxLength: 20 },
).map((all) => all.map((one, index) => ({ id: `s/${index}`, ...one })))

const terms: Arbitrary<BudgetTerms> = oneof(
  record({ client: clients, characters: integer({ min: 1, max: 9_000 }) }),
  record({ client: clients, window: integer({ min: 1, max: 300_000 }) }),
)

test('every skill has one visibility, and what is listed of it is no more than there is', () => {
  assert(
    property(skills, terms, (all, one) => {
      const { skills: listed, shown, full } = contextBudget(all, one)

      expect(listed.map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
      expect(listed.filter(({ kept, length }) => kept > length)).toEqual([])
      expect(
        listed.filter(({ kept, length, visibility }) => (visibility === 'shortened') !== (kept > 0 && kept < length)),
      ).toEqual([])
      expect(shown.characters).toBeLessThanOrEqual(full.characters)
    }),
  )
})

test('a listing within its allowance is shown in full, a larger one within the allowance, except for names', () => {
  assert(
    property(skills, terms, (all, one) => {
      const { shown, allowance, cost, full } = contextBudget(all, one)
      const names = contextBudget(
        all.map((skill) => ({ ...skill, description: '' })),
        one,
      ).full
      const least = one.client === 'claude-code' ? names[allowance.unit] : 0

      expect(cost > allowance.limit || shown.characters === full.characters).toBe(true)
      expect(shown[allowance.unit]).toBeLessThanOrEqual(Math.max(allowance.limit, least))
    }),
  )
})

test('the order in which skills are given changes nothing', () => {
  assert(
    property(skills, terms, (all, one) => {
      expect(contextBudget(all.toReversed(), one)).toEqual(contextBudget(all, one))
      expect(overlapsIn(all.toReversed())).toEqual(overlapsIn(all))
    }),
  )
})

test('one more skill never makes the listing smaller', () => {
  assert(
    property(skills, terms, (all, one) => {
      expect(contextBudget(all.slice(1), one).cost).toBeLessThanOrEqual(contextBudget(all, one).cost)
    }),
  )
})

test('the index of rare words finds every pair that a comparison of all with all finds', () => {
  const words = array(constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { minLength: 4, maxLength: 10 })
  assert(
    property(array(words, { maxLength: 12 }), (texts) => {
      const all = distinct(texts).map((text, index) => ({ id: `s${index}`, name: '', description: text.join(' ') }))
      const pairs = all.flatMap((a, at) => all.slice(at + 1).map((b) => [a, b] as const))
      const alike = pairs.filter(([a, b]) => likenessOf(a, b) >= 0.8).map(([a, b]) => `${a.id} ${b.id}`)

      expect(
        overlapsIn(all)
          .pairs.map(({ a, b }) => [a.id, b.id].toSorted(byNumber).join(' '))
          .toSorted(),
      ).toEqual(alike.toSorted())
    }),
  )
})

/** Sets of at least four words, each once: of equal ones, the search pairs only the first with others. */
function distinct(texts: readonly (readonly string[])[]): string[][] {
  const sets = texts.map((words) => [...new Set(words)].toSorted()).filter((words) => words.length >= 4)
  return [...new Map(sets.map((words) => [words.join(' '), words])).values()]
}

function likenessOf(a: BudgetSkill, b: BudgetSkill): number {
  const [x, y] = [a, b].map(({ description }) => new Set(description.split(' ')))
  const [shared, either] = [x?.intersection(y ?? new Set()).size ?? 0, x?.union(y ?? new Set()).size ?? 1]
  return shared / either
}

function byNumber(a: string, b: string): number {
  return Number(a.slice(1)) - Number(b.slice(1))
}
