import { expect, test } from 'vitest'
import { SkillTexts } from '../../../../src/daemon/status/changes/skill-texts.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { rulesWith, Surveys } from '../../../sync/survey/surveyed.ts'

test('a version that the store does not have is named as not shown, and not taken for one without files', async () => {
  const texts = new SkillTexts(undefined)
  const digest = '1'.repeat(64)

  const to = { path: 'pdf', name: 'pdf', digest }
  const skill = await texts.review({ path: 'pdf', change: 'added', to }, {}, true)
  const docs = await texts.reviewDocs({ change: 'added', to: digest }, {}, true)

  expect(skill.notes).toMatchObject([{ isCritical: true, values: ['pdf'] }])
  expect(docs.notes).toMatchObject([{ isCritical: true, values: ['the docs folder'] }])
  expect(texts.notShown).toEqual(['pdf', 'the docs folder'])
})

test('what is known is not new because the version before it is not known', async () => {
  await using surveys = await Surveys.open()
  const files = { 'pdf/SKILL.md': skillText('pdf'), 'pdf/run.sh': 'true\n' }
  const now = await surveys.next(files, rulesWith())
  const texts = new SkillTexts(undefined)
  const [from, to] = [VERSION, { ...VERSION, digest: '2'.repeat(64) }]

  const skill = await texts.review({ path: 'pdf', change: 'changed', from, to }, { after: now.skills[0] }, true)
  const docsChange = { change: 'changed', from: from.digest, to: to.digest } as const
  const after = { kind: 'docs', files: now.skills[0]!.files, digest: to.digest, size: 0 } as const
  const docs = await texts.reviewDocs(docsChange, { after }, true)

  expect(skill).toMatchObject({ files: [], notes: [{ text: expect.stringContaining('not known'), values: ['pdf'] }] })
  expect(docs).toMatchObject({ files: [], notes: [{ values: ['the docs folder'] }] })
  expect([skill, docs].map(({ notes }) => notes.length)).toEqual([1, 1])
  expect(texts.notShown).toEqual(['pdf', 'the docs folder'])
})

const VERSION = { path: 'pdf', name: 'pdf', digest: '1'.repeat(64) }

test('what is gone has no files to show, and is whole without them', async () => {
  const texts = new SkillTexts(undefined)

  await texts.review({ path: 'pdf', change: 'removed', from: VERSION }, {}, true)
  await texts.reviewDocs({ change: 'removed', from: '2'.repeat(64) }, {}, true)

  expect(texts.notShown).toEqual([])
})
