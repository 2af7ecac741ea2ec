import { chmod, chown, mkdir, readdir, realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasRoomForThreads, ownCacheIn } from '../../../src/daemon/config/process-environment.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const UNLIMITED = { '/proc/self/limits': limitsOf('unlimited'), '/proc/self/cgroup': '0::/\n' }

test.each([
  ['no limit', UNLIMITED],
  ['no kernel that says', {}],
  ['a limit of the user that is far', { ...UNLIMITED, '/proc/self/limits': limitsOf('96365') }],
  ['a group without a limit', { ...UNLIMITED, '/sys/fs/cgroup/pids.max': 'max\n' }],
  ['a limit of the group that is just far enough', { ...UNLIMITED, '/sys/fs/cgroup/pids.max': '512\n' }],
])('with %s, the program starts more threads than Node does', (_, files) => {
  expect(hasRoomForThreads(readerOf(files))).toBe(true)
})

test.each([
  ['of the user', { ...UNLIMITED, '/proc/self/limits': limitsOf('511') }],
  ['of the group that a container is', { ...UNLIMITED, '/sys/fs/cgroup/pids.max': '100\n' }],
  [
    'of a service',
    { '/proc/self/cgroup': '0::/system.slice/a.service\n', '/sys/fs/cgroup/system.slice/a.service/pids.max': '64\n' },
  ],
  [
    'of a group of the first version',
    { '/proc/self/cgroup': '8:pids:/docker/a\n0::/\n', '/sys/fs/cgroup/pids/docker/a/pids.max': '100\n' },
  ],
])('below a near limit %s, the program starts no more threads than Node does', (_, files) => {
  expect(hasRoomForThreads(readerOf(files))).toBe(false)
})

describe('the folder for compiled code', () => {
  test('is made for the user alone, also behind a link to another disk', async () => {
    await using home = await temporaryFolder()
    await mkdir(join(home.path, 'disk'))
    await symlink(join(home.path, 'disk'), join(home.path, 'cache'))

    expect(ownCacheIn(join(home.path, 'cache'))).toBe(join(await realpath(home.path), 'disk/skillsyncd/code'))
    expect(ownCacheIn(join(home.path, 'cache'))).toBeDefined()
  })

  test.each([
    ['it', 'cache/skillsyncd/code', 0o770],
    ['the folder above it', 'cache/skillsyncd', 0o777],
    ['the cache', 'cache', 0o775],
    ['the home', '.', 0o777],
  ])('is not used if others can write to %s', async (_, name, mode) => {
    await using home = await temporaryFolder()
    await mkdir(join(home.path, 'cache'))
    ownCacheIn(join(home.path, 'cache'))
    await chmod(join(home.path, name), mode)

    expect(ownCacheIn(join(home.path, 'cache'))).toBeUndefined()
  })

  test.skipIf(process.getuid?.() !== 0).each(['cache/skillsyncd/code', 'cache/skillsyncd'])(
    'is not used if %s is of another user',
    async (name) => {
      await using home = await temporaryFolder()
      await mkdir(join(home.path, 'cache'))
      ownCacheIn(join(home.path, 'cache'))
      await chown(join(home.path, name), 1, 1)

      expect(ownCacheIn(join(home.path, 'cache'))).toBeUndefined()
    },
  )

  test('is not made where the user has no cache, and neither is that', async () => {
    await using home = await temporaryFolder()

    expect(ownCacheIn(join(home.path, '.cache'))).toBeUndefined()
    expect(await readdir(home.path)).toEqual([])
  })
})

function readerOf(files: Readonly<Record<string, string>>): (file: string) => string {
  return (file) => files[file] ?? ''
}

function limitsOf(processes: string): string {
  return [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max cpu time              unlimited            unlimited            seconds   ',
    `Max processes             ${processes.padEnd(21)}${processes.padEnd(21)}processes `,
    '',
  ].join('\n')
}
