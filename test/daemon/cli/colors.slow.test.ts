import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { World, skill } from '../../e2e/world.ts'

const RED = '\u001B[31m'
const GREEN = '\u001B[32m'

test('failures and changed lines have colors on a terminal, and the same text without them elsewhere', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const bad = join(home.path, 'bad')
  await mkdir(bad)
  await writeFile(join(bad, 'SKILL.md'), '---\nname: bad\n---\n')

  const shown = [
    await home.typing([], 'diff', 'served', 'upstream'),
    await home.typing([], 'skill', 'validate', bad),
    await home.typing([], 'doctor', '--offline'),
  ]
  const piped = [
    await home.command('diff', 'served', 'upstream'),
    await home.command('skill', 'validate', bad),
    await home.command('doctor', '--offline'),
  ]

  expect(shown[0]?.stdout).toContain(GREEN)
  expect(shown[1]?.stdout).toContain(RED)
  expect(shown[2]?.stdout).toContain(GREEN)
  for (const { stdout } of piped) expect(stdout).not.toContain('\u001B')
  // The sizes that doctor names change while the test runs.
  const plain = shown.map(({ stdout }) => stripVTControlCharacters(stdout))
  expect(plain.slice(0, 2)).toEqual(piped.slice(0, 2).map(({ stdout }) => stdout))
})

test('NO_COLOR has no colors on a terminal', async () => {
  await using world = await World.create()
  await world.synced()
  world.home.env['NO_COLOR'] = '1'

  expect((await world.home.typing([], 'doctor', '--offline')).stdout).not.toContain('\u001B')
})

test('an empty list names the commands that fill it', async () => {
  await using world = await World.create()

  const end = await world.home.command('list')
  const quiet = await world.home.command('list', '--quiet')

  expect(end).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('skillsyncd sync fetches them') })
  expect(quiet).toMatchObject({ status: 0, stdout: '', stderr: '' })
})
