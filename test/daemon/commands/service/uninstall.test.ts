import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { uninstall } from '../../../../src/daemon/commands/service/uninstall.ts'
import { MARK } from '../../../../src/daemon/commands/service/units.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const STEADY = new AbortController().signal

/** A folder with units, and a systemctl that records its calls and ends so. */
async function installed(units: Readonly<Record<string, string>>, systemctl?: string) {
  const folder = await temporaryFolder()
  const [home, bin] = [join(folder.path, 'units'), join(folder.path, 'bin')]
  await mkdir(home)
  await mkdir(bin)
  for (const [name, text] of Object.entries(units)) await writeFile(join(home, name), text)
  const calls = join(folder.path, 'calls')
  await writeFile(calls, '')
  if (systemctl !== undefined) {
    await writeFile(join(bin, 'systemctl'), `#!/bin/sh\necho "$*" >> ${calls}\n${systemctl}\n`)
    await chmod(join(bin, 'systemctl'), 0o755)
  }
  const environment = environmentOf({ PATH: bin }, folder.path)
  return {
    paths: ['skillsyncd.socket', 'skillsyncd.service'].map((name) => join(home, name)),
    environment,
    calls: async () => (await readFile(calls, 'utf8')).split('\n').filter((line) => line !== ''),
    left: async () => readdir(home),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

test('the service is stopped and disabled while its files are there, and they are removed', async () => {
  await using one = await installed({ 'skillsyncd.service': `${MARK}x`, 'skillsyncd.socket': `${MARK}y` }, 'exit 0')

  const removed = await uninstall({ paths: one.paths, manager: 'user', isForced: false }, one.environment, STEADY)

  expect(removed).toEqual(one.paths)
  expect(await one.left()).toEqual([])
  expect(await one.calls()).toEqual([
    '--user disable --now skillsyncd.socket skillsyncd.service',
    '--user daemon-reload',
  ])
})

test('a service that cannot be stopped stays installed, unless it is forced', async () => {
  await using one = await installed({ 'skillsyncd.service': `${MARK}x` }, 'echo "no bus" >&2; exit 1')
  const ask = { paths: one.paths, manager: 'system', isForced: false } as const

  await expect(uninstall(ask, one.environment, STEADY)).rejects.toThrow(
    'Cannot stop the service: no bus; --force removes its files all the same',
  )
  const before = await one.left()
  const forced = await uninstall({ ...ask, isForced: true }, one.environment, STEADY)

  expect(before).toEqual(['skillsyncd.service'])
  expect(forced).toEqual(one.paths.slice(1))
  expect(await one.left()).toEqual([])
})

test('a unit that skillsyncd did not write is refused before anything is stopped', async () => {
  await using one = await installed({ 'skillsyncd.service': '[Service]\n', 'skillsyncd.socket': `${MARK}y` }, 'exit 0')
  const ask = { paths: one.paths, manager: 'user', isForced: false } as const

  await expect(uninstall(ask, one.environment, STEADY)).rejects.toThrow('skillsyncd did not write it')

  expect(await one.calls()).toEqual([])
  expect((await one.left()).toSorted()).toEqual(['skillsyncd.service', 'skillsyncd.socket'])
})

test('a file that cannot be removed is reported with what is removed already', async () => {
  await using one = await installed({ 'skillsyncd.socket': `${MARK}y` }, 'exit 0')
  await mkdir(one.paths[1] ?? '')
  const ask = { paths: one.paths, manager: 'user', isForced: true } as const

  await expect(uninstall(ask, one.environment, STEADY)).rejects.toThrow(
    /^Cannot remove ".*skillsyncd\.service": .*; the service is stopped; .*skillsyncd\.socket is removed$/,
  )

  expect(await one.left()).toEqual(['skillsyncd.service'])
  expect((await one.calls()).at(-1)).toBe('--user daemon-reload')
})

test('where the service was not stopped, the error does not say that it is', async () => {
  await using one = await installed({ 'skillsyncd.socket': `${MARK}y` }, 'exit 1')
  await mkdir(one.paths[1] ?? '')
  const ask = { paths: one.paths, manager: 'user', isForced: true } as const

  await expect(uninstall(ask, one.environment, STEADY)).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('stopped') }),
  )
})

test('an empty unit is not one that skillsyncd wrote', async () => {
  await using one = await installed({ 'skillsyncd.service': '' }, 'exit 0')

  await expect(
    uninstall({ paths: one.paths, manager: 'user', isForced: false }, one.environment, STEADY),
  ).rejects.toThrow('skillsyncd did not write it')
})

test('without systemctl the files are removed, and where there are none nothing is done', async () => {
  await using one = await installed({ 'skillsyncd.service': `${MARK}x` })
  const ask = { paths: one.paths, manager: 'user', isForced: false } as const

  expect(await uninstall(ask, one.environment, STEADY)).toEqual(one.paths.slice(1))
  expect(await uninstall(ask, one.environment, STEADY)).toEqual([])
})
