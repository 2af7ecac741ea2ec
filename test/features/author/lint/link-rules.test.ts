import { expect, test } from 'vitest'
import { diagnosticsOf, sound } from './linted.ts'

const linking = (name: string, target: string): string => sound(name, [], `See [that](${target}).\n`)

test.each([
  ['a skill beside it', '../b/SKILL.md', ': a server has it there, at "skill://SOURCE/skills/b/SKILL.md"'],
  [
    'a file of one, with an anchor',
    '../b/notes/c%20d.md#e',
    ': a server has it there, at "skill://SOURCE/skills/b/notes/c%20d.md"',
  ],
  ['a folder of one', '../b/notes/', ': a server has it there, at "skill://SOURCE/skills/b/notes"'],
  [
    'a skill whose folder is called otherwise than it',
    '../folder/SKILL.md',
    ': a server has it at "skill://SOURCE/skills/named/SKILL.md", where the link does not lead',
  ],
  ['a skill that is withheld', '../broken/SKILL.md', ''],
  ['a file of no skill', '../README.md', ''],
  ['a file that a skill does not have', '../b/none.md', ''],
  ['what lies above all that is looked at', '../../../x.md', ''],
])('a link out of the skill to %s is told with where a server has it', async (_, target, where) => {
  const diagnostics = await diagnosticsOf({
    'skills/a/SKILL.md': linking('a', target),
    'skills/b/SKILL.md': sound('b'),
    'skills/b/notes/c d.md': 'c\n',
    'skills/folder/SKILL.md': sound('named'),
    'skills/broken/SKILL.md': '# none\n',
    'skills/README.md': '# Skills\n',
  })

  const told = diagnostics.filter(({ code }) => code === 'link-leaves-skill').map(({ message }) => message)
  expect(told).toEqual([`The link to "${target}" leads out of the skill${where}`])
})

test('the links of a skill that is renamed are followed from where it is served', async () => {
  const diagnostics = await diagnosticsOf({
    'outer/SKILL.md': sound('named'),
    'outer/in/SKILL.md': linking('in', '../../b/SKILL.md'),
    'outer/deep/er/SKILL.md': linking('er', '../../SKILL.md'),
    'b/SKILL.md': sound('b'),
  })

  const told = diagnostics.filter(({ code }) => code === 'link-leaves-skill').map(({ message }) => message)
  expect(told).toEqual([
    'The link to "../../SKILL.md" leads out of the skill: a server has it there, at "skill://SOURCE/named/SKILL.md"',
    'The link to "../../b/SKILL.md" leads out of the skill: a server has it there, at "skill://SOURCE/b/SKILL.md"',
  ])
})
