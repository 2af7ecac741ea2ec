import type { Standing } from './skill.ts'

/** The standing of a skill that several checks judged. */
export function worstStanding(standings: readonly Standing[]): Standing {
  return standings.reduce((worse, standing) => (SEVERITY[standing] > SEVERITY[worse] ? standing : worse), 'served')
}

/** True if a skill with the first standing is offered less than with the second. */
export function isWorse(one: Standing, other: Standing): boolean {
  return SEVERITY[one] > SEVERITY[other]
}

const SEVERITY: Readonly<Record<Standing, number>> = { served: 0, unlisted: 0, tools: 1, withheld: 2 }
