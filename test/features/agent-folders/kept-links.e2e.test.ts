import { chmod, link, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { World, skill } from '../../e2e/world.ts'
import { Repository } from '../../support/git/repository.ts'

const CLAUDE = '.claude/skills'
const CODEX = '.agents/skills'

test('link names the folders in the configuration, and from then on they follow sources and skills by themselves', async () => {
  await using world = await World.create(['every: 1s'])
  await using other = await Repository.create()
  const { home, git, repository } = world
  await other.commit({ 'beta/SKILL.md': skill('beta', 'other') })
  const daemon = home.start('start')
  await daemon.line()
  const before = await readFile(home.configFile, 'utf8')

  const linked = await home.command('link', 'claude-code', 'codex')
  const after = await readFile(home.configFile, 'utf8')
  const atOnce = await namesIn(world)
  await repository.commit({ 'alpha/SKILL.md': null, 'omega/SKILL.md': skill('omega', 'first') })
  await vi.waitFor(async () => expect(await namesIn(world)).toEqual([['omega'], ['omega']]), WAIT)
  const added = await home.command('add', git.serve('other', other), '--id', 'other')
  await vi.waitFor(async () => expect(await namesIn(world)).toEqual([BOTH, BOTH]), WAIT)
  await daemon.stop()
  const again = home.start('start')
  await again.line()
  await home.command('remove', 'other')
  await vi.waitFor(async () => expect(await namesIn(world)).toEqual([['omega'], ['omega']]), WAIT)

  expect(linked).toMatchObject({ status: 0 })
  expect(linked.stdout).toBe(
    `claude-code: 1 linked (alpha); ${home.path}/${CLAUDE}
codex: 1 linked (alpha); ${home.path}/${CODEX}
2 folders: 2 linked
New, renamed and removed skills follow from now on: links in ${home.configFile} names the folders, and the daemon applies it
`,
  )
  expect(after).toBe(`${before}links:\n  - claude-code\n  - codex\n`)
  expect(atOnce).toEqual([['alpha'], ['alpha']])
  expect(added.stdout).toMatch(/the daemon applies it\n$/)
})

test('link --remove takes the folder out of the configuration, which is as it was then, and out of the daemon', async () => {
  await using world = await World.create()
  const { home } = world
  const before = await readFile(home.configFile, 'utf8')
  const daemon = home.start('start')
  await daemon.line()
  await home.command('link', 'claude-code', 'codex')

  const first = await home.command('link', '--remove', 'codex')
  const left = await namesIn(world)
  const last = await home.command('link', '--remove', '--all')

  expect(first).toMatchObject({ status: 0 })
  expect(first.stdout).toBe(
    `codex: 1 removed (alpha); ${home.path}/${CODEX}\nlinks in ${home.configFile} no longer names that; the daemon applies it\n`,
  )
  expect(left).toEqual([['alpha'], []])
  expect(last).toMatchObject({ status: 0 })
  expect(await namesIn(world)).toEqual([[], []])
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
})

test('without a daemon it says so, a second link changes nothing, and another form of a folder replaces its entry', async () => {
  await using world = await World.create()
  const { home } = world
  await writeFile(
    home.configFile,
    `# mine\n${await readFile(home.configFile, 'utf8')}links: [ claude-code ] # agents\n`,
  )
  const to = join(home.path, 'elsewhere')

  const first = await home.command('link', 'claude-code')
  const same = await readFile(home.configFile, 'utf8')
  const copied = JSON.parse((await home.command('link', 'claude-code', '--to', to, '--copy', '--json')).stdout)
  const text = await readFile(home.configFile, 'utf8')
  const removed = await home.command('link', '--remove', '--to', join(home.path, CLAUDE), '--to', to)

  expect(first.stdout).toContain(
    `New, renamed and removed skills follow while a daemon runs: links in ${home.configFile} names the folders; no daemon runs; skillsyncd start runs one\n`,
  )
  expect(same).toContain('\nlinks: [ claude-code ] # agents\n')
  expect(copied).toMatchObject({ config: home.configFile, kept: true, reloaded: false })
  expect(text).toMatch(/^# mine\n/)
  expect(text).toContain(`\nlinks: [  {"agent":"claude-code","copy":true}, {"to":"${to}","copy":true}] # agents\n`)
  expect(removed).toMatchObject({ status: 0 })
  expect(await readFile(home.configFile, 'utf8')).toMatch(/\nlinks: \[\s*\] # agents\n$/)
  expect(await readdir(home.path)).not.toContain('elsewhere')
})

test.each([
  [['--once'], '--once writes no links'],
  [['--only', 'team'], 'links takes all skills'],
  [['--skill', 'alpha'], 'links takes all skills'],
  [['--project', '.'], 'links names no folders of projects'],
])('link with %j writes nothing into the configuration, and says why', async (options, why) => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const before = await readFile(home.configFile, 'utf8')
  const args = options.map((option) => (option === '.' ? home.path : option))

  const linked = await home.command('link', 'claude-code', ...args)

  expect(linked).toMatchObject({ status: 0 })
  expect(linked.stdout).toContain(`Until the next link, no skill is added or removed there: ${why}\n`)
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
})

test('a dry run writes nothing into the configuration', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const before = await readFile(home.configFile, 'utf8')

  const dry = [
    await home.command('link', 'codex', '--dry-run'),
    await home.command('link', '--remove', '--all', '--dry-run'),
  ]

  expect(dry.map(({ status }) => status)).toEqual([0, 0])
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
})

test('add and remove name the folders that stay as they are', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', 'claude-code', '--only', 'team')
  await home.command('link', 'codex')
  await mkdir(join(home.path, 'more/delta'), { recursive: true })
  await writeFile(join(home.path, 'more/delta/SKILL.md'), skill('delta', 'more'))

  const added = await home.command('add', join(home.path, 'more'), '--id', 'more')
  const removed = await home.command('remove', 'more')

  const line = 'claude-code: as before, until skillsyncd link claude-code --only team\n'
  expect(added.stdout).toContain(line)
  expect(removed.stdout).toContain(line)
  expect(removed.stdout).not.toContain('codex')
})

test('without a configuration file the skills are put once, and it says so', async () => {
  await using world = await World.create()
  const { home, git, repository } = world

  const linked = await home.command('link', 'claude-code', '--source', git.serve('one', repository))

  expect(linked).toMatchObject({ status: 0 })
  expect(linked.stdout).toContain('there is no configuration file to name them in; skillsyncd add URL writes one\n')
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['alpha'])
})

test('a choice of skills for a folder that links names is refused: the daemon puts all there', async () => {
  await using world = await World.create()
  const { home } = world
  await home.command('link', 'claude-code')

  const refused = await home.command('link', 'claude-code', '--only', 'team')

  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toContain('Cannot choose skills for a folder that links names')
})

test('a configuration that cannot be edited is an error before anything is put, and the way without it is named', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await link(home.configFile, join(home.path, 'another-name'))

  const refused = await home.command('link', 'claude-code')

  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain('it has several names (hard links)')
  expect(refused.stderr).toContain('skillsyncd link --once installs without it')
  expect(await readdir(home.path)).not.toContain('.claude')
})

test('on a terminal with a service manager it asks to install the service, and does nothing without a yes', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await mkdir(join(home.path, 'run/systemd'))
  const bin = join(home.path, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'systemctl'), `#!/bin/sh\necho "$*" >> ${home.path}/calls\n`)
  await chmod(join(bin, 'systemctl'), 0o755)
  home.env['PATH'] = `${bin}:${home.env['PATH']}`
  const unit = join(home.path, 'config/systemd/user/skillsyncd.service')

  const no = await home.typing([''], 'link', 'claude-code')
  const without = await readFile(unit, 'utf8').catch(() => 'none')
  const piped = await home.command('link', 'claude-code')
  const yes = await home.typing(['y'], 'link', 'claude-code')
  const later = await home.command('link', 'codex')

  expect(no.stderr).toContain('Run the daemon in the background from now on (service install --user --now)? [y/N]')
  expect(without).toBe('none')
  expect(piped.stderr).toBe('')
  // The folders of tests are hidden from a service.
  expect(yes.stderr).toContain('its sandbox hides that folder')
  expect(later.stdout).not.toContain('installed service')
})

test('with many skills the line has the first names and a count, and --verbose all of them', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const names = Array.from({ length: 14 }, (_, at) => `skill-${String(at).padStart(2, '0')}`)
  await repository.commit(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, 'body')])))

  const linked = await home.command('link', 'claude-code', '--once')
  const verbose = await home.command('link', 'codex', '--once', '--verbose')

  expect(linked.stdout.split('\n')[0]).toBe(
    `claude-code: 15 linked (alpha, ${names.slice(0, 9).join(', ')} and 5 more); ${home.path}/${CLAUDE}`,
  )
  expect(verbose.stdout).toContain(`\n  + skill-13 (team/skill-13) linked\n`)
})

const WAIT = { timeout: 20_000, interval: 50 }
const byText = (one: string, other: string): number => one.localeCompare(other)
const BOTH = ['beta', 'omega']

/** The skills in the folders of both agents. */
async function namesIn({ home }: World): Promise<readonly (readonly string[])[]> {
  const folders = [CLAUDE, CODEX].map((folder) => readdir(join(home.path, folder)).catch(() => []))
  return (await Promise.all(folders)).map((names) => names.toSorted(byText))
}
