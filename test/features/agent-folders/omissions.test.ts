import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/base/json-value.ts'
import { readersOf } from '../../../src/features/agent-folders/agents.ts'
import { omissionsIn } from '../../../src/features/agent-folders/cautions.ts'
import type { Linkable } from '../../../src/features/agent-folders/linkable-skills.ts'

const FINE = { name: 'fine', description: 'Does it' }

test.each<[string, JsonObject, string | undefined]>([
  ['copilot', FINE, undefined],
  ['copilot', { ...FINE, description: 'x'.repeat(1_024) }, undefined],
  ['copilot', { ...FINE, description: `${'x'.repeat(1_024)}\n` }, 'its description is over 1,024 characters'],
  ['copilot', { ...FINE, description: '😀'.repeat(513) }, 'its description is over 1,024 characters'],
  ['copilot', { description: 'Does it' }, undefined],
  ['copilot', { name: 'bare' }, undefined],
  ['copilot', { ...FINE, name: 'PDF Processing' }, undefined],
  ['copilot', { ...FINE, name: 'react:colon' }, undefined],
  [
    'copilot',
    { ...FINE, name: 'a (b)' },
    expect.stringMatching(/^its name does not begin with a letter or digit, or has others than A-Z/),
  ],
  ['copilot', { ...FINE, name: '_pdf' }, expect.stringMatching(/^its name does not begin with a letter/)],
  ['copilot', { ...FINE, name: 12 }, 'its name is not text'],
  ['copilot', { ...FINE, name: 'n'.repeat(65) }, 'its name is over 64 characters'],
  ['codex', { ...FINE, description: 'x'.repeat(1_025) }, undefined],
  ['codex', { ...FINE, name: 'a (b)' }, undefined],
  ['codex', { ...FINE, name: 12 }, undefined],
  ['codex', { ...FINE, name: 'n'.repeat(65) }, 'its name is over 64 characters'],
  ['codex', { name: 'bare' }, 'it has no description'],
  ['codex', { name: 'bare', description: ' ' }, 'it has no description'],
  ['codex', { name: 'bare', description: ['fine'] }, 'it has no description'],
  ['gemini-cli', { name: 'bare' }, 'it has no description'],
  ['gemini-cli', { ...FINE, description: 'x'.repeat(1_025) }, undefined],
  ['claude-code', { name: 'bare', description: 'x'.repeat(2_000) }, undefined],
])('%s leaves out of its list as measured: %j', (id, frontmatter, why) => {
  const [agent] = readersOf(id)

  expect(agent?.omits?.(frontmatter)).toEqual(why)
})

test('a line names the agent, its skills and the reason, and the shared folder has those of each agent that reads it', () => {
  const long = { description: 'x'.repeat(1_025) }
  const skills = [linked('fine', FINE), linked('one', long), linked('bare', {}), linked('two', long)]
  const many = Array.from({ length: 10 }, (_, index) => linked(`s${index}`, long))
  const linesOf = (agent: string, all = skills) => omissionsIn([{ agent }], all)

  expect(linesOf('copilot')).toEqual([
    'GitHub Copilot does not show one, two: its description is over 1,024 characters',
  ])
  expect(linesOf('claude-code')).toEqual([])
  expect(linesOf('agents')).toEqual([
    'Codex does not show bare: it has no description',
    'Gemini CLI does not show bare: it has no description',
    'GitHub Copilot does not show one, two: its description is over 1,024 characters',
  ])
  expect(linesOf('copilot', many)).toEqual([
    'GitHub Copilot does not show s0, s1, s2, s3, s4, s5, s6, s7 and 2 other skills: its description is over 1,024 characters',
  ])
})

function linked(name: string, frontmatter: JsonObject): { readonly name: string; readonly skill: Linkable } {
  return { name, skill: { skill: { frontmatter } } as unknown as Linkable }
}
