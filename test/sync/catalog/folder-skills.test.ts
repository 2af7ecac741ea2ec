import { expect, test } from 'vitest'
import { folderSkillsIn, isReadByInstallers } from '../../../src/sync/catalog/folder-skills.ts'
import { surveyed } from '../survey/surveyed.ts'
import { catalogOf } from './catalogs.ts'

const FILES = {
  'pdf/SKILL.md': document('Reads', 'has the URI'),
  'pdf-2/SKILL.md': document('Reads', 'lost it'),
  'pdf-3/SKILL.md': document('Use when: a colon is not quoted', 'lost it too'),
  'drafts/pdf/SKILL.md': document('Reads', 'has a URI, in no list'),
  'drafts/pdf-4/SKILL.md': document('Reads', 'lost it, in no list'),
  'Pdf 5/SKILL.md': document('Reads', 'lost it, in a folder without a name'),
}

test('a skill that lost its URI is had by the name of its folder, but for those of no list', async () => {
  const found = folderSkillsIn(catalogOf(await surveyed(FILES, { unlisted: ['drafts/**'] })))

  expect(found.map(({ name }) => name)).toEqual(['pdf-2', 'pdf-3'])
  expect(found.filter(isReadByInstallers).map(({ name }) => name)).toEqual(['pdf-2'])
})

function document(description: string, body: string): string {
  return `---\nname: pdf\ndescription: ${description}\n---\n${body}\n`
}
