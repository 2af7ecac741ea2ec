import { expect, test } from 'vitest'
import { notesOf } from '../../../../src/sync/model/changes/skill-notes.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { rulesWith, Surveys } from '../../survey/surveyed.ts'

test('what a skill may do comes before its programs, which are one note however many', async () => {
  await using surveys = await Surveys.open()
  const programs = Object.fromEntries(
    Array.from({ length: 33 }, (_, number) => [`a/p${number}.py`, `print(${number})\n`]),
  )
  const before = await surveys.next({ 'a/SKILL.md': skillText('a'), 'a/old.sh': 'true\n' }, rulesWith())
  const document = skillText('a').replace('---\n', '---\nallowed-tools: Bash(*)\n')
  const after = await surveys.next({ 'a/SKILL.md': document, 'a/old.sh': 'false\n', ...programs }, rulesWith())

  const notes = notesOf(before.skills[0], after.skills[0])

  expect(notes.map(({ text, values, isCritical }) => [text, values.length, isCritical])).toEqual([
    ['tools without a question', 1, true],
    ['33 new programs, of which the first 10 are', 10, true],
    ['changed program', 1, true],
  ])
})
