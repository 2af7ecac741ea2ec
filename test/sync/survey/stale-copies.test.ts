import { expect, test } from 'vitest'
import type { Standing } from '../../../src/sync/model/skill.ts'
import { READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import { StaleCopies } from '../../../src/sync/survey/stale-copies.ts'
import { never, sample, snapshotOf } from '../store/samples.ts'
import type { Sample } from '../store/samples.ts'
import { rulesWith } from './surveyed.ts'

const RULES = rulesWith()

test('every skill that is offered can stand in for one that is not read, and no withheld one', () => {
  const standings: readonly Standing[] = ['served', 'unlisted', 'tools', 'withheld']
  const served = { snapshot: snapshotOf(...standings.map(standingAs)), read: async () => Buffer.from('') }

  const copies = new StaleCopies(served, RULES, true, async (bytes) =>
    READ_HERE.read(bytes, RULES.limits.frontmatter, never()),
  )

  expect(copies.skills.map(({ path }) => path)).toEqual(['served', 'unlisted', 'tools'])
})

function standingAs(standing: Standing): Sample {
  const made = sample(standing, { 'SKILL.md': standing })
  return { ...made, skill: { ...made.skill, standing } }
}
