import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Config } from '../../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { readConfig } from '../../../../src/daemon/configuration.ts'
import { writeNew } from '../../../../src/daemon/runtime/new-file.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { neededProgram } from '../../../support/process/has-program.ts'
import { Home, MAIN } from '../../../support/process/program.ts'

test('add writes the first configuration: it looks at each repository, and what it writes is served as it stands', async () => {
  await using world = await World.create()

  const end = await world.add(world.url)

  expect(end).toMatchObject({ status: 0 })
  expect(end.stdout).toMatch(/team: main at [0-9a-f]{12}: 2 skills below skills\/; 1 elsewhere/)
  expect(end.stdout).toContain(`skillsyncd start --config ${world.file}`)
  const { sources } = await world.written()
  expect(sources.map(({ source }) => source)).toMatchObject([
    { id: 'team', url: world.url, ref: 'main', root: 'skills' },
  ])
  const sync = await world.home.command('sync', '--config', world.file, '--json')
  expect(JSON.parse(sync.stdout).sources).toMatchObject([{ source: 'team', outcome: 'updated', tally: { seen: 2 } }])
})

test('a folder docs with Markdown files is proposed in the first file and later, also where skills are below it', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  await using bare = await Repository.create()
  await world.repository.commit({ 'docs/guide/index.md': 'Read me', 'docs/skills/gamma/SKILL.md': skill('gamma') })
  await other.commit({ 'docs/index.md': 'Read me', 'beta/SKILL.md': skill('beta') })
  await bare.commit({ 'docs/skills/beta/SKILL.md': skill('beta'), 'docs/logo.png': 'x' })
  const says = '; `docs: docs` in one source serves its folder docs/ too'

  const begun = await world.add(world.url)
  const text = await readFile(world.file, 'utf8')
  const added = await world.home.command('add', world.git.serve('other', other), '--config', world.file)
  const without = await world.home.command('add', world.git.serve('bare', bare), '--config', world.file)
  const all = await readFile(world.file, 'utf8')
  const removed = await world.home.command('remove', 'other', '--config', world.file)

  expect(begun.stdout).toContain(says)
  expect(text).toContain('    # docs: docs # serves the Markdown files of docs/ at resource://docs/; one source may\n')
  expect(added.stdout).toContain(says)
  expect(all.split(says)).toHaveLength(3)
  expect(without).toMatchObject({ status: 0, stdout: expect.not.stringContaining('docs:') })
  expect(removed.status).toBe(0)
  expect((await readFile(world.file, 'utf8')).split(says)).toHaveLength(2)
})

test('what it looks at leaves nothing behind but the file', async () => {
  await using world = await World.create()

  await world.home.run('add', '--config', 'skillsyncd.yaml', world.url)

  expect(await readdir(join(world.home.path, 'tmp'))).toEqual([])
  expect((await readdir(world.home.path)).toSorted()).toEqual(['config', 'run', 'skillsyncd.yaml', 'tmp'])
  expect((await stat(world.file)).mode & 0o777).toBe(0o644)
})

test('a file that came while add looked is never written over', async () => {
  await using world = await World.create()
  await writeFile(world.file, 'mine\n')

  const late = await writeNew(world.file, 'theirs\n')

  expect(late).toBe(false)
  expect(await readFile(world.file, 'utf8')).toBe('mine\n')
  expect((await readdir(world.home.path)).filter((name) => name.startsWith('.tmp'))).toEqual([])
})

test('without a configuration the first is that of the user, which the commands that it shows find', async () => {
  await using world = await World.create()

  const end = await world.home.command('add', world.url, '--id', 'mine')

  expect(end).toMatchObject({ status: 0, stdout: expect.stringMatching(/^mine: main at /) })
  expect(end.stdout).toContain(`wrote ${world.home.configFile}\n`)
  expect(end.stdout).not.toContain('--config')
  expect(
    (await readConfig({ file: world.home.configFile }, environmentOf(world.home.env, world.home.path))).sources,
  ).toHaveLength(1)
})

test('a repository without any SKILL.md is not added, and the keys that choose what is searched are named', async () => {
  await using world = await World.create()
  await using bare = await Repository.create()
  await bare.commit({ 'README.md': 'Nothing here', 'agents/alpha/SKILL.md': skill('alpha') })
  const url = world.git.serve('bare', bare)

  const first = await world.add(`${url}#main:docs`).catch((error: unknown) => error)
  await bare.commit({ 'docs/README.md': 'Nothing here either' })
  const none = await world.add(`${url}#main:docs`)
  const there = await readdir(world.home.path)
  await world.add(world.url)
  const later = await world.add(`${url}#main:docs`, '--id', 'later')
  const right = await world.add(`${url}#main:agents`, '--id', 'right')

  expect(first).toMatchObject({ status: 1, stderr: expect.stringContaining('(root-not-found)') })
  for (const end of [none, later]) {
    expect(end).toMatchObject({ status: 3, stdout: '' })
    expect(end.stderr).toMatch(
      /No SKILL\.md was found in ".*bare.git" at [0-9a-f]{12} below docs\/; 1 SKILL\.md file elsewhere/,
    )
    expect(end.stderr).toMatch(/`root` in the entry, or #BRANCH:FOLDER.*`include` and `exclude`.*Nothing was written/s)
  }
  expect(there).not.toContain('skillsyncd.yaml')
  expect(right).toMatchObject({ status: 0 })
  expect((await world.written()).sources.map(({ source }) => source)).toMatchObject([
    { id: 'team' },
    { id: 'right', url, ref: 'main', root: 'agents' },
  ])
})

test('of a repository on this disk it says that its last commit counts, and how the files do', async () => {
  await using world = await World.create()
  const { folder } = world.repository
  const note = `serves the last commit, without edits that are not committed; to serve the files as they are, write path: ${folder} in place`

  const first = await world.add(folder)
  const second = await world.add(`file://${folder}#main`, '--id', 'again', '--offline')
  const remote = await world.add(world.url)

  expect(first.stdout).toContain(note)
  expect(second.stdout + second.stderr).toMatch(/again|has this address already/)
  expect(remote.stdout).not.toContain('note:')
})

test.each([
  ['a password', 'https://ada:canary-77aa@git.example.com/team/skills.git'],
  ['a user name that may be a token', 'https://canary-77aa@git.example.com/team/skills.git'],
  ['a query', 'https://git.example.com/team/skills.git?private_token=canary-77aa'],
  ['a token of a known form', `https://git.example.com/ghp_${'canary77aa'.repeat(4)}/skills.git`],
])('an address with %s is refused with the mend, and reaches neither file nor output', async (_, address) => {
  await using world = await World.create()

  const end = await world.add(world.url, address)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toMatch(/Cannot use address 2: it .*(?:auth|secrets out of this file)/)
  expect(end.stderr).not.toContain('canary')
  expect(await readdir(world.home.path)).not.toContain('skillsyncd.yaml')
  expect(world.git.requests).toEqual([])
})

test('where one of them cannot be reached nothing is written, each is told, and --offline writes', async () => {
  await using world = await World.create()
  const [absent, closed] = [`${world.git.origin}/absent.git`, 'http://127.0.0.1:1/closed.git']

  const failed = await world.add(world.url, absent, closed)
  const there = await readdir(world.home.path)
  const before = world.git.requests.length
  const offline = await world.add('--offline', world.url, absent, closed)

  expect(failed).toMatchObject({ status: 1, stdout: '' })
  for (const word of ['repository-not-found', 'source-unreachable', '--offline', 'private repository without'])
    expect(failed.stderr).toContain(word)
  expect(there).not.toContain('skillsyncd.yaml')
  expect(offline.status).toBe(0)
  expect(world.git.requests).toHaveLength(before)
  expect((await world.written()).sources.map(({ source }) => source.id)).toEqual(['team', 'absent', 'closed'])
})

test('a folder without git is written as a path, also where nothing is read', async () => {
  await using world = await World.create()
  const folder = join(world.home.path, 'mine')
  await fillFolder(folder, { 'a/SKILL.md': skillText('a') })

  const end = await world.add('--offline', folder)

  expect(end.status).toBe(0)
  expect((await world.written()).sources.map(({ source }) => source)).toMatchObject([
    { kind: 'directory', path: folder },
  ])
})

test('without a terminal nobody is asked, and an address is wanted', async () => {
  await using world = await World.create()

  const end = await world.add()

  expect(end).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('skillsyncd add https://') })
})

test('on a terminal it asks until all are named, says what each has, and asks again for what is wrong', async () => {
  await using world = await World.create()
  const lines = ['https://ada:canary-77aa@git.example.com/x', 'http://127.0.0.1:1/no', 'n', world.url, '']

  const end = await world.home.typing(lines, 'add', '--config', world.file)

  expect(end.status).toBe(0)
  expect(end.stderr).toContain('contains a user name or a password')
  expect(end.stderr).toContain('(source-unreachable)')
  expect(end.stderr).toContain('Write it all the same? [y/N]')
  expect(end.stderr).toContain('2 skills below skills/')
  expect(end.stderr).not.toContain('canary')
  expect((await world.written()).sources.map(({ source }) => source.url)).toEqual([world.url])
})

test('who says yes has a repository that cannot be reached yet, and who names nothing has no file', async () => {
  await using world = await World.create()

  const nothing = await world.home.typing([''], 'add', '--config', world.file)
  const there = await readdir(world.home.path)
  const yes = await world.home.typing(['http://127.0.0.1:1/later', 'y', ''], 'add', '--config', world.file)

  expect(nothing).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('nothing was written') })
  expect(there).not.toContain('skillsyncd.yaml')
  expect(yes.status).toBe(0)
  expect((await world.written()).sources).toHaveLength(1)
})

test('ids come from the addresses, by whose a repository is where all are called alike, and differ; twice is once', async () => {
  await using world = await World.create()
  const addresses = [
    'https://github.com/anthropics/skills.git',
    'https://gitlab.com/anthropics/skills',
    'git@git.example.com:acme/agent-skills.git',
    'ssh://git@git.example.com/House_Skills',
    'file:///',
    'https://github.com/anthropics/skills.git',
  ]

  await world.add('--offline', ...addresses)

  const { sources } = await world.written()
  expect(sources.map(({ source }) => source.id)).toEqual([
    'anthropics',
    'anthropics-2',
    'acme',
    'house-skills',
    'source',
  ])
})

test('an address whose last word would be a number or nothing in YAML gives an id that is text', async () => {
  await using world = await World.create()
  const words = ['2024', 'true', 'null', '0x1f', '1e3']

  const end = await world.add('--offline', ...words.map((word) => `https://git.example.com/team/${word}`))

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect((await world.written()).sources.map(({ source }) => source.id)).toEqual(words)
})

test('a branch whose name reads as a commit is not written down: the default branch is followed', async () => {
  await using world = await World.create()
  await using odd = await Repository.create({ branch: 'deadbeef'.repeat(5) })
  await odd.commit({ 'alpha/SKILL.md': skill('alpha') })

  const end = await world.add(world.git.serve('odd', odd))

  expect(end).toMatchObject({ status: 0, stdout: expect.stringMatching(/^odd: [0-9a-f]{12}: 1 skill\n/) })
  expect(await readFile(world.file, 'utf8')).not.toContain('ref:')
})

test('a path is that of a repository, else of a plain folder, whatever it is called', async () => {
  await using world = await World.create()
  const folder = join(world.home.path, `it's: a #1 {folder} "here"`)
  await mkdir(join(folder, 'alpha'), { recursive: true })
  await writeFile(join(folder, 'alpha/SKILL.md'), skill('alpha'))

  const end = await world.add(folder, world.repository.folder)
  const absent = await world.add(join(world.home.path, 'absent'))

  expect(end).toMatchObject({ status: 0, stdout: expect.stringContaining(': 1 skill\n') })
  const { sources } = await world.written()
  expect(sources.map(({ source }) => source)).toMatchObject([
    { kind: 'directory', path: folder },
    { kind: 'git', url: expect.stringMatching(/^file:\/\//), root: 'skills' },
  ])
  expect(absent).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('absent": not found (repository-not-found)'),
  })
})

test('a branch that is not there is told of the id that the source would get', async () => {
  await using world = await World.create()

  const end = await world.add(`${world.url}@nope`)

  expect(end).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Cannot resolve "nope" of "team": no such ref'),
  })
})

test('--json has what was written, and the folder of the file is made', async () => {
  await using world = await World.create()
  const file = join(world.home.path, 'a/b/skillsyncd.yaml')

  const end = await world.home.command('add', '--json', '--config', file, world.url)

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(end.stdout)).toEqual({
    config: file,
    added: [{ id: 'team', url: world.url, ref: 'main', root: 'skills' }],
    reloaded: false,
  })
  expect(await readdir(join(world.home.path, 'a/b'))).toEqual(['skillsyncd.yaml'])
})

test('--json has a problem for each address that is not added, and nothing is written', async () => {
  await using world = await World.create()
  const file = join(world.home.path, 'none.yaml')
  await using empty = await Repository.create()
  await empty.commit({ 'README.md': 'text' })
  const gone = join(world.home.path, 'gone')

  const both = await world.home.command('add', '--json', '--config', file, gone, empty.folder)
  const one = await world.home.command('add', '--json', '--config', file, empty.folder)

  expect([both.status, one.status]).toEqual([1, 3])
  const without = { code: 'no-skills', message: expect.stringContaining('No SKILL.md'), fix: expect.any(String) }
  expect(JSON.parse(both.stdout)).toEqual({
    added: [],
    problems: [expect.objectContaining({ code: expect.any(String), message: expect.stringContaining(gone) }), without],
  })
  expect(JSON.parse(one.stdout)).toEqual({ added: [], problems: [without] })
  expect(existsSync(file)).toBe(false)
})

test('on a real terminal it asks', async () => {
  neededProgram('script')
  await using world = await World.create()
  const command = `'${process.execPath}' '${MAIN}' add --config skillsyncd.yaml`
  const run = promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    env: world.home.env,
    cwd: world.home.path,
  })
  run.child.stdin?.end(`${world.url}\n\n`)

  const { stdout } = await run

  expect(stdout).toContain('Which repositories hold your skills?')
  expect(stdout).toContain('2 skills below skills/')
  expect(stdout).toMatch(/ {2}skillsyncd start {14}serves it/)
  expect((await world.written()).sources).toHaveLength(1)
})

class World implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly repository: Repository
  readonly url: string

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.repository = repository
    this.url = git.serve('team', repository)
  }

  /** A repository with two skills below `skills/` and one that is not. */
  static async create(): Promise<World> {
    const repository = await Repository.create()
    await repository.commit({
      'skills/alpha/SKILL.md': skill('alpha'),
      'skills/beta/SKILL.md': skill('beta'),
      'template/SKILL.md': skill('template'),
    })
    return new World(await Home.create(), await GitServer.start(), repository)
  }

  get file(): string {
    return join(this.home.path, 'skillsyncd.yaml')
  }

  async add(...args: string[]): ReturnType<Home['command']> {
    return this.home.command('add', '--config', this.file, ...args)
  }

  async written(): Promise<Config> {
    return readConfig({ file: this.file }, environmentOf(this.home.env, this.home.path))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: One of the tests\n---\nText\n`
}
