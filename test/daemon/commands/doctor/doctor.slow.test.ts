import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { Home } from '../../../support/process/program.ts'

test('where all is well nothing is found, with a daemon and without one, and each check says what it saw', async () => {
  await using world = await World.create()
  const { home } = world
  const alone = await home.command('doctor', '--json')
  const daemon = home.start('start')
  const url = new URL(await daemon.line()).origin

  const beside = await home.command('doctor')

  expect([alone.status, beside.status]).toEqual([0, 0])
  const { ok, counts, checks } = JSON.parse(alone.stdout)
  expect([ok, counts.fail, checks.length]).toEqual([true, 0, counts.ok + counts.warn])
  expect(beside.stdout).toContain(`: the daemon listens at ${url}\n`)
  expect(beside.stdout).toContain(
    `writer: skillsyncd start, process ${daemon.pid}, writes the state folder and answers\n`,
  )
  expect(beside.stdout).toContain(`host ${world.git.origin}: it answers`)
  expect(beside.stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ checks: (?:nothing found|0 faults, \d warnings?)$/)
})

test('beside a daemon of several sources, one of them can be examined', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const sourceAt = (name: string) => [`url: ${git.serve(name, repository)}`, 'every: 1h']
  await home.configure({ team: sourceAt('team'), other: sourceAt('other') })
  const daemon = home.start('start')
  const url = new URL(await daemon.line()).origin
  await world.synced()

  const end = await home.command('doctor', 'other')

  expect(end.status, end.stdout).toBe(0)
  expect(end.stdout).toContain(`: the daemon listens at ${url}\n`)
  expect(end.stdout).toContain(`writer: skillsyncd start, process ${daemon.pid}, writes the state folder and answers\n`)
})

test('where git or ssh is needed and missing, each other check is made all the same', async () => {
  await using home = await Home.create()
  const overSsh = ['url: git@git.example.com:team/x.git']
  const cases = [
    { source: overSsh, rest: ['programs: { git: no-such-git }'], env: {} },
    { source: overSsh, rest: ['programs: { ssh: no-such-ssh }'], env: {} },
    { source: overSsh, rest: [], env: { PATH: home.path } },
    { source: ['url: https://git.example.com/x.git', 'backend: system'], rest: [], env: { PATH: home.path } },
    { source: [`url: file://${home.path}`, 'backend: system'], rest: [], env: { PATH: home.path } },
    { source: [`url: file://${home.path}`], rest: [], env: { PATH: home.path } },
  ]

  for (const { source, rest, env } of cases) {
    await home.configure({ s: source }, rest)
    const end = await runWith(home, env, 'doctor', '--offline', '--json')

    expect(end, String(source)).toMatchObject({ signal: null, stderr: '' })
    const { checks } = JSON.parse(end.stdout)
    expect(checks, String(source)).toContainEqual(
      expect.objectContaining({ check: 'program', message: expect.stringContaining('there is no such program') }),
    )
    const made = checks.map(({ check }: { check: string }) => check)
    expect(made).toEqual(
      expect.arrayContaining(['node', 'state-folder', 'disk', 'socket', 'writer', 'listen', 'service']),
    )
  }
})

test("a port that a daemon with an earlier configuration may have is not said to be another program's", async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  const { port } = new URL(await daemon.line())
  const before = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, before.replace('port: 0', `port: ${port}`))

  const { checks } = JSON.parse((await home.command('doctor', '--offline', '--json')).stdout)

  expect(checks).toContainEqual(
    expect.objectContaining({ check: 'listen', verdict: 'unknown', fix: expect.stringContaining('skillsyncd reload') }),
  )
})

test('what is wrong is told with a mend and exit status 3, and hides nothing else', async () => {
  await using world = await World.create(['auth: { token: { env: NOT_SET } }'])
  await world.git[Symbol.asyncDispose]()

  const end = await world.home.command('doctor')
  const quiet = await world.home.command('doctor', '--quiet')
  const offline = await world.home.command('doctor', '--offline')

  expect([end.status, quiet.status, offline.status]).toEqual([3, 3, 3])
  for (const part of ['fail  secret ', 'fail  host ', 'ok    state-folder ', 'ECONNREFUSED', '3 faults'])
    expect(end.stdout).toContain(part)
  expect(quiet.stdout).not.toContain('ok  ')
  expect(offline.stdout).not.toContain('  host ')
  expect(offline.stdout).toMatch(/1 fault, .*; no host was queried\n$/)
})

test('a configuration that cannot be used is one fault among the checks of the machine', async () => {
  await using home = await Home.create()
  await writeFile(home.configFile, 'sources:\n  - id: team\n    url: [1]\n')

  const end = await home.command('doctor', '--state', home.state)

  expect(end.status).toBe(3)
  expect(end.stdout).toContain(`${home.configFile}:3:`)
  expect(end.stdout).toContain(`ok    state-folder ${home.state}: it is made by the first start\n`)
})

test.skipIf(process.platform !== 'linux')(
  'a state folder in a folder that takes none is refused at once by a command, and is a fault to doctor',
  async () => {
    await using home = await Home.create()
    await home.configure({ team: ['url: http://127.0.0.1:9/x.git'] })

    const refused = await home.run('sync', '--state', '/proc/nope')
    const end = await home.command('doctor', '--state', '/proc/nope')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain('Cannot make the folder "/proc/nope": there is nothing of that name (ENOENT)')
    expect(end.stdout).toContain(
      '/proc/nope: it is not there and cannot be made in "/proc": the system makes no folders there',
    )
  },
)

describe.skipIf(process.platform !== 'linux')('a folder in a folder that takes none', () => {
  test.each([
    {
      args: ['link', '--once', 'claude-code'],
      env: { CLAUDE_CONFIG_DIR: '/proc/nope' },
      ends: 1,
      says: 'alpha (team/alpha) failed: ',
    },
    {
      args: ['add', 'https://127.0.0.1:9/x.git', '--offline', '--config', '/proc/nope/x.yaml'],
      env: {},
      ends: 2,
      says: 'Cannot write "/proc/nope/x.yaml": no folder can be made there',
    },
    {
      args: ['start'],
      env: { XDG_RUNTIME_DIR: '/proc/nope' },
      ends: 1,
      says: 'there is nothing of that name: "/proc/nope"',
    },
  ])('is refused at once by $args.0', async ({ args, env, ends, says }) => {
    await using world = await World.create()
    await world.synced()

    const { status, stdout, stderr } = await runWith(world.home, env, ...args)

    expect(status, stdout + stderr).toBe(ends)
    expect(stdout + stderr).toContain(says)
  })
})

test('a folder of an agent that is behind what is served is named by status and doctor, with the command that mends it', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await home.command('sync')
  await home.command('link', '--once', 'claude-code')
  const folder = join(home.path, '.claude/skills')
  const before = [await home.command('status'), await home.command('doctor')]

  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await home.command('sync')
  const behind = [await home.command('status'), await home.command('doctor')]
  const { folders } = JSON.parse((await home.command('status', '--json')).stdout)

  expect(before[0]!.stdout).not.toContain(folder)
  expect(before[1]!.stdout).toContain(`ok    links ${folder}: 1 skill linked, as served\n`)
  expect(behind[0]!.stdout).toContain(
    `! folder ${folder}: folder-behind: beta not as served\n  skillsyncd link claude-code\n`,
  )
  expect(behind[1]!.stdout).toContain(
    `warn  links ${folder}: beta: not there, or older\n        → skillsyncd link claude-code\n`,
  )
  expect(folders).toMatchObject([{ folder, current: ['alpha'], behind: ['beta'], gone: [], blocked: [] }])
})

test('a warning counts where that is asked for', async () => {
  await using world = await World.create(['auth: { token: { file: TOKEN } }'])
  const token = join(world.home.path, 'config', 'skillsyncd', 'TOKEN')
  await writeFile(token, 'canary-of-the-token', { mode: 0o644 })

  const ends = [await world.home.command('doctor'), await world.home.command('doctor', '--strict')]

  expect(ends.map(({ status }) => status)).toEqual([0, 3])
  for (const { stdout, stderr } of ends) {
    expect(stdout).toContain('so can everybody on this machine (mode 644)')
    expect(stdout + stderr).not.toContain('canary')
  }
})

async function runWith(home: Home, env: Readonly<Record<string, string>>, ...args: string[]) {
  const before = { ...home.env }
  Object.assign(home.env, env)
  try {
    return await home.run(...args)
  } finally {
    Object.assign(home.env, before)
  }
}
