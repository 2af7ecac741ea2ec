import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockHolderOf } from '../../../src/daemon/control/daemon-lock.ts'
import { WriteRight } from '../../../src/daemon/control/write-lock.ts'
import type { WriteRightParts } from '../../../src/daemon/control/write-lock.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('a process that has the lock is not taken for another one that has it', async () => {
  await using folder = await temporaryFolder()
  const right = new WriteRight(folder.path, ME, { clock: new FakeClock() })

  const first = await right.take(STEADY)
  const second = await right.take(STEADY)

  expect([first, second]).toEqual([undefined, undefined])
  await right.release()
  expect(await lockHolderOf(folder.path)).toBeUndefined()
})

test('a right that is revoked lets nothing be written until it is granted again, and keeps the lock', async () => {
  await using folder = await temporaryFolder()
  const right = new WriteRight(folder.path, ME, { clock: new FakeClock() })
  await right.take(STEADY)
  right.grant()

  right.revoke()
  const refused = right.expect()

  await expect(refused).rejects.toMatchObject({ code: 'store-failed' })
  expect(await lockHolderOf(folder.path)).toMatchObject({ pid: process.pid })
  right.grant()
  await right.expect()
  await right.release()
})

test('a right is renewed every two seconds, in place and with another lease each time', async () => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock()
  const right = await granted(folder.path, clock)
  const first = await lockHolderOf(folder.path)

  await clock.advance(2_000)
  const second = await lockHolderOf(folder.path)
  await clock.advance(2_000)
  const third = await lockHolderOf(folder.path)

  expect(new Set([first, second, third].map((holder) => holder?.lease)).size).toBe(3)
  expect(new Set([first, second, third].map((holder) => holder?.nonce)).size).toBe(1)
  expect(right.lost.aborted).toBe(false)
  await right.release()
  expect(await lockHolderOf(folder.path)).toBeUndefined()
})

test('a process that was stopped while another took its lock writes nothing more, and leaves that lock alone', async () => {
  await using folder = await temporaryFolder()
  let nowMs = 0
  // Its timers come later than its next write.
  const timers = new FakeClock()
  const right = await granted(folder.path, { monotonicMs: () => nowMs, wait: async (...wait) => timers.wait(...wait) })
  const other = await takenByAnother(folder.path)

  await right.expect()
  nowMs = 10_000
  const refused = right.expect()

  await expect(refused).rejects.toMatchObject({ code: 'store-failed', message: expect.stringContaining('took over') })
  expect(right.lost.reason).toMatchObject({
    code: 'state-in-use',
    message: expect.stringContaining('process 7 (skillsyncd start)'),
  })
  right.grant()
  expect(right.readOnly).toMatchObject({ code: 'store-failed' })
  await right.release()
  expect(await lockHolderOf(folder.path)).toMatchObject(other)
})

test('a right that was lost is told by the next renewal, though nothing is to be written', async () => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock()
  const right = await granted(folder.path, clock)
  await takenByAnother(folder.path)

  await clock.advance(2_000)

  expect(right.lost.reason).toMatchObject({ code: 'state-in-use' })
  await right.release()
})

test.each([
  ['put back by the next renewal in a state folder', true],
  ['not put back where the folder is none any more: its disk may not be mounted', false],
])('a lock that was removed is %s', async (_, isStateFolder) => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock()
  const right = await granted(folder.path, clock)
  const before = await lockHolderOf(folder.path)
  if (!isStateFolder) await rm(join(folder.path, 'format'))
  await rm(join(folder.path, 'daemon.lock'))

  await clock.advance(4_000)

  expect((await lockHolderOf(folder.path))?.nonce).toBe(isStateFolder ? before?.nonce : undefined)
  expect(right.lost.aborted).toBe(false)
  await right.release()
})

async function granted(state: string, clock: WriteRightParts['clock']): Promise<WriteRight> {
  const right = new WriteRight(state, ME, { clock })
  await right.take(STEADY)
  right.grant()
  return right
}

/** Puts the lock of a process of another container in the place of the one that there is. */
async function takenByAnother(state: string): Promise<object> {
  const file = join(state, 'daemon.lock')
  const other = { ...JSON.parse(await readFile(file, 'utf8')), pid: 7, pidNamespace: 'another', nonce: 'f'.repeat(16) }
  await rm(file)
  await writeFile(file, JSON.stringify(other))
  return other
}

const STEADY = new AbortController().signal
const ME = { pid: process.pid, socket: '/nowhere/skillsyncd.sock', command: 'start' }
