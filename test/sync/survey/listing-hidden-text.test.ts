import { expect, test } from 'vitest'
import { hiddenInText, judgeDeclared, textKeyOf } from '../../../src/sync/survey/listing-hidden-text.ts'

const SPELLED = Buffer.from('x: "Go\\U000E0041"\n')
const REORDERED = Buffer.from('x: "Go\\u202e"\n')

test('a file of the same bytes has a key of its own wherever it is searched otherwise', () => {
  const paths = ['a.txt', 'a.yaml', 'agents/openai.yaml', 'SKILL.md']

  expect(new Set(paths.map((path) => textKeyOf({ path, sha256: '00' }))).size).toBe(4)
  expect(paths.map((path) => hiddenInText({ path }, SPELLED)?.deceit)).toEqual([
    undefined,
    'smuggled',
    'smuggled',
    undefined,
  ])
})

test.each([
  ['agents/openai.yaml', true],
  ['data.yaml', false],
])('an override that escapes spell in %s of a server withholds its skill: %s', (path, isWithheld) => {
  const hidden = hiddenInText({ path }, REORDERED)
  const file = { path, size: REORDERED.length, blob: '00', sha256: '00', executable: false, link: false, hidden }

  expect(judgeDeclared({ path: 'pdf', frontmatter: {}, files: [file as never] }, 'deceptive').isWithheld).toBe(
    isWithheld,
  )
})
