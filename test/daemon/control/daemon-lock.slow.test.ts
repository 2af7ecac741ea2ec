import { fork, spawn, type ChildProcess, type ForkOptions } from 'node:child_process'
import { once } from 'node:events'
import { chown, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  acquireLock,
  DaemonLock,
  lockHolderOf,
  socketOf,
  type FoundHolder,
  type LockHolder,
} from '../../../src/daemon/control/daemon-lock.ts'
import { newLease, replaceLease } from '../../../src/daemon/control/lease-renewal.ts'
import { processIdentityOf } from '../../../src/daemon/runtime/process-identity.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const SWEEPER = new URL('../../support/process/sweep-before-link.mjs', import.meta.url).href
const OWNER = process.getuid?.() ?? 0
const CONTENDER = fileURLToPath(new URL('../../support/process/lock-contender.mjs', import.meta.url))

test('the lock of a state folder says who holds it, and is gone when released', async () => {
  await using state = await temporaryFolder()

  const lock = await acquired(state.path)

  const holder = await lockHolderOf(state.path)
  expect(holder).toEqual({ ...lock.holder, owner: OWNER })
  expect(holder).toMatchObject({ pid: process.pid, socket: join(state.path, 'no.sock'), command: 'test' })
  await lock.release()
  expect(await readdir(state.path)).toEqual([])
  expect(await lockHolderOf(state.path)).toBeUndefined()
})

test('a second daemon on the same state folder is told who holds it', async () => {
  await using state = await temporaryFolder()
  await using lock = await acquired(state.path)

  const second = await acquireLock(state.path, me(state.path))

  expect(second).toEqual({ heldBy: { ...lock.holder, owner: OWNER } })
})

test('the lock of a process that was killed is taken over', async () => {
  await using state = await temporaryFolder()
  const child = await contender()
  expect(await ask(child, { take: state.path })).toEqual({ won: true })
  await kill(child)

  await using lock = await acquired(state.path)

  expect(lock.holder.pid).toBe(process.pid)
})

test('a process that is stopped and says nothing keeps its lock', async () => {
  await using state = await temporaryFolder()
  const child = await contender()
  await ask(child, { take: state.path })
  child.kill('SIGSTOP')

  const second = await acquireLock(state.path, me(state.path))

  expect(second).toMatchObject({ heldBy: { pid: child.pid } })
  await kill(child)
})

test('a lock is stale if its pid belongs to a process that began at another time', async () => {
  await using state = await temporaryFolder()
  await plant(state.path, { ...(await processIdentityOf(process.pid)), startTime: '1' })

  await using lock = await acquired(state.path)

  expect(lock.holder.startTime).not.toBe('1')
})

const ELSEWHERE: readonly Partial<LockHolder>[] = [
  { bootId: 'an earlier one' },
  { machineId: 'of another machine' },
  { pidNamespace: 'pid:[1]' },
  { pidNamespace: 'another system' },
]

test.each(ELSEWHERE)(
  'the lock of a process of %o is taken over after a term in which nothing changed',
  async (place) => {
    await using state = await temporaryFolder()
    const clock = new FakeClock()
    // Here its number is that of a process that lives.
    const stale = await plant(state.path, { ...(await processIdentityOf(process.pid)), ...place, lease: LEASE })
    const { taking, watched } = contending(state.path, clock)
    const holder = await watched

    await clock.advance(9_500)
    const early = await lockHolderOf(state.path)
    await clock.advance(500)
    const lock = await taking

    expect(early).toEqual({ ...stale, owner: OWNER, isElsewhere: true })
    expect(holder).toEqual(early)
    expect(lock).toBeInstanceOf(DaemonLock)
    expect(await lockHolderOf(state.path)).toEqual({ ...(lock as DaemonLock).holder, owner: OWNER })
  },
)

test.each(ELSEWHERE)('the lock of a process of %o is held where its lease changes within the term', async (place) => {
  await using state = await temporaryFolder()
  const clock = new FakeClock()
  const other = await plant(state.path, { pid: await deadPid(), ...place, lease: LEASE })
  const { taking, watched } = contending(state.path, clock)
  await watched
  await clock.advance(9_000)

  await replaceLease(join(state.path, 'daemon.lock'), other.nonce, newLease())
  await clock.advance(1_000)

  expect(await taking).toMatchObject({ heldBy: { nonce: other.nonce, isElsewhere: true } })
  expect(await lockHolderOf(state.path)).toMatchObject({ nonce: other.nonce })
})

test('a contender that was stopped itself looks on for as long as it has not looked, since the holder may have been stopped with it', async () => {
  await using state = await temporaryFolder()
  const clock = new FakeClock()
  const other = await plant(state.path, { pidNamespace: 'pid:[1]', lease: LEASE })
  const { taking, watched } = contending(state.path, clock)
  await watched

  await clock.suspend(60_000)
  await replaceLease(join(state.path, 'daemon.lock'), other.nonce, newLease())
  await clock.advance(500)

  expect(await taking).toMatchObject({ heldBy: { nonce: other.nonce } })
})

test('a lock of elsewhere that is released while its lease is watched is free at once', async () => {
  await using state = await temporaryFolder()
  const clock = new FakeClock()
  await plant(state.path, { pidNamespace: 'pid:[1]', lease: LEASE })
  const { taking, watched } = contending(state.path, clock)
  await watched
  await clock.advance(1_000)

  await rm(join(state.path, 'daemon.lock'))
  await clock.advance(500)

  expect(await taking).toBeInstanceOf(DaemonLock)
})

test('who watches a lease and is stopped watches no longer', async () => {
  await using state = await temporaryFolder()
  await plant(state.path, { pidNamespace: 'pid:[1]', lease: LEASE })
  const stop = new AbortController()
  const onWatch = (): void => stop.abort()

  const taking = acquireLock(state.path, { ...me(state.path), clock: new FakeClock(), signal: stop.signal, onWatch })

  await expect(taking).rejects.toMatchObject({ name: 'AbortError' })
})

test('a lease that is replaced changes that lock and no other, and no byte beside it', async () => {
  await using state = await temporaryFolder()
  const file = join(state.path, 'daemon.lock')
  const { nonce } = await plant(state.path, { socket: '/tmp/ä"lease":"/s', lease: LEASE })
  const before = await readFile(file, 'utf8')
  const lease = newLease()

  const isOfAnother = await replaceLease(file, '1'.repeat(16), newLease())
  const isThere = await replaceLease(file, nonce, lease)

  expect([isOfAnother, isThere]).toEqual([false, true])
  expect(await readFile(file, 'utf8')).toBe(before.replace(LEASE, lease))
  expect(await replaceLease(join(state.path, 'absent'), nonce, lease)).toBe(false)
})

test('a lock whose socket answers is held, whatever its pid says', async () => {
  await using state = await temporaryFolder()
  await using server = createServer()
  await once(server.listen(join(state.path, 'no.sock')), 'listening')
  await plant(state.path, { pid: await deadPid() })

  const second = await acquireLock(state.path, me(state.path))

  expect(second).toMatchObject({ heldBy: { command: 'planted' } })
})

test('what the system does not tell of a living process speaks for it', async () => {
  await using state = await temporaryFolder()
  await plant(state.path, { pid: process.pid })

  const second = await acquireLock(state.path, me(state.path))

  expect(second).toMatchObject({ heldBy: { pid: process.pid } })
})

test.skipIf(OWNER !== 0)(
  'a holder is asked where its lock is shown as that of another user, and none else (needs root)',
  async () => {
    await using state = await temporaryFolder()
    await using lock = await acquired(state.path)
    await chown(join(state.path, 'daemon.lock'), 65_534, 65_534)
    const mapped = (await lockHolderOf(state.path))!

    const socket = await socketOf(mapped)
    await chown(state.path, 65_533, 65_533)
    const taken = await socketOf(mapped)

    expect([mapped.owner, socket, taken]).toEqual([65_534, lock.holder.socket, undefined])
  },
)

test('a release leaves the lock of somebody else alone', async () => {
  await using state = await temporaryFolder()
  const lock = await acquired(state.path)
  const other = await plant(state.path, { pid: process.pid })

  await lock.release()

  expect(await lockHolderOf(state.path)).toEqual({ ...other, owner: OWNER })
})

test('a lock that nobody can read is refused, and stays', async () => {
  await using state = await temporaryFolder()
  await writeFile(join(state.path, 'daemon.lock'), '{"pid": "me"}')

  await expect(acquireLock(state.path, me(state.path))).rejects.toMatchObject({
    name: 'SyncError',
    code: 'store-failed',
  })

  expect(await readFile(join(state.path, 'daemon.lock'), 'utf8')).toBe('{"pid": "me"}')
})

test.each(['', '\0'.repeat(200)])('a lock whose text never came to the disk is taken over', async (text) => {
  await using state = await temporaryFolder()
  await writeFile(join(state.path, 'daemon.lock'), text)

  const before = await lockHolderOf(state.path)
  await using lock = await acquired(state.path)

  expect(before).toBeUndefined()
  expect(await lockHolderOf(state.path)).toEqual({ ...lock.holder, owner: OWNER })
  expect(await readdir(state.path)).toEqual(['daemon.lock'])
})

test('a state folder that is not there is named', async () => {
  await using state = await temporaryFolder()
  const absent = join(state.path, 'absent')

  await expect(acquireLock(absent, me(absent))).rejects.toThrow(`Cannot take the lock "${join(absent, 'daemon.lock')}"`)
})

test('of twenty processes that find the same stale lock exactly one takes it over, each time', async () => {
  await using state = await temporaryFolder()
  const children = await Promise.all(Array.from({ length: 20 }, async () => contender()))
  try {
    for (let round = 0; round < 10; round += 1) {
      // Every other time there is no lock at all to begin with.
      if (round % 2 === 0) await plant(state.path, { pid: await deadPid() })

      const ends = await Promise.all(children.map((child) => ask(child, { take: state.path })))

      const winners = children.filter((_, index) => ends[index]!.won === true)
      expect(winners).toHaveLength(1)
      expect(await lockHolderOf(state.path)).toMatchObject({ pid: winners[0]!.pid })
      expect(ends.filter((end) => end.heldBy === winners[0]!.pid)).toHaveLength(19)
      await ask(winners[0]!, { release: true })
      expect(await readdir(state.path)).toEqual([])
    }
  } finally {
    await Promise.all(children.map(kill))
  }
})

test('contenders that are killed at any moment leave nothing that keeps the next one out', async () => {
  await using state = await temporaryFolder()
  for (let round = 0; round < 10; round += 1) {
    await plant(state.path, { pid: await deadPid() })
    const children = await Promise.all(Array.from({ length: 4 }, async () => contender()))
    for (const child of children) child.send({ take: state.path })
    // One of them has got to the end, the others to wherever they have.
    await Promise.race(children.map((child) => once(child, 'message')))
    await Promise.all(children.map(kill))

    await using lock = await acquired(state.path)

    expect(lock.holder.pid).toBe(process.pid)
  }
})

test('a claim on a stale lock whose holder was killed is taken over too, and its litter is swept', async () => {
  await using state = await temporaryFolder()
  const stale = await plant(state.path, { pid: await deadPid() })
  const claim = await plant(state.path, { pid: await deadPid() }, `daemon.lock.${stale.nonce}`)
  await plant(state.path, { pid: await deadPid() }, `daemon.lock.${stale.nonce}.${claim.nonce}`)
  await plant(state.path, { pid: await deadPid() }, 'daemon.lock.new-0123456789abcdef')
  // It was killed before it had written who it is.
  await writeFile(join(state.path, 'daemon.lock.new-fedcba9876543210'), '')

  await using _lock = await acquired(state.path)

  expect(await readdir(state.path)).toEqual(['daemon.lock'])
})

test('a contender whose file is swept before it is named makes another', async () => {
  await using state = await temporaryFolder()
  await using aside = await temporaryFolder()
  const swept = join(aside.path, 'swept')
  const child = await contender({ execArgv: [`--import=${SWEEPER}`], env: { ...process.env, SWEPT: swept } })

  const end = await ask(child, { take: state.path })

  expect(end).toEqual({ won: true })
  expect(await lockHolderOf(state.path)).toMatchObject({ pid: child.pid })
  // It is the same claim in both: the one that was swept, and the one that took its place.
  expect(await readFile(swept, 'utf8')).toBe(await readFile(join(state.path, 'daemon.lock'), 'utf8'))
  await kill(child)
})

async function acquired(statePath: string): Promise<DaemonLock> {
  const end = await acquireLock(statePath, me(statePath))
  if (!(end instanceof DaemonLock)) throw new Error(`Held by ${JSON.stringify(end.heldBy)}`)
  return end
}

/** Contends for a lock that a process of elsewhere has. `watched`: its holder, once its lease is about to be watched. */
function contending(statePath: string, clock: FakeClock) {
  const { promise: watched, resolve: onWatch } = Promise.withResolvers<FoundHolder>()
  return { taking: acquireLock(statePath, { ...me(statePath), clock, onWatch }), watched }
}

function me(statePath: string): Pick<LockHolder, 'pid' | 'socket' | 'command'> {
  return { pid: process.pid, socket: join(statePath, 'no.sock'), command: 'test' }
}

const LEASE = '0123456789abcdef'

let planted = 0

/** Puts a lock into the folder as if somebody had left it there. */
async function plant(statePath: string, identity: Partial<LockHolder>, name = 'daemon.lock'): Promise<LockHolder> {
  planted += 1
  const nonce = planted.toString(16).padStart(16, '0')
  const { lease, ...rest } = identity
  const holder = { ...me(statePath), command: 'planted', ...rest, nonce, ...(lease !== undefined && { lease }) }
  await writeFile(join(statePath, name), JSON.stringify(holder))
  return holder
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  const { pid } = child
  await once(child, 'exit')
  return pid!
}

async function contender(options: ForkOptions = {}): Promise<ChildProcess> {
  const child = fork(CONTENDER, options)
  await once(child, 'message')
  return child
}

interface Reply {
  readonly won?: true
  readonly heldBy?: number
}

async function ask(
  child: ChildProcess,
  message: { readonly take: string } | { readonly release: true },
): Promise<Reply> {
  const reply: Promise<Reply[]> = once(child, 'message')
  child.send(message)
  return (await reply)[0]!
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
