import { mkdir, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Repository } from '../../support/git/repository.ts'
import type { Program } from '../../support/process/program.ts'
import { World, skill } from '../world.ts'

const CLAUDE = '.claude/skills'
const AGENTS = '.agents/skills'

test('skills that come are linked, skills that go are unlinked, and names follow, without any command', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const [claude, agents] = await configured(world, ['links: [claude-code, codex]'])
  await mkdir(join(claude, 'mine'), { recursive: true })
  await writeFile(join(claude, 'mine/SKILL.md'), 'mine')

  const daemon = home.start('start')
  await said(daemon, { folder: agents, put: 1, removed: 0 })
  const first = await Promise.all([names(claude), names(agents)])
  const link = await readlink(join(claude, 'alpha'))
  let since = daemon.stderr.length
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await said(daemon, { folder: agents, put: 1, removed: 0 }, since)
  const second = await Promise.all([names(claude), names(agents)])
  since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': null, 'gamma/SKILL.md': skill('gamma', 'first') })
  await said(daemon, { folder: agents, put: 1, removed: 1 }, since)
  const third = await Promise.all([names(claude), names(agents)])
  const document = await readFile(join(claude, 'gamma/SKILL.md'), 'utf8')
  await daemon.stop()

  expect(first).toEqual([['alpha', 'mine'], ['alpha']])
  expect(link).toBe(join(home.state, 'links/alpha'))
  expect(second).toEqual([
    ['alpha', 'beta', 'mine'],
    ['alpha', 'beta'],
  ])
  expect(third).toEqual([
    ['beta', 'gamma', 'mine'],
    ['beta', 'gamma'],
  ])
  expect(document).toBe(skill('gamma', 'first'))
  expect(await readFile(join(claude, 'mine/SKILL.md'), 'utf8')).toBe('mine')
})

test('a daemon that starts makes up for what happened while none ran, and puts back what was removed', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const [claude] = await configured(world, ['links: [claude-code]'])
  await world.synced()
  const before = await names(claude)
  await rm(join(claude, 'alpha'))
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })

  const daemon = home.start('start')
  await said(daemon, { folder: claude, put: 1, removed: 0 })
  await home.command('sync')

  // A command without a daemon does the same.
  expect(before).toEqual(['alpha'])
  expect(await names(claude)).toEqual(['alpha', 'beta'])
})

test('a folder of copies is kept current: a change is copied, and a copy that somebody changed is left and told', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const host = join(home.path, 'host')
  await configured(world, [`links: [{ to: ${host}, copy: true }]`])
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  const daemon = home.start('start')
  await said(daemon, { folder: host, put: 2, removed: 0 })

  let since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await said(daemon, { folder: host, put: 1, removed: 0 }, since)
  const copied = await readFile(join(host, 'alpha/SKILL.md'), 'utf8')
  await writeFile(join(host, 'alpha/SKILL.md'), 'mine')
  since = daemon.stderr.length
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third'), 'beta/SKILL.md': null })
  await said(daemon, { folder: host, put: 0, removed: 1 }, since)
  const line = await daemon.said((text) => text.includes('"folders-not-followed"'), since)

  expect(copied).toBe(skill('alpha', 'second'))
  expect(await names(host)).toEqual(['alpha'])
  expect(await readFile(join(host, 'alpha/SKILL.md'), 'utf8')).toBe('mine')
  expect(messageOf(line)).toBe(
    `"${host}" lacks alpha: a copy that was changed since; try, as the user of the daemon: skillsyncd link --to ${host} --copy`,
  )
})

test('what is in the way is left and told once, and no other skill or folder waits for it', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const [claude, agents] = await configured(world, ['links: [claude-code, codex]'])
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'ours') })
  await mkdir(claude, { recursive: true })
  await symlink('/nowhere', join(claude, 'alpha'))

  const daemon = home.start('start')
  const line = await daemon.said((text) => text.includes('"folders-not-followed"'))
  const since = daemon.stderr.length
  await repository.commit({ 'gamma/SKILL.md': skill('gamma', 'new') })
  await said(daemon, { folder: agents, put: 1, removed: 0 }, since)
  await home.command('sync')
  // Everything that it said has arrived when it has ended.
  const again = (await daemon.stop()).stderr.slice(since)

  expect(messageOf(line)).toBe(
    `"${claude}" lacks alpha: a link to /nowhere; try, as the user of the daemon: skillsyncd link claude-code`,
  )
  expect(await readlink(join(claude, 'alpha'))).toBe('/nowhere')
  expect(await names(claude)).toEqual(['alpha', 'beta', 'gamma'])
  expect(await names(agents)).toEqual(['alpha', 'beta', 'gamma'])
  expect(again).not.toContain('folders-not-followed')
})

test('a reload follows the folders of the new configuration, and leaves those that it does not name', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const [claude, agents] = await configured(world, ['links: [claude-code]'])
  const daemon = home.start('start')
  await said(daemon, { folder: claude, put: 1, removed: 0 })

  await configured(world, ['links: [codex]'])
  const reloaded = await home.command('reload')
  await said(daemon, { folder: agents, put: 1, removed: 0 })
  const since = daemon.stderr.length
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await said(daemon, { folder: agents, put: 1, removed: 0 }, since)

  expect(reloaded).toMatchObject({ status: 0 })
  expect(await names(agents)).toEqual(['alpha', 'beta'])
  expect(await names(claude)).toEqual(['alpha'])
})

test('a disabled skill leaves the folder at once, and comes back when it is enabled', async () => {
  await using world = await World.create()
  const { home } = world
  const [claude] = await configured(world, ['links: [claude-code]'])
  const daemon = home.start('start')
  await said(daemon, { folder: claude, put: 1, removed: 0 })

  await home.command('disable', 'alpha')
  const disabled = await names(claude)
  await home.command('enable', 'alpha')
  const enabled = await names(claude)

  expect(disabled).toEqual([])
  expect(enabled).toEqual(['alpha'])
})

test('commands that link and unlink while the daemon follows leave the folder whole', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const [claude] = await configured(world, ['links: [claude-code]'])
  const skills = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`s${at}/SKILL.md`, skill(`s${at}`, 'first')]),
  )
  const daemon = home.start('start')
  await said(daemon, { folder: claude, put: 1, removed: 0 })

  await repository.commit(skills)
  const [, linked] = await Promise.all([home.command('sync'), home.command('link', 'claude-code')])
  const unlinked = await home.command('link', '--remove', 'claude-code')
  const emptied = await readdir(home.path)
  await repository.commit({ 'last/SKILL.md': skill('last', 'new') })
  await Promise.all([home.command('sync'), home.command('link', 'claude-code')])
  await home.command('sync')

  expect(linked.status).toBe(0)
  expect(unlinked.stdout).toContain('no longer names that; the daemon applies it\n')
  expect(emptied).not.toContain('.claude')
  expect(await names(claude)).toHaveLength(32)
  expect(await readlink(join(claude, 's7'))).toBe(join(home.state, 'links/s7'))
})

test('a service without a home serves on, says so, and follows once it has one', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const path = join(home.path, 'nobody')
  await writeFile(path, '')
  home.env['HOME'] = path
  await configured(world, ['links: [claude-code]'])

  const daemon = home.start('start')
  const address = await daemon.line()
  const line = await daemon.said((text) => text.includes('"folders-not-followed"'))
  const since = daemon.stderr.length
  await rm(path)
  await mkdir(path)
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await said(daemon, { folder: join(path, CLAUDE), put: 2, removed: 0 }, since)

  expect(address).toContain('/mcp')
  expect(messageOf(line)).toBe(`Cannot fill "${path}/${CLAUDE}": there is no folder "${path}"; make it, or mount it`)
  expect(await names(join(path, CLAUDE))).toEqual(['alpha', 'beta'])
})

test('a folder that must not be linked into is refused and told, and the others are followed', async () => {
  await using world = await World.create()
  const { home } = world
  const [claude] = await configured(world, [`links: [{ to: ${join(home.state, 'skills')} }, claude-code]`])

  const daemon = home.start('start')
  await said(daemon, { folder: claude, put: 1, removed: 0 })
  const line = await daemon.said((text) => text.includes('"folders-not-followed"'))

  expect(messageOf(line)).toContain(`Cannot link into "${home.state}/skills": the state folder is `)
  expect(await names(claude)).toEqual(['alpha'])
})

test('a name that a source gave up goes to no other source before the operator links again', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  const { home, git, repository } = world
  await other.commit({ 'alpha/SKILL.md': skill('alpha', 'of house') })
  const sources = {
    team: [`url: ${git.serve('team', repository)}`],
    house: [`url: ${git.serve('house', other)}`],
  }
  await home.configure(sources, ['links: [claude-code, codex]'])
  // The one that is served first has the name.
  await home.command('sync', 'team')
  await world.synced()
  const folders = [CLAUDE, AGENTS].map((folder) => join(home.path, folder))
  const documents = async (): Promise<string[]> =>
    Promise.all(folders.map((folder) => readFile(join(folder, 'alpha/SKILL.md'), 'utf8')))
  const before = await documents()

  await home.command('disable', 'team/alpha', '--source-only')
  const disabled = await Promise.all(folders.map(names))
  await home.command('enable', 'team/alpha')
  const enabled = await documents()
  await repository.commit({ 'alpha/SKILL.md': null, 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()
  const given = await Promise.all(folders.map(names))
  const listed = await home.command('link')
  await home.command('link', 'claude-code', 'codex')
  await world.synced()
  const after = await documents()

  expect(before).toEqual([skill('alpha', 'first'), skill('alpha', 'first')])
  expect(disabled).toEqual([[], []])
  expect(enabled).toEqual(before)
  expect(given).toEqual([['beta'], ['beta']])
  expect(listed.stdout).toContain(
    '  alpha (house/alpha) is not linked: team/alpha has the name; that is not served any more: skillsyncd link claude-code for every agent\n',
  )
  expect(after).toEqual([skill('alpha', 'of house'), skill('alpha', 'of house')])
})

test('a name of a source that is taken out of the configuration is free', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  const { home, git, repository } = world
  await other.commit({ 'alpha/SKILL.md': skill('alpha', 'of house') })
  const house = [`url: ${git.serve('house', other)}`]
  await home.configure({ team: [`url: ${git.serve('team', repository)}`], house }, ['links: [claude-code]'])
  await home.command('sync', 'team')
  await world.synced()

  await home.configure({ house }, ['links: [claude-code]'])
  await world.synced()

  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'of house'))
})

test('what is served of a source that the disk lost stays in the folders until it is fetched again', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  const { home, git, repository } = world
  await other.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  const house = [`url: ${git.serve('house', other)}`]
  const host = join(home.path, 'host')
  const links = [`links: [claude-code, { to: ${host}, copy: true }]`]
  await home.configure({ team: [`url: ${git.serve('team', repository)}`], house }, links)
  await world.synced()
  const folders = [join(home.path, CLAUDE), host]

  for (const name of ['store.db', 'store.db-wal', 'store.db-shm']) await rm(join(home.state, name), { force: true })
  await rm(repository.folder, { recursive: true })
  await other.commit({ 'gamma/SKILL.md': skill('gamma', 'new') })
  const { status } = await home.command('sync')

  expect(status).toBe(1)
  expect(await Promise.all(folders.map(names))).toEqual([
    ['alpha', 'beta', 'gamma'],
    ['alpha', 'beta', 'gamma'],
  ])
})

test('a path that leads through a link is one folder with that of the agent, which is not copied and linked in turn', async () => {
  await using world = await World.create()
  const { home } = world
  const [claude] = await configured(world, [`links: [claude-code, { to: ${join(home.path, 'way')}, copy: true }]`])
  await mkdir(claude, { recursive: true })
  await symlink(claude, join(home.path, 'way'))

  const daemon = home.start('start')
  const line = await daemon.said((text) => text.includes('"folders-not-followed"'))

  expect(messageOf(line)).toBe(`"${claude}" is named once for links and once for copies`)
  expect(await readlink(join(claude, 'alpha'))).toBe(join(home.state, 'links/alpha'))
})

/** Has the source looked at each second. Returns the folders of Claude Code and of Codex. */
async function configured({ home, git, repository }: World, rest: readonly string[]): Promise<[string, string]> {
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1s'] }, rest)
  return [join(home.path, CLAUDE), join(home.path, AGENTS)]
}

/** Waits until the daemon says that it has followed a folder so. */
async function said(daemon: Program, wanted: object, since = 0): Promise<void> {
  await daemon.said((line) => {
    if (!line.includes('"folder-followed"')) return false
    const { folder, put, removed } = JSON.parse(line)
    return JSON.stringify({ folder, put, removed }) === JSON.stringify(wanted)
  }, since)
}

function messageOf(line: string): string {
  const { message }: { readonly message: string } = JSON.parse(line)
  return message
}

async function names(folder: string): Promise<string[]> {
  return (await readdir(folder)).toSorted()
}
