import type { BudgetSkill } from '../../../../src/sync/catalog/budget/budget-skill.ts'

/** Skills named `skill-001` and so on, with descriptions of these lengths. */
export function skillsOfLengths(lengths: readonly number[], nameLength = 9): BudgetSkill[] {
  return lengths.map((length, index) => {
    const name = `skill-${String(index + 1).padStart(3, '0')}`.padEnd(nameLength, 'x')
    return { id: `team/${name}`, name, description: textOfLength(length, index) }
  })
}

/** So many lengths that differ by one at the most and have this total. */
export function evenLengths(count: number, total: number): number[] {
  const least = Math.floor(total / count)
  return Array.from({ length: count }, (_, index) => least + (index < total - least * count ? 1 : 0))
}

/** A description of exactly so many characters. */
function textOfLength(length: number, index: number): string {
  return `Does task ${index + 1} of the fixture. Use when a person asks for it. `
    .repeat(Math.ceil(length / 40))
    .slice(0, length)
}
