import { copyFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import MarkdownIt from 'markdown-it'
import { expect, test } from 'vitest'
import { skill, World } from '../../../e2e/world.ts'
import { Home } from '../../../support/process/program.ts'

const HOSTILE = [
  'Thanks @octocat, fixes #1',
  '````',
  '<!-- hidden -->',
  '/merge',
  'a\u200Bc',
  '![x](https://evil.example.com/x.png)',
]

test('a machine without state writes the same text for the same moves, skill by skill', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'stays') })
  await world.synced()
  await world.home.command('lock')
  await using first = await fresh(world)
  await using second = await fresh(world)
  await world.repository.commit({
    'alpha/SKILL.md': skill('alpha', 'second').replace('---\nsecond', 'license: MIT\n---\n!`date`\nsecond'),
    'alpha/scripts/run.sh': 'echo run\n',
    'delta/SKILL.md': skill('delta', 'Reads \u202Eecalp siht'),
    'gamma/SKILL.md': skill('gamma', HOSTILE.join('\n')),
    'beta/SKILL.md': null,
  })

  const end = await first.command('update', '--pr')
  const again = await second.command('update', '--pr', '--json')
  const still = await first.command('update', '--pr')

  expect(end).toMatchObject({ status: 0 })
  expect(end.stdout).toContain('1 source moved: 1 skill added, 1 skill changed, 1 skill removed, 1 skill withheld.\n')
  expect(end.stdout).toContain('- `team/alpha`: new program `scripts/run.sh`\n')
  expect(end.stdout).toContain('- `team/alpha`: new shell command when it is loaded `date`\n')
  expect(end.stdout).toContain('- license `MIT`\n')
  expect(end.stdout).toMatch(
    /^- context budget: claude-code [+-]\d+ to \d+ of 23923 characters \(default model\); codex /m,
  )
  expect(end.stdout).toContain('-first\n+!`date`\n+second\n')
  expect(end.stdout).toContain('#### `team/beta`: removed\n')
  expect(end.stdout).toMatch(/- `team\/gamma`: hidden characters `SKILL\.md`, `.*U\+200B/)
  expect(end.stdout).toMatch(/- `team\/delta`: withheld `hidden-unicode`, `.*U\+202E/)
  expect(end.stdout).toContain('+a\\u{200b}c\n')
  expect(JSON.parse(again.stdout).pullRequest).toBe(end.stdout)
  expect(await readFile(lockOf(second), 'utf8')).toBe(await readFile(lockOf(first), 'utf8'))
  expect(still.stdout).toBe('No source moved.\n')
  expect(forgeries(end.stdout)).toEqual([])
})

test('the text has the lines of changed docs, and names a program that is no text', async () => {
  await using world = await World.create(['every: 1h', 'docs: docs'])
  await world.repository.commit({ 'docs/usage.md': 'first\n' })
  await world.synced()
  await world.home.command('lock')
  await world.repository.commit({
    'docs/usage.md': 'second\n',
    'alpha/go': { executable: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]) },
  })

  const { stdout } = await world.home.command('update', '--pr')

  expect(stdout).toContain('#### The docs folder of `team`: changed\n')
  expect(stdout).toContain('-first\n+second\n')
  expect(stdout).toMatch(/- program `go` is not shown: `it is a program and no text`; 5 bytes, sha256 [0-9a-f]{64}\n/)
})

/** A home with the configuration and the lock of the world, and no state. */
async function fresh(world: World): Promise<Home> {
  const home = await Home.create()
  await home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] })
  await copyFile(lockOf(world.home), lockOf(home))
  return home
}

function lockOf({ configFile }: Home): string {
  return join(dirname(configFile), 'skills.lock')
}

/** Everything that a reader of Markdown makes of foreign text, other than code. */
function forgeries(text: string): string[] {
  const tokens = new MarkdownIt({ html: true, linkify: true }).parse(text, {})
  const inline = tokens.flatMap(({ children }) => children ?? [])
  const plain = inline.filter(({ type }) => type === 'text').map(({ content }) => content)
  return [
    ...[...tokens, ...inline].filter(({ type }) => /html|link|image/.test(type)).map(({ content }) => content),
    ...plain.filter((words) => /@|#\d|^\//.test(words)),
  ]
}
