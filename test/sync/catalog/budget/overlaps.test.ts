import { describe, expect, test } from 'vitest'
import type { BudgetSkill } from '../../../../src/sync/catalog/budget/budget-skill.ts'
import { overlapsIn } from '../../../../src/sync/catalog/budget/budget-summary.ts'

const REVIEW = 'Reviews a pull request for bugs, missing tests and unclear names. Use when a person asks for a review.'

describe('overlapping descriptions', () => {
  test('descriptions that differ in one word of many overlap, others do not', () => {
    const skills = [
      skill('a', REVIEW),
      skill('b', REVIEW.replace('unclear', 'confusing')),
      skill('c', 'Writes the report of an incident from a chat. Use when a person asks for a post-mortem.'),
    ]

    const { pairs, isComplete } = overlapsIn(skills)

    expect(pairs).toEqual([{ a: { id: 'a', name: 'a' }, b: { id: 'b', name: 'b' }, likeness: 0.88 }])
    expect(isComplete).toBe(true)
  })

  test('equal words overlap wholly, whatever their order and case, and each is paired with the first', () => {
    const skills = ['one', 'two', 'three'].map((id) => skill(id, id === 'two' ? REVIEW.toUpperCase() : REVIEW))

    expect(overlapsIn(skills).pairs.map(({ a, b, likeness }) => [a.id, b.id, likeness])).toEqual([
      ['one', 'three', 1],
      ['one', 'two', 1],
    ])
  })

  test('three equal words say nothing', () => {
    expect(overlapsIn([skill('a', 'Use with care'), skill('b', 'Use with care')]).pairs).toEqual([])
  })

  test('a search that would take too long ends, and says so', () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`)
    // Each lacks three words of its own, so all of them are alike and none is equal to another.
    const skills = Array.from({ length: 3_000 }, (_, index) =>
      skill(
        `s${index}`,
        words.filter((_word, at) => ![index % 60, (index * 7) % 59, (index * 13) % 53].includes(at)).join(' '),
      ),
    )

    const { pairs, isComplete } = overlapsIn(skills)

    expect(isComplete).toBe(false)
    expect(pairs).toHaveLength(1_000)
  })
})

function skill(id: string, description: string): BudgetSkill {
  return { id, name: id, description }
}
