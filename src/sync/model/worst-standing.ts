import type { Standing } from './skill.ts'

/** The standing of a skill that several checks judged. */
export function worstStanding(standings: readonly Standing[]): Standing {
  return standings.reduce((worse, standing) => (SEVERITY[standing] > SEVERITY[worse] ? standing : worse), 'served')
}

const SEVERITY: Readonly<Record<Standing, number>> = { served: 0, unlisted: 0, tools: 1, withheld: 2 }
