import { makeSkills } from './skills.ts'
import type { Skills } from './skills.ts'

/** From one skill to the most, half of them with few; beside them lie from five to some four hundred pages. */
export function realistic(count: number, most: number): Skills[] {
  return Array.from({ length: count }, (_, index) => {
    const skills = Math.round(most ** (index / (count - 1)))
    const pages = Math.round(5 * 80 ** ((index * GOLDEN) % 1))
    return makeSkills(skills, { number: index * 100, pages })
  })
}

const GOLDEN = (1 + Math.sqrt(5)) / 2
