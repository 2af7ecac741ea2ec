import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadedBy } from '../support/process/loaded-files.ts'
import { Home, MAIN } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'

// A short command must load nothing that it does not use: most of its time is loading.

const READING = ['cron', 'luxon', 'minisearch', 'picomatch', 'semver', 'yaml', 'zod']

test.each([
  ['--version', 10, []],
  ['--help', 10, []],
  ['list', 32, READING],
  ['why fx/alpha', 32, READING],
  ['status', 40, READING],
  [
    'sync',
    64,
    [
      '@modelcontextprotocol/core',
      '@modelcontextprotocol/server',
      'cron',
      'luxon',
      'minisearch',
      'p-queue',
      ...READING.slice(3),
    ],
  ],
])('%s loads at most %i files, and of packages %j', async (command, most, packages) => {
  await using home = await Home.create()
  const skills = join(home.path, 'skills')
  await mkdir(join(skills, 'alpha'), { recursive: true })
  await writeFile(join(skills, 'alpha/SKILL.md'), '---\nname: alpha\ndescription: One of the tests\n---\nText\n')
  await home.configure({ fx: [`path: ${skills}`] })
  await home.run('sync')

  const { end, files, packages: used } = await loadedBy(home, ...command.split(' '))

  expect(end).toMatchObject({ status: 0 })
  expect(files.has(MAIN.replace(/^.*\//, ''))).toBe(true)
  expect(files.size).toBeLessThanOrEqual(most)
  expect(used).toEqual(packages)
})

test.each([
  ['kept where the user has a cache', ['.cache'], {}, true],
  ['kept nowhere for a user without one, whose home stays as it is', [], {}, false],
  ['not kept if the user says so', ['.cache'], { NODE_DISABLE_COMPILE_CACHE: '1' }, false],
])('compiled code is %s', async (_, folders, settings, isKept) => {
  await using home = await Home.create()
  await using own = await temporaryFolder()
  for (const name of folders) await mkdir(join(own.path, name))
  const { XDG_CACHE_HOME: _cache, ...rest } = home.env
  Object.assign(home, { env: { ...rest, ...settings, HOME: own.path } })

  expect(await home.run('--version')).toMatchObject({ status: 0 })
  const kept = await readdir(join(own.path, '.cache/skillsyncd/code'), { recursive: true }).catch(() => [])

  expect(kept.length > 1).toBe(isKept)
  expect(await readdir(own.path)).toEqual(folders)
})
