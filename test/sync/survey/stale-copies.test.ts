import { expect, test } from 'vitest'
import type { Docs } from '../../../src/sync/model/docs-folder.ts'
import type { Skill, Standing } from '../../../src/sync/model/skill.ts'
import { READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import { StaleCopies } from '../../../src/sync/survey/stale-copies.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
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

test('a stand-in is judged by the rules of now: one for tools alone stays, and a withheld one is none', async () => {
  const named = sample('named', { 'SKILL.md': skillText('named') })
  const unnamed = sample('unnamed', { 'SKILL.md': '---\ndescription: No name\n---\n' })
  const many = sample('many', { 'SKILL.md': skillText('many'), 'a.md': 'a'.repeat(200) })
  const snapshot = { ...snapshotOf(named, unnamed, many), roots: { skills: '' } }
  const bytes = new Map([named, unnamed, many].map(({ skill, bytes: files }) => [skill.path, files]))
  const read = async (stored: Skill | Docs, path: string): Promise<Uint8Array> =>
    ('path' in stored ? bytes.get(stored.path)?.get(path) : undefined) ?? Buffer.from('')
  const rules = rulesWith({ limits: { skill: { files: 10, bytes: 200 } } })
  const copies = new StaleCopies({ snapshot, read }, rules, false, async (document) =>
    READ_HERE.read(document, rules.limits.frontmatter, never()),
  )

  const again = await Promise.all(copies.skills.map(async (skill) => copies.again(skill)))

  expect(again.map((skill) => skill?.standing)).toEqual(['served', 'tools', undefined])
})

function standingAs(standing: Standing): Sample {
  const made = sample(standing, { 'SKILL.md': standing })
  return { ...made, skill: { ...made.skill, standing } }
}
