import { lstat, mkdir, readFile, readdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Home } from '../../support/process/program.ts'
import { World, skill } from '../world.ts'

const CLAUDE = '.claude/skills'

test('what a daemon pulls is read through the folder of the agent, and what is removed upstream is gone there', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const daemon = home.start('start')
  await daemon.line()
  await home.command('sync')

  const linked = await home.command('link', '--once', '--verbose', 'claude-code', 'codex')
  const first = await documentsOf(home, 'alpha')
  const link = await readlink(join(home.path, CLAUDE, 'alpha'))
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const pulled = await home.command('sync')
  const second = await documentsOf(home, 'alpha')
  const version = await realpath(join(home.path, CLAUDE, 'alpha'))
  await repository.commit({ 'alpha/SKILL.md': null, 'beta/SKILL.md': skill('beta', 'new') })
  await home.command('sync')
  const third = await documentsOf(home, 'alpha')

  expect(linked).toMatchObject({ status: 0, stderr: '' })
  expect(linked.stdout).toContain('  + alpha (team/alpha) linked\n')
  expect(first).toEqual([skill('alpha', 'first'), skill('alpha', 'first')])
  expect(link).toBe(join(home.state, 'links', 'alpha'))
  expect(pulled.stdout).toContain('updated')
  expect(second).toEqual([skill('alpha', 'second'), skill('alpha', 'second')])
  expect(third).toEqual(['ENOENT', 'ENOENT'])
  // An agent that is in the middle of it reads on.
  expect(await readFile(join(version, 'SKILL.md'), 'utf8')).toBe(skill('alpha', 'second'))
  // The daemon wrote nothing there: the link is as it was, and the new skill is not.
  expect(await readlink(join(home.path, CLAUDE, 'alpha'))).toBe(link)
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['alpha'])

  const again = await home.command('link', '--once', '--verbose', 'claude-code')

  expect(again.stdout).toContain('  - alpha (team/alpha) removed\n')
  expect(again.stdout).toContain('  + beta (team/beta) linked\n')
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['beta'])
})

test('commands at once each have what they put there written down, and a daemon that reloads goes on with it', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  const daemon = home.start('start')
  await daemon.line()

  const agents = ['claude-code', 'codex', 'cursor', 'gemini-cli']
  const ends = await Promise.all(agents.map((agent) => home.command('link', '--once', agent)))
  const reloaded = await home.command('reload')
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'after') })
  await home.command('sync')
  const documents = await documentsOf(home, 'alpha')
  await home.command('link', '--remove', '--all')

  expect([...ends, reloaded].map(({ status }) => status)).toEqual([0, 0, 0, 0, 0])
  expect(documents).toEqual([skill('alpha', 'after'), skill('alpha', 'after')])
  const left = await readdir(home.path)
  expect(left.filter((name) => ['.claude', '.agents', '.cursor', '.gemini'].includes(name))).toEqual([])
})

test('link --remove takes out what was put there and nothing else, by the daemon or without one', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'ours') })
  await world.synced()
  await mkdir(join(home.path, CLAUDE, 'beta'), { recursive: true })
  await writeFile(join(home.path, CLAUDE, 'beta', 'SKILL.md'), 'mine')
  await symlink('/nowhere', join(home.path, CLAUDE, 'gamma'))

  const linked = await home.run('link', '--once', 'claude-code', 'cursor')
  const daemon = home.start('start')
  await daemon.line()
  const unlinked = await home.run('link', '--remove', 'claude-code', 'cursor')

  expect(linked.status).toBe(3)
  expect(linked.stdout).toContain('  ! beta (team/beta) left alone: a folder; ')
  expect(unlinked).toMatchObject({ status: 0, stderr: '' })
  expect((await readdir(join(home.path, CLAUDE))).toSorted()).toEqual(['beta', 'gamma'])
  expect(await readFile(join(home.path, CLAUDE, 'beta', 'SKILL.md'), 'utf8')).toBe('mine')
  // What was made for it is gone with it.
  expect(await kindOf(join(home.path, '.cursor'))).toBe('nothing')
  expect(await readdir(join(home.state, 'links'))).toEqual([])
})

/** What Claude Code and Codex read, or why they cannot. */
async function documentsOf(home: Home, name: string): Promise<string[]> {
  const folders = [CLAUDE, '.agents/skills'].map((folder) => join(home.path, folder, name))
  return Promise.all(folders.map((folder) => readFile(join(folder, 'SKILL.md'), 'utf8').catch(codeOf)))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

async function kindOf(path: string): Promise<string> {
  return lstat(path).then(
    () => 'something',
    () => 'nothing',
  )
}
