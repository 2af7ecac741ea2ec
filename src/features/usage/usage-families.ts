import type { Family } from '../../daemon/status/metrics/family.ts'
import type { SkillTotals } from './skill-totals.ts'

/** The metrics of use. Clients and people are no labels, and the number of skills is bounded. */
export function usageFamilies({ all }: Pick<SkillTotals, 'all'>): Family[] {
  const samplesOf = (kind: 'loads' | 'reads' | 'failures'): Family['samples'] =>
    all.map(({ skill, [kind]: value }) => ({ labels: { skill }, value }))
  return [
    {
      name: 'skillsyncd_skill_loads_total',
      kind: 'counter',
      help: 'Answers with the instructions of the skill: its SKILL.md, get_skill, its prompt or its archive.',
      samples: samplesOf('loads'),
    },
    {
      name: 'skillsyncd_skill_reads_total',
      kind: 'counter',
      help: 'Answers with another file of the skill.',
      samples: samplesOf('reads'),
    },
    {
      name: 'skillsyncd_skill_failures_total',
      kind: 'counter',
      help: 'Answers that should have had a file of the skill, and reports of agents that could not use it.',
      samples: samplesOf('failures'),
    },
  ]
}
