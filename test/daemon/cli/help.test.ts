import { expect, test } from 'vitest'
import { helpOf, helpOfCommand } from '../../../src/daemon/cli/help.ts'
import { commandIn, parseOptions } from '../../../src/daemon/command-line.ts'
import { CALLS, COMMAND_GROUPS, COMMANDS, SYNONYMS } from '../../../src/daemon/command-table.ts'
import { VERSION } from '../../../src/serve/version.ts'
import { Home } from '../../support/process/program.ts'

const commands = await Promise.all([...CALLS.values()].map(({ load }) => load()))

test.each([50, 80, 100, 200])('no line of the help is longer than a terminal of %i columns, or than 100', (columns) => {
  const texts = [helpOf(COMMAND_GROUPS, columns), ...commands.map((command) => helpOfCommand(command, 'Done', columns))]
  // An example is one line to copy, and so is a line of a script.
  const prose = texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => !/^ {2}(?: {2}|\S*skillsyncd |source )/.test(line))

  expect(prose.filter((line) => line.length > Math.min(columns, 100))).toEqual([])
})

test('the list of commands has one line for each at 80 columns, below its heading', () => {
  const lines = helpOf(COMMAND_GROUPS, 80).split('\n')

  for (const { heading, commands: listed } of COMMAND_GROUPS) {
    const at = lines.indexOf(`${heading}:`)
    expect(lines.slice(at + 1, at + 1 + listed.size).map((line) => line.slice(2, 24).trim())).toEqual([
      ...listed.keys(),
    ])
    expect(lines[at + 1 + listed.size]).toBe('')
  }
})

test.each(commands.map((command) => [command.name, command] as const))(
  'the examples of %s are command lines of it',
  async (name, { examples }) => {
    for (const example of examples) {
      const [line = ''] = example.split(/ >>? /)
      const bare = line.replace(/^(?:sudo |source <\()/, '').replace(/\)$/, '')
      const words = bare.match(/"[^"]*"|\S+/g) ?? []
      expect(words[0]).toBe('skillsyncd')
      const { command, args } = await commandIn(words.slice(1))
      expect(command.name).toBe(name)
      const { positionals } = parseOptions(command, args)
      expect(positionals.length).toBeLessThanOrEqual(command.operands?.most ?? 0)
    }
  },
)

test('a command of another program, and a mistyped one, run nothing, and are answered with the command that is meant', async () => {
  for (const [word, meant] of Object.entries(SYNONYMS)) {
    const name = meant.startsWith('--') ? meant : (await commandIn(meant.split(' '))).command.name
    expect(['--help', '--version', ...CALLS.keys()]).toContain(name)
    expect(COMMANDS.has(word)).toBe(false)
    await expect(commandIn([word])).rejects.toThrow(
      `There is no command "${word}"; did you mean "skillsyncd ${meant}"?`,
    )
  }
  await expect(commandIn(['statsu'])).rejects.toThrow('did you mean "skillsyncd status"?')
  await expect(commandIn(['mcp-source', 'miror'])).rejects.toThrow('did you mean "skillsyncd mcp-source mirror"?')
  await expect(commandIn(['mcp-source', 'xyz'])).rejects.toThrow('it has mirror, add')
  await expect(commandIn(['constructor'])).rejects.toThrow('skillsyncd --help lists them')
})

test('an option is corrected, and may stand before its command', async () => {
  await using home = await Home.create()

  const wrong = await home.command('explain', '--jsno')
  const early = await home.command('--json', '--log-level', 'error', 'explain', 'mass-deletion')
  const alone = await home.command('--skills-dir', '/tmp')

  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining("'--jsno'; did you mean --json?") })
  expect(early).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(early.stdout)).toMatchObject({ codes: [{ code: 'mass-deletion' }] })
  expect(alone).toMatchObject({ status: 2, stderr: expect.stringContaining('The command stands before its options') })
})

test('--version tells the versions and the platform, also as JSON', async () => {
  await using home = await Home.create()
  const { versions, platform, arch } = process

  const text = await home.command('--version')
  const json = await home.command('--version', '--json')
  const early = await home.command('--json', '--version')

  expect(text).toMatchObject({ status: 0, stderr: '' })
  expect(text.stdout).toBe(`skillsyncd ${VERSION}\nNode.js ${versions.node}, ${platform} ${arch}\n`)
  expect(JSON.parse(json.stdout)).toEqual({ skillsyncd: VERSION, node: versions.node, platform, arch })
  expect(early.stdout).toBe(json.stdout)
})

test('help is that of a command, of a family and of all', async () => {
  await using home = await Home.create()

  const all = await home.command('--help')
  const one = await home.command('link', '--help')
  const family = await home.command('mcp-source')

  expect(all.stdout).toBe((await home.command()).stdout)
  expect(all.stdout).toContain('Pinning and review:')
  expect(one.stdout).toBe((await home.command('-q', 'link', '-h')).stdout)
  expect(one.stdout).toContain('Examples:\n  skillsyncd link claude-code codex\n')
  expect(family.stdout).toBe((await home.command('mcp-source', '--help')).stdout)
  expect(family.stdout).toContain('mcp-source add ')
  expect([all, one, family].map(({ status }) => status)).toEqual([0, 0, 0])
})

test('with --json a failure is JSON on stdout too, and text on stderr as ever', async () => {
  await using home = await Home.create()

  const usage = await home.command('rollback', '--json', '--source', 'https://git.example.com/team/skills')
  const missing = await home.command('status', '--json')
  const unknown = await home.command('nope', '--json')

  for (const end of [usage, missing, unknown]) {
    const { error, exitStatus } = JSON.parse(end.stdout)
    expect(exitStatus).toBe(end.status)
    expect(end.stderr).toContain(error.message)
  }
  expect(JSON.parse(missing.stdout).error.code).toBe('bad-config')
  expect(JSON.parse(unknown.stdout).error.code).toBe('usage')
})
