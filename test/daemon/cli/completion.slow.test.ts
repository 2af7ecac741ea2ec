import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { neededProgram } from '../../support/process/has-program.ts'
import { Home, MAIN } from '../../support/process/program.ts'

const run = promisify(execFile)

/** What is typed, the last word being the one at the cursor, and what the shell has for it. */
const TYPED: readonly (readonly [readonly string[], readonly string[]])[] = [
  [['st'], ['start', 'status', 'stop', 'store']],
  [['mcp'], ['mcp', 'mcp-source']],
  [
    ['mcp-source', ''],
    ['add', 'mirror'],
  ],
  [['mcp-source', 'mirror', 'be'], ['beta']],
  [['mcp-source', 'add', '--unv'], ['--unverified']],
  [['mcp-source', 'add', 'te'], ['team']],
  [['mcp-source', 'add', 'team', ''], []],
  [['nope', ''], []],
  [
    ['sync', ''],
    ['drafts', 'team'],
  ],
  [['sync', 'te'], ['team']],
  [
    ['sync', 'team', ''],
    ['drafts', 'team'],
  ],
  [
    ['sync', '--lo'],
    ['--locked', '--log-level'],
  ],
  [['sync', '--log-level', 'd'], ['debug']],
  [
    ['hold', ''],
    ['drafts', 'team'],
  ],
  [['hold', 'team', ''], []],
  [
    ['hub', 'token', ''],
    ['add', 'list', 'renew', 'revoke'],
  ],
  [
    ['hub', 'channel', ''],
    ['keys', 'new-key'],
  ],
  [['hub', 'channel', 'new-key', ''], []],
  [['hub', 'publish', '--t'], ['--to']],
  [['hub', 'token', 'add', 'ci', '--scope', 'ch'], ['channel']],
  [
    ['hub', 'token', '--expires', '9d', 'r'],
    ['renew', 'revoke'],
  ],
  [['start', '--port', ''], []],
  [['diff', '--only', 'd'], ['drafts']],
  [
    ['show', ''],
    ['alpha', 'beta', 'drafts/alpha', 'team/beta'],
  ],
  [['show', 'be'], ['beta']],
  [['show', 'team/'], ['team/beta']],
  [
    ['show', '--config', 'elsewhere.yaml', ''],
    ['gamma', 'other/gamma'],
  ],
  [['show', '--config', 'absent.yaml', ''], []],
  [['--completion', 'b'], ['bash']],
  [['--comp'], ['--completion']],
  [['--h'], ['--help']],
]

test('bash completes commands, options, their values, sources and skills', async () => {
  await using home = await homeWithSkills()

  const completed = await typedIn(home, 'bash', (words) => [
    'source ./script',
    `COMP_WORDS=(skillsyncd ${words.map(quoted).join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))`,
    '_skillsyncd; printf "%s\\n" "${COMPREPLY[@]}"',
  ])

  expect(completed).toEqual(TYPED)
})

test('bash completes the value behind an equals sign, and files where a file is wanted', async () => {
  await using home = await homeWithSkills()
  await writeFile(join(home.path, 'script'), (await home.command('--completion', 'bash')).stdout)
  const typing = (...words: string[]): Promise<string[]> =>
    linesOf(home, 'bash', [
      'source ./script',
      `COMP_WORDS=(skillsyncd ${words.map(quoted).join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))`,
      '_skillsyncd; printf "%s\\n" "${COMPREPLY[@]}"',
    ])

  const [level, nothingYet, file, folder] = [
    await typing('skill', 'validate', '--level', '=', 'sp'),
    await typing('skill', 'validate', '--level', '='),
    await typing('list', '--config', 'else'),
    await typing('list', '--state', 'sk'),
  ]

  expect({ level, nothingYet, file, folder }).toEqual({
    level: ['spec'],
    nothingYet: ['skills-ref', 'spec'],
    file: ['elsewhere', 'elsewhere.yaml'],
    folder: ['skills'],
  })
})

test('zsh completes the same', async () => {
  await using home = await homeWithSkills()

  const completed = await typedIn(home, 'zsh', (words) => [
    // What the system of completion does with what it is given: here all of it is printed that fits what is typed.
    'compdef() { }; fits() { for word; do [[ $word == $words[CURRENT]* ]] && print -r -- $word; done }',
    'compadd() { shift; fits "$@" }; _describe() { fits ${${(P)@[-1]}%%:*} }',
    'source ./script',
    `words=(skillsyncd ${words.map(quoted).join(' ')}); CURRENT=$#words; _skillsyncd`,
  ])

  expect(completed).toEqual(TYPED)
})

test('fish completes the same', async () => {
  await using home = await homeWithSkills()

  const completed = await typedIn(home, 'fish', (words) => [
    'source ./script',
    `complete -C ${quoted(['skillsyncd', ...words].join(' '))} | string replace -r '\\t.*' ''`,
  ])

  expect(completed).toEqual(TYPED)
})

test('a name that a shell would take for more than a word is not offered', async () => {
  await using home = await homeWithSkills()
  for (const name of ['$(touch pwned)', '`touch pwned`', 'a b', 'a;b', '-rf', 'a\nb', '~root'])
    await makeSkill(join(home.path, 'skills', name), 'gamma')
  await home.command('sync', 'drafts')

  const { status, stdout } = await home.command('--completion', 'skills', '--', 'show')

  expect(status).toBe(0)
  expect(stdout.split('\n').toSorted()).toEqual(['', 'alpha', 'beta', 'drafts/-rf', 'drafts/alpha', 'team/beta'])
})

test('an operand that is no shell is wrong usage, and what is wrong with a configuration is silence', async () => {
  await using home = await Home.create()
  await writeFile(home.configFile, 'sources: 5\n')

  const ends = [
    await home.command('--completion'),
    await home.command('--completion', 'tcsh'),
    await home.command('--completion', 'toString'),
    await home.command('--completion', 'bash', 'zsh'),
  ]
  const silent = await home.command('--completion', 'sources', '--', 'sync')

  for (const end of ends)
    expect(end).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('bash, zsh or fish') })
  expect(silent).toEqual({ status: 0, signal: null, stdout: '', stderr: '' })
})

/** Two sources, each a folder with a skill, another configuration beside, and the program in a folder of PATH. */
async function homeWithSkills(): Promise<Home> {
  const home = await Home.create()
  const folders = { drafts: 'skills', team: 'shared', other: 'elsewhere' }
  await makeSkill(join(home.path, 'skills/alpha'), 'alpha')
  await makeSkill(join(home.path, 'shared/beta'), 'beta')
  await makeSkill(join(home.path, 'elsewhere/gamma'), 'gamma')
  await home.configure({
    drafts: [`path: ${join(home.path, folders.drafts)}`],
    team: [`path: ${join(home.path, folders.team)}`],
  })
  const other = join(home.path, 'elsewhere.yaml')
  await writeFile(
    other,
    `sources: [{ id: other, path: '${join(home.path, folders.other)}' }]\nstate: ${home.path}/other\n`,
  )
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  expect(await home.command('sync', '--config', other)).toMatchObject({ status: 0 })
  await mkdir(join(home.path, 'bin'))
  await writeFile(join(home.path, 'bin/skillsyncd'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`)
  await chmod(join(home.path, 'bin/skillsyncd'), 0o755)
  home.env['PATH'] = `${join(home.path, 'bin')}:${home.env['PATH']}`
  return home
}

async function makeSkill(folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: One of the tests\n---\nText\n`)
}

/** What the shell has for each that is typed, by the script that the program prints for it. */
async function typedIn(
  home: Home,
  shell: string,
  linesFor: (words: readonly string[]) => readonly string[],
): Promise<unknown> {
  const { status, stdout } = await home.command('--completion', shell)
  expect(status).toBe(0)
  await writeFile(join(home.path, 'script'), stdout)
  return Promise.all(TYPED.map(async ([words]) => [words, await linesOf(home, shell, linesFor(words))]))
}

async function linesOf(home: Home, shell: string, lines: readonly string[]): Promise<string[]> {
  neededProgram(shell)
  const { stdout } = await run(shell, ['-c', `${lines.join('\n')}\ntrue`], { env: home.env, cwd: home.path })
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .toSorted()
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
