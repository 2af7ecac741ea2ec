import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { skillMd, sound } from '../features/author/lint/linted.ts'
import { fillFolder } from '../support/content/folder.ts'
import type { Files } from '../support/git/scripted-upstream.ts'
import { Home } from '../support/process/program.ts'

/** One skill that is broken, one that is only warned of, one that is sound. */
const SKILLS: Files = {
  'broken one/SKILL.md': skillMd(['name: Broken', 'description: Use when it is broken, and then mend it']),
  'warned/SKILL.md': sound('warned', [], '# Do it\n\nSee [that](../sound/SKILL.md).\n'),
  'sound/SKILL.md': sound('sound'),
}

async function homeWith(files: Files): Promise<Home> {
  const home = await Home.create()
  await fillFolder(join(home.path, 'skills'), files)
  return home
}

describe('skillsyncd skill validate', () => {
  test('says each finding with its place and its mend, and a summary, and exits with 3 for an error', async () => {
    await using home = await homeWith(SKILLS)

    const { status, stdout, stderr } = await home.run('skill', 'validate', 'skills')

    expect(stderr).toBe('')
    expect(stdout.split('\n')).toEqual([
      'skills/broken one/SKILL.md:2:7  error  name-invalid  The name "Broken" is no name of a skill: write 1 to 64 of a-z, 0-9 and single hyphens between them',
      '    use 1 to 64 of a-z, 0-9 and single hyphens between them',
      'skills/warned/SKILL.md:7:12  warning  link-leaves-skill  The link to "../sound/SKILL.md" leads out of the skill: a server has it there, at "skill://SOURCE/sound/SKILL.md"',
      '    copy the file into the skill, or link to its address on the web',
      expect.stringMatching(
        /^context budget {2}claude-code, default model: \d+ of 23923 characters, about \d+ tokens; every description is listed$/,
      ),
      expect.stringMatching(
        /^context budget {2}codex, default model: \d+ of 9568 tokens; every description is listed$/,
      ),
      expect.stringMatching(
        /^context budget {2}claude-code, with 200000 tokens: \d+ of 1923 characters, about \d+ tokens; every description is listed$/,
      ),
      'context budget  overlap: skills/sound and skills/warned share 100 % of their words',
      '3 skills, 2 pass, 1 error, 1 warning',
      '',
    ])
    expect(status).toBe(3)
  })

  test.each([
    ['a warning', ['skills/warned'], 0],
    ['a warning, strictly', ['skills/warned', '--strict'], 3],
    ['a skill without the block that is asked for', ['skills/sound', '--contract'], 3],
    ['no such path', ['skills/gone'], 2],
    ['a folder without a skill', ['tmp'], 2],
    ['an unknown level', ['skills', '--level', 'high'], 2],
    ['two forms at once', ['skills', '--json', '--sarif'], 2],
  ])('ends for %s (%j) with %d', async (_, args, expected) => {
    await using home = await homeWith(SKILLS)

    const { status } = await home.run('skill', 'validate', ...args)

    expect(status).toBe(expected)
  })

  test('passes over files that lie in no skill, as programs that run before a commit name them, and says so', async () => {
    await using home = await homeWith(SKILLS)
    await writeFile(join(home.path, 'stray.txt'), '')

    const [alone, beside] = [
      await home.run('skill', 'validate', 'stray.txt', '--quiet'),
      await home.run('skill', 'validate', 'stray.txt', 'skills/sound/SKILL.md', 'skills/broken one/SKILL.md'),
    ]

    expect([alone.status, alone.stdout.split(',')[0], alone.stderr]).toEqual([0, '0 skills', ''])
    expect([beside.status, beside.stdout.split('\n').at(-2)?.split(',')[0]]).toEqual([3, '2 skills'])
    expect(beside.stderr).toBe('skillsyncd: stray.txt is in no skill and is skipped\n')
  })

  test('looks at the folder it is run in, and at each skill once', async () => {
    await using home = await homeWith(SKILLS)

    const [here, twice] = [
      await home.run('skill', 'validate'),
      await home.run('skill', 'validate', 'skills/sound', '.', 'skills'),
    ]

    expect(here.stdout).toContain('3 skills, 2 pass')
    expect(twice.stdout).toBe(here.stdout)
  })

  test('leaves nothing behind, and nothing of the terminal’s steering in what it prints', async () => {
    await using home = await homeWith({
      'a\u001B[31m/SKILL.md': skillMd(['name: "\\e[31m"', 'description: Use it when red']),
    })

    const { stdout } = await home.run('skill', 'validate', 'skills')

    expect(stdout).not.toContain('\u001B')
    expect(await readdir(join(home.path, 'tmp'))).toEqual([])
    expect(stdout).toContain('name-invalid')
  })

  test('--json has the summary, the skills and the findings', async () => {
    await using home = await homeWith(SKILLS)

    const { stdout, status } = await home.run('skill', 'validate', 'skills', '--json')

    expect(status).toBe(3)
    expect(JSON.parse(stdout)).toEqual({
      level: 'spec',
      contract: false,
      summary: { skills: 3, pass: 2, errors: 1, warnings: 1 },
      skills: [
        { path: 'skills/broken one', name: 'Broken', errors: 1, warnings: 0, pass: false },
        { path: 'skills/sound', name: 'sound', errors: 0, warnings: 0, pass: true },
        { path: 'skills/warned', name: 'warned', errors: 0, warnings: 1, pass: true },
      ],
      findings: [
        expect.objectContaining({
          path: 'skills/broken one/SKILL.md',
          line: 2,
          column: 7,
          severity: 'error',
          by: 'spec',
          code: 'name-invalid',
        }),
        expect.objectContaining({
          path: 'skills/warned/SKILL.md',
          line: 7,
          column: 12,
          severity: 'warning',
          by: 'skillsyncd',
          code: 'link-leaves-skill',
        }),
      ],
      budget: expect.objectContaining({ skills: 3, overlaps: [expect.objectContaining({ likeness: 1 })] }),
    })
  })

  test('says which descriptions an agent drops, and fewer with a larger window', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `skill-${index + 10}`)
    const described = (name: string): string =>
      `Does ${name} ${'and what it says '.repeat(20)}. Use when ${name} is due.`
    await using home = await homeWith(
      Object.fromEntries(
        names.map((name) => [`${name}/SKILL.md`, skillMd([`name: ${name}`, `description: ${described(name)}`])]),
      ),
    )

    const [unknown, large, wrong] = [
      await home.run('skill', 'validate', 'skills'),
      await home.run('skill', 'validate', 'skills', '--json', '--window', '1000000'),
      await home.run('skill', 'validate', 'skills', '--window', '0'),
    ]

    expect(unknown.stdout).toMatch(
      /claude-code, with 200000 tokens: \d+ of 1923 characters, about \d+ tokens; \d+ without description: skills\/skill-\d+, skills\/skill-\d+, skills\/skill-\d+ and \d+ more\n/,
    )
    expect(unknown.stdout).toMatch(/codex, default model: \d+ of 9568 tokens; every description is listed\n/)
    expect([unknown.status, large.status, wrong.status]).toEqual([0, 0, 2])
    expect(JSON.parse(large.stdout).budget.clients).toMatchObject([
      { client: 'claude-code', window: 1_000_000, allowance: { unit: 'characters', limit: 23_923 }, affected: [] },
      { client: 'codex', window: 1_000_000, allowance: { unit: 'tokens', limit: 9_568 }, affected: [] },
    ])
  })

  test('--sarif has paths from where it is run, however the folder is named', async () => {
    await using home = await homeWith(SKILLS)
    const named = ['skills', join(home.path, 'skills')]

    const logs = await Promise.all(
      named.map(async (path) => (await home.run('skill', 'validate', path, '--sarif')).stdout),
    )

    expect(logs[0]).toContain('"uri": "skills/warned/SKILL.md"')
    expect(logs[1]).toBe(logs[0])
  })

  test('--sarif has what code hosts ask for', async () => {
    await using home = await homeWith(SKILLS)

    const { stdout, status } = await home.run('skill', 'validate', 'skills', '--sarif')

    const log = JSON.parse(stdout)
    expect(status).toBe(3)
    expect(log).toMatchObject({ $schema: expect.stringMatching(/sarif.*2\.1\.0.*json$/), version: '2.1.0' })
    const [run] = log.runs
    const { driver } = run.tool
    expect(driver.name).toBe('skillsyncd')
    expect(run.columnKind).toBe('utf16CodeUnits')
    expect(new Set(driver.rules.map(({ id }: { id: string }) => id)).size).toBe(driver.rules.length)
    for (const rule of driver.rules) {
      expect(rule).toMatchObject({ shortDescription: { text: expect.any(String) }, help: { text: expect.any(String) } })
      expect(['error', 'warning']).toContain(rule.defaultConfiguration.level)
    }
    for (const result of run.results) {
      expect(driver.rules[result.ruleIndex].id).toBe(result.ruleId)
      expect(['error', 'warning']).toContain(result.level)
      expect(result.message.text).toMatch(/^.+\. Fix: .+/)
      const [{ physicalLocation }] = result.locations
      expect(physicalLocation.region.startLine).toBeGreaterThanOrEqual(1)
      expect(physicalLocation.region.startColumn).toBeGreaterThanOrEqual(1)
    }
    expect(run.results.map(({ locations }: any) => locations[0].physicalLocation.artifactLocation.uri)).toEqual([
      'skills/broken%20one/SKILL.md',
      'skills/warned/SKILL.md',
    ])
  })

  test('says of a folder that holds links out of it alone what to name instead', async () => {
    await using home = await homeWith({ linked: { link: '/etc' } })

    const { status, stderr } = await home.run('skill', 'validate', 'skills')

    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/no SKILL\.md in "skills" or below; links that lead out/),
    ])
  })

  test('says of a folder whose skills are ignored which line does it', async () => {
    await using home = await homeWith({ '.gitignore': 'pdf/', 'pdf/SKILL.md': '' })

    const { status, stderr } = await home.run('skill', 'validate', 'skills')

    expect(status).toBe(2)
    expect(stderr).toContain('or below that counts; "pdf/SKILL.md": The skill is not served')
    expect(stderr).toContain('its SKILL.md is ignored by line 1 of ".gitignore" ("pdf/")')
  })

  test('reads no configuration, and makes no state folder', async () => {
    await using home = await homeWith(SKILLS)
    await writeFile(join(home.path, 'skillsyncd.yaml'), 'no configuration')
    const before = await readdir(home.path)

    const { status } = await home.run('skill', 'validate', 'skills/sound')

    expect(status).toBe(0)
    expect(await readdir(home.path)).toEqual(before)
  })

  test('a file of four megabytes of brackets is judged', async () => {
    await using home = await homeWith({ 'a/SKILL.md': sound('a', [], '[a]('.repeat(2 ** 20)) })

    const { status, stdout } = await home.run('skill', 'validate', 'skills')

    expect(stdout).toContain('body-tokens')
    expect(status).toBe(0)
  })
})
