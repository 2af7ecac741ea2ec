import { expect, test } from 'vitest'
import { NotSigned, SyncError, unwrapSuppressed } from '../../../src/sync/model/sync-error.ts'

test('where the disposal fails too, the error of the work counts, and both of its causes are kept', async () => {
  const [cause, later] = [new Error('the line is down'), new SyncError('store-failed', 'Cannot remove "x": EROFS')]
  const first = new SyncError('source-unreachable', 'Cannot reach "team"', { cause })

  const error = unwrapSuppressed(await thrown(first, later))

  expect(error).toBe(first)
  expect(first.cause).toMatchObject({
    errors: [cause, later],
    message: 'the line is down; then Cannot remove "x": EROFS',
  })
})

test('an error without a cause has why the disposal failed for one, and stays of its kind', async () => {
  const later = Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO', syscall: 'close' })

  const error = unwrapSuppressed(await thrown(new NotSigned('none of those signed it'), later))

  expect(error).toBeInstanceOf(NotSigned)
  expect(error).toMatchObject({ cause: later })
})

test('who was stopped is told of that, whatever the disposal said', async () => {
  const abort = new DOMException('The process was asked to stop', 'AbortError')

  expect(unwrapSuppressed(await thrown(abort, new SyncError('store-failed', 'Cannot remove "x": EROFS')))).toBe(abort)
})

test('a fault of the program stays one, in the work and in the disposal', async () => {
  const ours = new SyncError('store-failed', 'Cannot write "x": EIO')
  const ends = [await thrown(new TypeError('a fault'), ours), await thrown(ours, new TypeError('a fault'))]

  expect(ends.map(unwrapSuppressed)).toEqual(ends)
})

async function thrown(first: unknown, later: unknown): Promise<unknown> {
  try {
    await using _held = { [Symbol.asyncDispose]: async () => Promise.reject(later) }
    throw first
  } catch (error) {
    return error
  }
}
