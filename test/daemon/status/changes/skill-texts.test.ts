import { expect, test } from 'vitest'
import { SkillTexts } from '../../../../src/daemon/status/changes/skill-texts.ts'

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

test('what is gone has no files to show, and is whole without them', async () => {
  const texts = new SkillTexts(undefined)
  const from = { path: 'pdf', name: 'pdf', digest: '1'.repeat(64) }

  await texts.review({ path: 'pdf', change: 'removed', from }, {}, true)
  await texts.reviewDocs({ change: 'removed', from: '2'.repeat(64) }, {}, true)

  expect(texts.notShown).toEqual([])
})
