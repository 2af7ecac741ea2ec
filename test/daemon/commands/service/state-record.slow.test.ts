import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../e2e/world.ts'

test('install writes the state folder of the service into its configuration, and commands find it there', async () => {
  await using world = await World.create()
  const { home } = world
  const before = await readFile(home.configFile, 'utf8')
  const state = join(home.path, 'of the service')
  const args = ['service', 'install', '--launchd', '--config', home.configFile, '--state', state]

  const first = await home.command(...args)
  const written = await readFile(home.configFile, 'utf8')
  const again = await home.command(...args)
  await home.command('hub', 'token', 'add', 'ada')
  const listed = await home.command('hub', 'token', 'list', '--state', state, '--json')

  expect(first).toMatchObject({ status: 0 })
  expect(first.stdout).toContain(`note      wrote state: ${state} into ${home.configFile}`)
  expect(written).toBe(`${before}state: ${state}\n`)
  expect(again.stdout).not.toContain('note')
  expect(JSON.parse(listed.stdout).tokens).toMatchObject([{ name: 'ada' }])
})

test('a configuration that names another state folder stays, and the option that commands need is named', async () => {
  await using world = await World.create()
  const { home } = world
  const text = `${await readFile(home.configFile, 'utf8')}state: ${home.path}/mine\n`
  await mkdir(join(home.path, 'mine'))
  await writeFile(home.configFile, text)
  const state = join(home.path, 'service')

  const installed = await home.command('service', 'install', '--launchd', '--config', home.configFile, '--state', state)

  expect(installed).toMatchObject({ status: 0 })
  expect(installed.stdout).toContain(`note      commands need --state ${state}, as the service has it: `)
  expect(await readFile(home.configFile, 'utf8')).toBe(text)
})
