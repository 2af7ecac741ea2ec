import { expect, test } from 'vitest'
import { holderOf } from '../../src/daemon/daemon-lock.ts'
import { WriteRight } from '../../src/daemon/write-right.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('a process that has the lock is not taken for another one that has it', async () => {
  await using folder = await temporaryFolder()
  const right = new WriteRight(folder.path, ME)

  const first = await right.take()
  const second = await right.take()

  expect([first, second]).toEqual([undefined, undefined])
  await right.release()
  expect(await holderOf(folder.path)).toBeUndefined()
})

test('a right that is revoked lets nothing be written until it is granted again, and keeps the lock', async () => {
  await using folder = await temporaryFolder()
  const right = new WriteRight(folder.path, ME)
  await right.take()
  right.grant()

  right.revoke()
  const refused = right.expect()

  await expect(refused).rejects.toMatchObject({ code: 'store-failed' })
  expect(await holderOf(folder.path)).toMatchObject({ pid: process.pid })
  right.grant()
  await right.expect()
  await right.release()
})

const ME = { pid: process.pid, socket: '/nowhere/skillsyncd.sock', command: 'start' }
