import { once } from 'node:events'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'

test('before anything was ever synced each command says so, and none fails for it', async () => {
  await using world = await World.create()

  const status = await world.home.command('status', '--json')
  const list = await world.home.command('list', '--json')
  const show = await world.home.command('show', 'alpha')

  expect(status).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(status.stdout)).toMatchObject({
    generation: 0,
    skills: 0,
    sources: [{ id: 'team' }, { id: 'more' }],
  })
  expect(JSON.parse(status.stdout).daemon).toBeUndefined()
  expect(list).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(list.stdout)).toEqual({ skills: [] })
  expect(show).toMatchObject({ status: 1, stdout: '' })
  expect((await world.home.command('status')).stdout).toContain('never pulled')
})

test('each command says the same with a running daemon and without one', async () => {
  await using world = await World.create()
  const alone = { sync: await world.home.run('sync', '--json'), ...(await world.results()) }
  const daemon = world.home.start('start')
  await daemon.line()

  const asked = { sync: await world.home.run('sync', '--json'), ...(await world.results()) }

  for (const end of Object.values({ ...alone, ...asked })) expect(end.status).toBe(0)
  for (const name of ['list', 'show', 'lines'] as const) expect(asked[name].stdout).toBe(alone[name].stdout)
  const withDaemon = JSON.parse(asked.status.stdout)
  expect(withDaemon.daemon.pid).toBe(daemon.pid)
  expect(timeless(withDaemon)).toEqual(timeless(JSON.parse(alone.status.stdout)))
  expect(outcomes(alone.sync.stdout)).toEqual({ team: 'updated', more: 'updated' })
  expect(outcomes(asked.sync.stdout)).toEqual({ team: 'unchanged', more: 'unchanged' })
})

test('a sync by the daemon and one without it tell an update in the same words', async () => {
  await using world = await World.create()
  const first = await world.home.command('sync', '--json', 'team')
  const daemon = world.home.start('start')
  await daemon.line()

  await world.team.commit({ 'alpha/SKILL.md': skill('alpha', 'changed') })
  const second = await world.home.command('sync', '--json', 'team')

  const [alone, asked] = [first, second].map(({ stdout }) => JSON.parse(stdout).sources[0])
  const { commit, changes } = asked
  expect(asked).toEqual({ ...alone, commit, changes, upstream: { ...alone.upstream, commit } })
  expect(changes).toEqual([{ change: 'changed', count: 1, first: [{ path: 'alpha' }] }])
  expect(asked.commit).not.toBe(alone.commit)
})

test('what list prints is what is served', async () => {
  await using world = await World.create()
  await world.synced()
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())

  const { skills } = JSON.parse((await world.home.command('list', '--served', '--json')).stdout)

  const { result } = await peer.call('skills/list')
  const shown = skills.map(async ({ uri, files }: any) => {
    expect(files).toBeUndefined()
    const row = JSON.parse((await world.home.command('show', uri, '--json')).stdout)
    return [uri, row.files.map(({ digest, size }: any) => [digest, size]).sort()]
  })
  const told: readonly (readonly [unknown, unknown])[] = await Promise.all(shown)
  const served = result.skills.map((entry: any) => [
    entry.uri,
    entry.resources.map(({ digest, size }: any) => [digest, size]).sort(),
  ])
  expect(new Map(told)).toEqual(new Map(served))
  expect(served).toHaveLength(3)
})

test('a source that is no longer configured is neither served nor listed', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] })

  const before = { list: await world.home.command('list'), status: await world.home.command('status', '--json') }
  const daemon = world.home.start('start')
  await using peer = await modernHttp(await daemon.line())
  const { result } = await peer.call('skills/list')
  const after = { list: await world.home.command('list'), status: await world.home.command('status', '--json') }

  expect(result.skills.map(({ uri }: any) => uri)).toEqual([
    'skill://team/alpha/SKILL.md',
    'skill://team/nested/beta/SKILL.md',
  ])
  for (const { list, status } of [before, after]) {
    expect(list.stdout).not.toContain('skill://more')
    expect(JSON.parse(status.stdout).skills).toBe(2)
  }
})

test('show finds a skill by its URI, its path with and without the source, and its name', async () => {
  await using world = await World.create()
  await world.synced()
  const uri = 'skill://team/nested/beta'
  const asked = [`${uri}/SKILL.md`, uri, 'team/nested/beta', 'nested/beta', 'beta']

  const ends = await Promise.all(asked.map((name) => world.home.command('show', '--json', name)))

  for (const { status, stdout } of ends) {
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      source: 'team',
      path: 'nested/beta',
      name: 'beta',
      verdict: { state: 'served' },
    })
  }
})

test('show names the candidates of a name that several skills have, and picks none', async () => {
  await using world = await World.create()
  await world.synced()

  const end = await world.home.command('show', 'alpha')

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain('team/alpha')
  expect(end.stderr).toContain('more/alpha')
  expect(await world.home.command('show', 'more/alpha')).toMatchObject({ status: 0 })
})

test('a sync that fails for one source ends with 1, tells both, and serves the other', async () => {
  await using world = await World.create()
  await world.home.configure({
    team: [`url: ${world.git.origin}/team.git`],
    gone: [`url: ${world.git.origin}/gone.git`],
  })

  const end = await world.home.command('sync', '--json')

  expect(end.status).toBe(1)
  const { sources } = JSON.parse(end.stdout)
  expect(sources).toMatchObject([
    { source: 'team', outcome: 'updated' },
    { source: 'gone', outcome: 'failed', problem: { code: 'repository-not-found' } },
  ])
  expect(sources[1].problem.fix).toContain('Check the address')
  expect((await world.home.command('list', '--served')).stdout).toContain('skill://team/alpha')
})

test.each(
  [
    ['frobnicate'],
    ['Status'],
    ['status', '--frobnicate'],
    ['status', '--port', '1'],
    ['status', 'operand'],
    ['start', 'operand'],
    ['skill', 'validate', '--port', '1'],
    ['skill', 'project', '--state', 'state', '.'],
    ['skill', 'project', '/absent'],
    ['show'],
    ['show', 'one', 'two'],
    ['status', '--log-level', 'loud'],
    ['status', '--config'],
    ['status', '--config', '/absent/skillsyncd.yaml'],
    ['status', '--source', 'file:///x', '--config', 'x.yaml'],
    ['sync', '--source', 'git.example.com/skills.git'],
    ['list', '--state', ''],
    ['sync', '--source', ''],
    ['sync', '--source', 'https://git.example.com/x.git?token=canary-1234'],
    ['sync', '--source', 'https://me:canary-1234@git.example.com/x.git'],
    ['sync', 'absent'],
    ['sync', 'team', 'absent'],
    ['list', '--only', 'absent'],
  ].map((args) => ({ line: args.join(' '), args })),
)('wrong usage, $line, ends with 2, says why on stderr and does nothing', async ({ args }) => {
  await using world = await World.create()

  const end = await world.home.command(...args)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toMatch(/^skillsyncd: .+\n$/)
  expect(end.stderr).not.toContain('canary-1234')
  expect(world.git.requests).toEqual([])
})

test('an option in the place of the command is answered with the command line that is meant', async () => {
  await using home = await Home.create()

  const ends = [await home.command('--skills-dir', '/srv/skills'), await home.command('--skills-dir=/srv/skills')]

  for (const end of ends) expect(end).toMatchObject({ status: 2, stdout: '' })
  for (const { stderr } of ends)
    expect(stderr).toContain('The command stands before its options: skillsyncd mcp --skills-dir …')
})

test('no command at all and --help print the commands, and each --help its own options', async () => {
  await using home = await Home.create()
  const listed = (await home.command('--help')).stdout
  const commands = Array.from(listed.matchAll(/^  ([a-z][a-z-]+(?: [a-z][a-z-]+)?) {2,}/gm), ([, name = '']) => name)
  const lines = [[], ['--help'], ['-h'], ...commands.map((name) => [...name.split(' '), '--help'])]

  const ends = await Promise.all(lines.map((args) => home.command(...args)))

  for (const { status, stderr, stdout } of ends) {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect(stdout).toContain('--log-level L')
  }
  expect(commands).toEqual(
    expect.arrayContaining(['start', 'mcp', 'sync', 'status', 'skill validate', 'mcp-source add', 'hub token']),
  )
  for (const { stdout } of ends.slice(0, 3)) expect(stdout).toBe(listed)
  expect(ends.find(({ stdout }) => stdout.startsWith('Usage: skillsyncd start'))?.stdout).toContain('--port N')
})

test('the help of a command that reads no configuration has no options that name one', async () => {
  await using home = await Home.create()

  for (const name of ['skill validate', 'skill project', 'instructions']) {
    const { stdout } = await home.command(...name.split(' '), '--help')

    expect(stdout).not.toMatch(/--(?:config|state|source|skills-dir)/)
    expect(stdout).toContain('eeds no configuration')
  }
})

test('--version prints that of the package', async () => {
  await using home = await Home.create()
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

  const end = await home.run('--version')

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(end.stdout).toMatch(`skillsyncd ${version}\n`)
})

test('--quiet leaves nothing but the result', async () => {
  await using world = await World.create()

  const end = await world.home.command('sync', '--quiet')

  expect(end).toMatchObject({ status: 0, stderr: '' })
  expect(end.stdout).toMatch(/^team: updated, .+\n {2}added .+\nmore: updated, .+\n {2}added .+\n$/)
})

test('a path of this disk, a file address and an http address can be used without a configuration', async () => {
  await using world = await World.create()
  await using home = await Home.create()
  const file = pathToFileURL(world.team.folder).href

  for (const url of [world.team.folder, file, `${world.git.origin}/team.git`]) {
    const sync = await home.command('sync', '--json', '--source', url)
    const list = await home.command('list', '--json', '--source', url)

    expect(sync).toMatchObject({ status: 0 })
    const [{ source }] = JSON.parse(sync.stdout).sources
    expect(JSON.parse(list.stdout).skills.map((row: any) => row.uri)).toContain(`skill://${source}/alpha/SKILL.md`)
  }
  // The path and its address are one source, the third is another: two states, and none is the configured one.
  expect(await readdir(join(home.state, 'adhoc'))).toHaveLength(2)
  expect(await readdir(home.state)).toEqual(['adhoc'])
})

test('a command whose configuration is not that of the running daemon ends with 2 and names the other', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start')
  await daemon.line()
  const other = join(world.home.path, 'other.yaml')
  await writeFile(other, `sources:\n  - id: x\n    url: file:///nowhere\nstate: ${world.home.state}\n`)

  for (const command of [['status'], ['list'], ['show', 'alpha'], ['sync'], ['mcp']]) {
    const end = await world.home.command(...command, '--config', other)

    expect(end, command[0]).toMatchObject({ status: 2, stdout: '' })
    expect(end.stderr).toContain('has another configuration')
    expect(end.stderr).toContain(world.home.configFile)
  }
  expect(await world.home.command('status')).toMatchObject({ status: 0 })
})

test('a repository with a great many findings is told by a running daemon like by none', async () => {
  await using world = await World.create()
  const many = Array.from({ length: 8000 }, (_, index) => [`some/folder-${index}/SKILL.md`, 'no frontmatter at all\n'])
  await world.team.commit(Object.fromEntries(many))
  await world.synced()
  const alone = await world.home.command('status', '--json')
  const daemon = world.home.start('start')
  await daemon.line()

  const asked = await world.home.command('status', '--json')

  expect(asked).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(asked.stdout).sources[0].tally).toEqual(JSON.parse(alone.stdout).sources[0].tally)
  expect(JSON.parse(asked.stdout).sources[0].tally.withheld).toBe(8000)
})

test('who reads no further than the first line ends the command without a complaint', async () => {
  await using world = await World.create()
  const many = Array.from({ length: 2000 }, (_, index) => [`skill-${index}/SKILL.md`, skill(`skill-${index}`, 'body')])
  await world.team.commit(Object.fromEntries(many))
  await world.synced()
  const list = world.home.start('list', '--json')
  await once(list.process.stdout, 'data')

  list.process.stdout.destroy()

  expect((await list.ended()).stderr).toBe('')
})

test('a config with several faults is refused with file, line, column and key of each, and no secret', async () => {
  await using home = await Home.create()
  const canary = 'ghp_canary0123456789abcdefghij'
  const lines = [
    'sources:',
    '  - id: team',
    '    url: https://git.example.com/a.git',
    '    brunch: main',
    '  - id: team',
    '    url: https://git.example.com/b.git',
    '    include: 7',
    '  - id: secret',
    '    url: https://git.example.com/c.git',
    `    auth: { token: ${canary} }`,
  ]
  await writeFile(home.configFile, `${lines.join('\n')}\n`)

  for (const command of ['start', 'mcp', 'sync', 'status', 'list']) {
    const end = await home.command(command)

    expect(end).toMatchObject({ status: 2, stdout: '' })
    expect(end.stderr).toContain(`${home.configFile}:4:5: sources[0].brunch: `)
    expect(end.stderr).toContain(`${home.configFile}:5:9: sources[1].id: `)
    expect(end.stderr).toContain(`${home.configFile}:7:14: sources[1].include: `)
    expect(end.stderr).toContain(`${home.configFile}:10:`)
    expect(end.stderr).toContain('sources[2].auth.token')
    expect(end.stderr).not.toContain(canary)
    expect(end.stderr).not.toContain('    at ')
  }
  expect(await readdir(join(home.path, 'config', 'skillsyncd'))).toEqual(['skillsyncd.yaml'])
})

test('a config that is no YAML, no UTF-8, a folder or absent is refused with 2 and its name', async () => {
  await using home = await Home.create()
  const broken = join(home.path, 'broken.yaml')
  const latin = join(home.path, 'latin.yaml')
  await writeFile(broken, 'sources: [\n')
  await writeFile(latin, Buffer.from('sources: [] # caf\u{E9}\n', 'latin1'))

  for (const file of [broken, latin, home.path, join(home.path, 'absent.yaml')]) {
    const end = await home.command('status', '--config', file)

    expect(end).toMatchObject({ status: 2, stdout: '' })
    expect(end.stderr).toContain(file)
    expect(end.stderr).not.toContain('    at ')
  }
  expect((await home.command('status')).stderr).toContain(home.configFile)
})

/** A home with two sources: `team` has two skills, `more` has one with a name that `team` has too. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly team: Repository
  readonly more: Repository

  private constructor(home: Home, git: GitServer, team: Repository, more: Repository) {
    this.home = home
    this.git = git
    this.team = team
    this.more = more
  }

  static async create(): Promise<World> {
    const home = await Home.create()
    const git = await GitServer.start()
    const team = await Repository.create()
    await team.commit({
      'alpha/SKILL.md': skill('alpha', 'of the team'),
      'alpha/notes/one.md': 'one\n',
      'nested/beta/SKILL.md': skill('beta', 'nested'),
    })
    const more = await Repository.create()
    await more.commit({ 'alpha/SKILL.md': skill('alpha', 'of the others') })
    await home.configure({
      team: [`url: ${git.serve('team', team)}`, 'every: 1h'],
      more: [`url: ${git.serve('more', more)}`, 'every: 1h'],
    })
    return new World(home, git, team, more)
  }

  async synced(): Promise<void> {
    expect(await this.home.command('sync')).toMatchObject({ status: 0 })
    expect(await lockHolderOf(this.home.state)).toBeUndefined()
  }

  async results() {
    return {
      status: await this.home.command('status', '--json'),
      list: await this.home.command('list', '--json'),
      lines: await this.home.command('list'),
      show: await this.home.command('show', '--json', 'team/alpha'),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.team[Symbol.asyncDispose]()
    await this.more[Symbol.asyncDispose]()
  }
}

function skill(name: string, body: string): string {
  return `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`
}

/** A status without what is about the process and the moment. */
function timeless({ daemon: _daemon, http: _http, sources, ...rest }: any): unknown {
  return {
    ...rest,
    sources: sources.map(
      ({ lastAttempt: _a, lastSuccess: _b, nextPoll: _c, lookingSince: _d, upstream, ...source }: any) => ({
        ...source,
        upstream: upstream.commit,
      }),
    ),
  }
}

function outcomes(stdout: string): Record<string, string> {
  return Object.fromEntries(JSON.parse(stdout).sources.map(({ source, outcome }: any) => [source, outcome]))
}

test.each(['', 'relative'])(
  'with HOME=%j nothing is looked for below the folder in which the command was given',
  async (home) => {
    await using world = await World.create()
    Object.assign(world.home.env, { HOME: home })
    for (const name of ['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'XDG_RUNTIME_DIR']) delete world.home.env[name]

    const program = world.home.start('status', '--json', '--config', world.home.configFile)
    const { stdout } = await program.ended()

    expect(JSON.parse(stdout).state).toMatch(/^\//)
    expect(JSON.parse(stdout).state).not.toContain(world.home.path)
  },
)
