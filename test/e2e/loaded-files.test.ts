import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stdio } from '../support/clients/peer.ts'
import { loadedBy, RECORD } from '../support/process/loaded-files.ts'
import { Home, MAIN } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { World } from './world.ts'

// A short command must load nothing that it does not use: most of its time is loading.

const READING = ['cron', 'luxon', 'minisearch', 'picomatch', 'semver', 'yaml', 'zod']

const WRITING = ['cron', 'luxon', 'minisearch', 'p-queue', ...READING.slice(3)]

test.each([
  ['--version', 10, []],
  ['--help', 10, []],
  ['list', 25, READING],
  ['why fx/alpha', 25, READING],
  ['status', 33, READING],
  ['sync', 46, WRITING],
  ['lock', 50, WRITING],
  ['update', 53, WRITING],
  ['verify', 33, WRITING],
  ['doctor', 50, WRITING],
  ['link --dry-run', 40, WRITING],
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

test('beside a daemon, mcp loads nothing that writes, and serves on if its package is replaced and the daemon ends', async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  await daemon.line()
  const [files, program] = [join(home.path, 'loaded'), join(home.path, 'package/dist/program')]
  await cp(join(MAIN, '..'), program, { recursive: true })
  await cp(join(MAIN, '../../../package.json'), join(program, '../../package.json'))
  const env = { ...home.env, NODE_OPTIONS: `--import ${RECORD}`, RECORD_LOADS: files }
  await using mcp = await stdio([], 'legacy', env, ['sh', '-c', `exec "$0" ${join(program, 'main.js')} mcp`])
  const get = async (): Promise<unknown> =>
    (await mcp.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })).result
  const before = await get()
  const loaded = await readFile(files, 'utf8')

  await rm(program, { recursive: true })
  await daemon.stop()
  const after = await get()

  expect(JSON.stringify(before)).toContain('first')
  expect(after).toEqual(before)
  expect(mcp.stderr()).toContain('The package of this process was replaced')
  expect(loaded).toContain('follow-')
  expect(loaded).not.toMatch(/^(?:writer|pull)-(?!follow)/m)
}, 30_000)

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
