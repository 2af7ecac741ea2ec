import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MEASURED } from '../../src/sync/catalog/budget/client-rules.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { AgentHome, installAgents } from './agents.ts'
import { ModelApi } from './model-api.ts'

const OBSTACLE = await installAgents()

const NAMES = Array.from({ length: 31 }, (_, index) => `zz-${String(index).padStart(3, '0')}`)
const DESCRIPTION = 'About it. '.repeat(30).trim().padEnd(300, 'x')

describe.skipIf(OBSTACLE !== undefined)(`real agents${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`, () => {
  test.each([
    ['200,000 tokens', ['--model', 'claude-sonnet-4-5'], 5],
    ['its default model', [], 31],
  ] as const)(
    'Claude Code with %s brings skills as measured, and leaves the rest of its list',
    async (_, model, kept) => {
      await using folder = await temporaryFolder()
      await using home = await AgentHome.in(folder.path)
      await using api = await ModelApi.start()
      await writeSkills(join(folder.path, '.claude/skills'))
      Object.assign(home.env, { ANTHROPIC_BASE_URL: api.origin, ANTHROPIC_API_KEY: 'dummy' })

      await home.run('claude', ...model, '-p', 'hi')
      const entries = listIn(api.taken())

      const own = entries.filter((entry) => !entry.startsWith('- zz-'))
      const ours = entries.filter((entry) => entry.startsWith('- zz-') && entry.includes(': '))
      const yielding = own.filter((entry) => /^- (?:init|security-review):/.test(entry))
      const yielded = yielding.map((entry) => entry.slice(entry.indexOf(':'))).join('').length
      expect(own).toHaveLength(MEASURED['claude-code'].skills)
      expect(Array.from(own.join('\n')).length + 1 - yielded).toBe(MEASURED['claude-code'].brought)
      expect(ours).toHaveLength(kept)
    },
  )

  test('Claude Code goes on with shorter descriptions after one that does not fit', async () => {
    await using folder = await temporaryFolder()
    await using home = await AgentHome.in(folder.path)
    await using api = await ModelApi.start()
    const lengths = [1_500, 300, 1_000, 300, 20]
    await writeSkills(join(folder.path, '.claude/skills'), lengths)
    Object.assign(home.env, { ANTHROPIC_BASE_URL: api.origin, ANTHROPIC_API_KEY: 'dummy' })

    await home.run('claude', '--model', 'claude-sonnet-4-5', '-p', 'hi')

    const ours = listIn(api.taken()).filter((entry) => entry.startsWith('- zz-'))
    expect(ours.map((entry) => entry.includes(': '))).toEqual([true, true, false, false, true])
  })

  test('Codex shortens no description of 31 skills', async () => {
    await using folder = await temporaryFolder()
    await using home = await AgentHome.in(folder.path)
    await writeSkills(join(folder.path, '.agents/skills'))

    const prompt = (await home.run('codex', 'debug', 'prompt-input', 'hi')).replaceAll(String.raw`\n`, '\n')

    const lines = Array.from(prompt.matchAll(/^- [\w-]+: .+ \(file: .+\)$/gm), ([line]) => line)
    const own = lines.filter((line) => !line.startsWith('- zz-'))
    expect(own.reduce((sum, line) => sum + Math.ceil((line.length + 1) / 4), 0)).toBe(MEASURED.codex.brought)
    expect(lines.filter((line) => line.startsWith('- zz-') && line.includes(DESCRIPTION))).toHaveLength(31)
  })
})

async function writeSkills(root: string, lengths?: readonly number[]): Promise<void> {
  for (const [index, name] of NAMES.slice(0, lengths?.length).entries()) {
    const description = lengths === undefined ? DESCRIPTION : 'x'.repeat(lengths[index] ?? 0)
    await mkdir(join(root, name), { recursive: true })
    await writeFile(join(root, name, 'SKILL.md'), `---\nname: ${name}\ndescription: ${description}\n---\nhi\n`)
  }
}

/** The entries of the list of skills. A description may have several lines. */
function listIn(prompt: string): readonly string[] {
  const text = prompt.replaceAll(String.raw`\"`, '"')
  const from = text.indexOf('- ', text.lastIndexOf('The following skills are available for use with the Skill tool:'))
  const list = text.slice(from)
  return list.slice(0, list.search(/\n<\/system-reminder>|\n\nToday/)).split(/\n(?=- )/)
}
