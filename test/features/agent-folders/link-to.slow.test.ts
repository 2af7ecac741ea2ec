import { lstat, mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../e2e/world.ts'

test('link --to puts the skills into a folder that is named, and link --remove --to takes them out again', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  const folder = join(home.path, 'host', "Ada's skills")

  const linked = await home.command('link', '--once', '--verbose', 'claude-code', '--to', folder)
  const document = await readFile(join(folder, 'alpha/SKILL.md'), 'utf8')
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()
  const listed = await home.command('link')
  const dry = await home.command('link', '--remove', '--verbose', '--to', folder, '--dry-run')
  const unlinked = await home.command('link', '--remove', '--verbose', '--to', folder)

  expect(linked).toMatchObject({ status: 0, stderr: '' })
  expect(linked.stdout).toContain(`--to ${folder}: 1 linked (alpha); ${folder}\n  + alpha (team/alpha) linked\n`)
  expect(document).toBe(skill('alpha', 'first'))
  expect(listed.stdout).toContain(
    `  beta: not there, or older; skillsyncd link --to '${folder.replace("'", String.raw`'\''`)}'\n`,
  )
  expect(dry.stdout).toContain('  - alpha removed\n')
  expect(unlinked).toMatchObject({ status: 0, stderr: '' })
  expect(await readdir(home.path)).not.toContain('host')
  // The other folder is not concerned.
  expect(await readdir(join(home.path, '.claude/skills'))).toEqual(['alpha'])
})

test('link --remove takes the folder out of the configuration, also if that names it by a path through a link', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const [host, way] = [join(home.path, 'host'), join(home.path, 'way')]
  await mkdir(host)
  await symlink(host, way)
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, [`links: [{ to: ${way} }]`])
  await world.synced()

  const dry = await home.command('link', '--remove', '--verbose', '--to', host, '--dry-run')
  const unlinked = await home.command('link', '--remove', '--verbose', '--to', host)

  expect(dry.stdout).toBe(`--to ${host}: 1 removed (alpha); ${host}\n  - alpha removed\n`)
  expect(unlinked.stdout).toContain(`links in ${home.configFile} no longer names that; no daemon runs`)
  expect(await readFile(home.configFile, 'utf8')).toContain('links: []\n')
  expect(await readdir(host)).toEqual([])
})

test('link --to with --copy makes copies, and leaves what is not ours', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'ours') })
  await world.synced()
  const folder = join(home.path, 'host')
  await mkdir(join(folder, 'beta'), { recursive: true })
  await writeFile(join(folder, 'beta/SKILL.md'), 'mine')

  const copied = await home.command('link', '--once', '--verbose', '--to', folder, '--copy')
  const isCopy = (await lstat(join(folder, 'alpha'))).isDirectory()
  const unlinked = await home.command('link', '--remove', '--verbose', '--all')

  expect(copied).toMatchObject({ status: 3, stderr: '' })
  expect(copied.stdout).toContain('  ! beta (team/beta) left alone: a folder; ')
  expect(isCopy).toBe(true)
  expect(unlinked.stdout).toContain('  - alpha (team/alpha) removed\n')
  expect(await readdir(folder)).toEqual(['beta'])
  expect(await readFile(join(folder, 'beta/SKILL.md'), 'utf8')).toBe('mine')
})

test('two folders that are named are apart, and an agent that reads one of them shares it', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const [one, other] = [join(home.path, '.claude/skills'), join(home.path, 'other')]

  await home.command('link', '--once', '--verbose', 'claude-code', '--to', one, '--to', other)
  const unlinked = await home.command('link', '--remove', '--verbose', '--to', one, '--to', other)

  expect(unlinked.stdout).toContain('  - what is there stays, for claude-code\n')
  expect(await readdir(one)).toEqual(['alpha'])
  expect(await readdir(home.path)).not.toContain('other')
})

test.each([
  [['link', '--to', ''], '--to "" does not name a folder; name a folder'],
  [['link', '--to', '/tmp', '--project', '/tmp'], '--project wants the name of an agent; --to names the folder itself'],
  [['link', '--remove', '--to', '/tmp', '--all'], '"link --remove" wants the names of agents, --to DIR, or --all; '],
])('%j is wrong usage', async (args, why) => {
  await using world = await World.create()

  const ended = await world.home.command(...args)

  expect(ended).toMatchObject({ status: 2, stdout: '' })
  expect(ended.stderr).toContain(why)
})

test('link --to refuses the state folder, the folder of a source, and a file', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const own = join(home.path, 'own')
  await mkdir(own)
  await writeFile(join(home.path, 'file'), '')
  await home.configure({ team: [`url: ${git.serve('team', repository)}`], own: [`path: ${own}`] })
  await home.command('sync')

  const state = await home.command('link', '--once', '--verbose', '--to', join(home.state, 'skills'))
  const source = await home.command('link', '--once', '--verbose', '--to', join(own, 'skills'))
  const file = await home.command('link', '--once', '--verbose', '--to', join(home.path, 'file'))

  expect(state).toMatchObject({ status: 2, stderr: expect.stringContaining(`the state folder is "${home.state}"`) })
  expect(source).toMatchObject({ status: 2, stderr: expect.stringContaining('it is what the source "own" is made') })
  expect(file).toMatchObject({ status: 1, stdout: expect.stringContaining('  ! alpha (team/alpha) failed: ') })
  expect(await realpath(own)).toBe(own)
  expect(await readdir(own)).toEqual([])
})
