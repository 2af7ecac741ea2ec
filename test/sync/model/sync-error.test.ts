import { expect, test } from 'vitest'
import {
  Damaged,
  diskText,
  mendOf,
  offlineError,
  SyncError,
  systemErrorWith,
} from '../../../src/sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../src/sync/model/sync-error.ts'
import { databaseFailure } from '../../../src/sync/store/objects/database.ts'

test.each<[SyncErrorCode, string, RegExp]>([
  ['store-failed', 'ENOSPC', /df -i/],
  ['store-failed', 'EDQUOT', /df -i/],
  ['store-failed', 'EROFS', /writable/],
  ['store-failed', 'EACCES', /permission/],
  ['store-failed', 'EPERM', /permission/],
  ['store-failed', 'ENOENT', /missing/],
  ['store-failed', 'ENOTDIR', /Something else/],
  ['store-failed', 'EMFILE', /ulimit -n/],
  ['store-failed', 'EIO', /dmesg/],
  ['source-unreachable', 'EACCES', /permission/],
  ['source-unreachable', 'ENFILE', /ulimit -n/],
])('%s has the word %s of the system, and a fix for it', (code, errno, fix) => {
  const error = new SyncError(code, 'Cannot make a folder in "/x"', { cause: systemErrorWith(errno) })
  const told = new SyncError(code, `Cannot make it: ${errno}`, { cause: systemErrorWith(errno) })

  expect(error.message).toBe(`Cannot make a folder in "/x": ${diskText(errno)}`)
  expect(error.message).toContain(`(${errno})`)
  expect(told.message).toBe(`Cannot make it: ${errno}`)
  expect(mendOf(error)).toMatch(fix)
})

test('a connection that the system refused has the fix of the network', () => {
  const cause = Object.assign(new Error('connect'), { code: 'EACCES', syscall: 'connect' })

  const error = new SyncError('source-unreachable', 'Cannot reach "x": the connection failed (EACCES)', { cause })

  expect(mendOf(error)).toBe(mendOf({ code: 'source-unreachable' }))
})

test('an error with a fix of its own keeps it', () => {
  const error = new SyncError('store-failed', 'Cannot', { cause: systemErrorWith('ENOSPC'), fix: 'Do this' })

  expect(mendOf(error)).toBe('Do this')
})

test('a limit of the configuration is named in the fix, and one that is fixed is not', () => {
  const place = 'limits.repository.files'
  const named = new SyncError('limit-exceeded', `Cannot take it: over ${place} (1024)`, { place })

  expect(mendOf(named)).toContain('Raise `limits.repository.files`')
  expect(mendOf(new SyncError('limit-exceeded', 'Cannot take it: over 3 parents'))).not.toContain('Raise')
})

test('a path that has the name of a limit is not told as the limit to raise', () => {
  const hostile = new SyncError('limit-exceeded', 'Cannot read "a/limits.disk.bytes": it has 9 bytes, over 8')

  expect(hostile.place).toBeUndefined()
  expect(mendOf(hostile)).not.toContain('Raise')
})

test('an error of an offline request, and one of damaged content, have their own fix', () => {
  expect(mendOf(offlineError('Cannot fetch "x":'))).toContain('--offline')
  expect(mendOf(new Damaged('Cannot read it'))).toContain('skillsyncd verify')
})

test.each([
  [13, /df -h/],
  [8, /writable/],
  [266, /dmesg/],
])('the fix for result %i of SQLite is that of its cause', (errcode, fix) => {
  const cause = Object.assign(new Error('database or disk'), { code: 'ERR_SQLITE_ERROR', errcode })

  expect(mendOf(databaseFailure('write', cause))).toMatch(fix)
})

test.each(['source-unreachable', 'store-failed', 'limit-exceeded', 'rate-limited'] as const)(
  'the general fix of %s promises no retry to a command that makes none',
  (code) => {
    expect(mendOf({ code })).not.toMatch(/is retried|limit that the message names/)
  },
)
