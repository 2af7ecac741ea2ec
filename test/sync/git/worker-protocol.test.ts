import { expect, test } from 'vitest'
import { errorOf, failureFrom } from '../../../src/sync/git/worker-protocol.ts'
import { CredentialRefused, SyncError } from '../../../src/sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../src/sync/model/sync-error.ts'
import { isDatabaseError, isUnwritable } from '../../../src/sync/store/files/disk-error.ts'

test.each<[string, SyncErrorCode, Error | undefined, boolean]>([
  ['a full disk', 'store-failed', Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' }), true],
  ['a full database', 'store-failed', Object.assign(new Error('full'), { errcode: 13 }), true],
  [
    'a file that is absent',
    'store-failed',
    Object.assign(new Error('open'), { code: 'ENOENT', syscall: 'open' }),
    false,
  ],
  ['none', 'store-failed', undefined, false],
  [
    'a closed source',
    'source-unreachable',
    Object.assign(new Error('open'), { code: 'EACCES', syscall: 'open' }),
    false,
  ],
])('an error of a thread with the cause "%s" is known on the other thread', (_, code, cause, isOfFullDisk) => {
  const thrown = new SyncError(code, 'Cannot fetch', { cause })

  const error = errorOf(structuredClone(failureFrom(thrown)))

  expect(error).toMatchObject({ code, message: thrown.message })
  expect(isUnwritable(error)).toBe(isOfFullDisk)
  expect(isDatabaseError(error.cause)).toBe(isDatabaseError(cause))
})

test.each([SyncError, CredentialRefused])('the remedy of an error of a thread is known on the other thread', (kind) => {
  const remedy = { fix: 'Set `root`', place: 'root' }
  const error =
    kind === SyncError ? new SyncError('root-not-found', 'Cannot', remedy) : new CredentialRefused('Cannot', remedy)

  expect(errorOf(structuredClone(failureFrom(error)))).toMatchObject(remedy)
})
