import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Home } from '../../support/process/program.ts'

const SOURCE = ['--source', 'https://git.example.com/skills.git']

test.each(['list', 'status'])('%s of a state folder that is not there says so, and makes none', async (command) => {
  await using home = await Home.create()

  const lines = await home.command(command, ...SOURCE, '--state', join(home.path, 'typo'))
  const json = await home.command(command, ...SOURCE, '--state', join(home.path, 'typo'), '--json')

  expect([lines.status, json.status]).toEqual([0, 0])
  expect(lines.stdout).toContain(command === 'list' ? '' : 'never pulled')
  expect(JSON.parse(json.stdout)).toMatchObject({ skills: command === 'list' ? [] : 0 })
  expect(existsSync(join(home.path, 'typo'))).toBe(false)
})

test('show of a state folder that is not there knows no skill, and makes none', async () => {
  await using home = await Home.create()

  const end = await home.command('show', 'pdf', ...SOURCE, '--state', join(home.path, 'typo'))

  expect([end.status, end.stdout]).toEqual([1, ''])
  expect(end.stderr).toContain('No skill is called "pdf"')
  expect(existsSync(join(home.path, 'typo'))).toBe(false)
})

test('a folder of something else is not taken for an empty state', async () => {
  await using home = await Home.create()
  await mkdir(join(home.path, 'work'))
  await writeFile(join(home.path, 'work', 'thesis.txt'), 'years')

  const end = await home.command('list', ...SOURCE, '--state', join(home.path, 'work'))

  expect(end.status).toBe(1)
  expect(end.stderr).toContain('contains "thesis.txt"')
})

test('a relative --state is meant from where the program runs, beside --source too', async () => {
  await using home = await Home.create()

  const { stdout } = await home.run('status', ...SOURCE, '--state', './here', '--json')

  expect(JSON.parse(stdout).state).toBe(join(home.path, 'here'))
})
