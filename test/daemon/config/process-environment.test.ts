import { expect, test } from 'vitest'
import { hasRoomForThreads } from '../../../src/daemon/config/process-environment.ts'

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
