import { expect, test } from 'vitest'
import { expositionOf } from '../../../src/daemon/status/metrics/metrics.ts'
import { SkillTotals } from '../../../src/features/usage/skill-totals.ts'
import { usageFamilies } from '../../../src/features/usage/usage-families.ts'
import { Figures } from '../../support/http/prometheus.ts'

test('a skill has its loads, reads and failures, and those beyond a thousand skills are one', () => {
  const totals = new SkillTotals()
  for (let at = 0; at < 3_000; at += 1) totals.add({ kind: 'load', skill: `fx/${at}`, content: 'c1' })
  totals.add({ kind: 'read', skill: 'fx/1', content: 'c1' })
  totals.add({ kind: 'failure', skill: 'fx/2', content: 'c1' })

  const figures = new Figures(expositionOf(usageFamilies(totals), 'prometheus'))

  expect(figures.samples('skillsyncd_skill_loads_total')).toHaveLength(1_001)
  expect(figures.value('skillsyncd_skill_loads_total', { skill: 'other' })).toBe(2_000)
  expect(figures.value('skillsyncd_skill_loads_total', { skill: 'fx/1' })).toBe(1)
  expect(figures.value('skillsyncd_skill_reads_total', { skill: 'fx/1' })).toBe(1)
  expect(figures.value('skillsyncd_skill_failures_total', { skill: 'fx/1' })).toBe(0)
  expect(figures.value('skillsyncd_skill_failures_total', { skill: 'fx/2' })).toBe(1)
})
