import { expect, test } from 'vitest'
import { notTheOne } from '../../../../src/serve/mcp/tools/find-skill.ts'
import { catalogWith } from '../../../support/content/searchable-skills.ts'
import { sample } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'

test.each([
  [2, 2, undefined],
  [3, 3, undefined],
  [4, 3, 'and 1 more of that name'],
  [6, 3, 'and 3 more of that name'],
])(
  'of %i withheld skills of a name %i are told with their reasons, and then how many more there are',
  async (many, told, more) => {
    const catalog = catalogWith({ team: Array.from({ length: many }, (_, at) => withheldAt(`${at}/pdf`)) })

    const answer = await notTheOne(catalog, 'pdf', [])

    const [heading, ...lines] = answer.content.flatMap((block) => ('text' in block ? block.text.split('\n') : []))
    expect(heading).toContain('The skill "pdf" exists, but is withheld')
    expect(lines.filter((line) => line.includes('has no description'))).toHaveLength(told)
    expect(lines[told]).toBe(more)
  },
)

function withheldAt(path: string): Sample {
  const made = sample('pdf', { 'SKILL.md': 'text' })
  const findings = [{ rule: 'description-missing', path, message: 'It has no description' } as const]
  return {
    ...made,
    skill: { ...made.skill, path, servedPath: path, standing: 'withheld', findings },
  }
}
