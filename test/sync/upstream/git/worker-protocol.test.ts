import { expect, test } from 'vitest'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { isDatabaseError, isUnwritable } from '../../../../src/sync/store/files/disk-error.ts'
import { errorOf, failureFrom } from '../../../../src/sync/upstream/git/worker-protocol.ts'

test.each([
  ['a full disk', Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' }), true],
  ['a full database', Object.assign(new Error('full'), { errcode: 13 }), true],
  ['a file that is absent', Object.assign(new Error('open'), { code: 'ENOENT', syscall: 'open' }), false],
  ['none', undefined, false],
])('an error of a thread with the cause "%s" is known on the other thread', (_, cause, isOfFullDisk) => {
  const sent = structuredClone(failureFrom(new SyncError('store-failed', 'Cannot fetch', { cause })))

  const error = errorOf(sent)

  expect(error).toMatchObject({ code: 'store-failed', message: 'Cannot fetch' })
  expect(isUnwritable(error)).toBe(isOfFullDisk)
  expect(isDatabaseError(error.cause)).toBe(isDatabaseError(cause))
})
