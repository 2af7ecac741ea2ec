import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runChecks, verdicts } from '../../../../src/daemon/cli/check.ts'
import type { Check } from '../../../../src/daemon/cli/check.ts'
import { SyncError, mendOf } from '../../../../src/sync/model/sync-error.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const NEVER = new AbortController().signal
const WELL: Check = { name: 'node', look: async () => [verdicts('node').ok('well')] }

test('a check that breaks is told as what it is, and hides no other', async () => {
  const failing: Check = {
    name: 'writer',
    look: async () => {
      throw new SyncError('store-failed', 'Cannot read the lock')
    },
  }
  const broken: Check = {
    name: 'disk',
    subject: '/state',
    look: async () => {
      throw new TypeError('surprise')
    },
  }

  const found = await runChecks([failing, WELL, broken], new FakeClock(), NEVER)

  expect(found).toMatchObject([
    { check: 'writer', verdict: 'fail', message: 'Cannot read the lock', fix: mendOf({ code: 'store-failed' }) },
    { check: 'node', verdict: 'ok' },
    { check: 'disk', subject: '/state', verdict: 'unknown', message: expect.stringContaining('surprise') },
  ])
})

test('a check that hangs is given up after ten seconds, and told to stop', async () => {
  const clock = new FakeClock()
  const signals: AbortSignal[] = []
  const hanging: Check = {
    name: 'host',
    subject: 'far',
    look: async (signal) => {
      signals.push(signal)
      return new Promise<never>(() => {})
    },
  }
  const examined = runChecks([hanging, WELL], clock, NEVER)

  await clock.advance(9_999)
  const before = signals.map(({ aborted }) => aborted)
  await clock.advance(1)

  expect(await examined).toMatchObject([
    { check: 'host', subject: 'far', verdict: 'fail', message: expect.stringContaining('10 s') },
    { verdict: 'ok' },
  ])
  expect([before, signals.map(({ aborted }) => aborted)]).toEqual([[false], [true]])
  expect(clock.waiting).toBe(0)
})

test('hundreds of checks take turns, and none is lost', async () => {
  let [under, most] = [0, 0]
  const checks = Array.from({ length: 300 }, (_, index): Check => {
    return {
      name: 'host',
      subject: String(index),
      look: async () => {
        most = Math.max(most, (under += 1))
        await turn()
        under -= 1
        return [verdicts('host', String(index)).ok('it answers')]
      },
    }
  })

  const found = await runChecks(checks, new FakeClock(), NEVER)

  expect(found.map(({ subject }) => subject)).toEqual(checks.map(({ subject }) => subject))
  expect(most).toBe(64)
})

test('whoever stops it gets no half of a result', async () => {
  const stop = new AbortController()
  const hanging: Check = { name: 'host', look: async () => new Promise<never>(() => {}) }
  const examined = runChecks([WELL, hanging], { wait: waitForStop }, stop.signal).catch((error: unknown) => error)

  stop.abort()

  expect(await examined).toBe(stop.signal.reason)
})

async function waitForStop(_ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}
