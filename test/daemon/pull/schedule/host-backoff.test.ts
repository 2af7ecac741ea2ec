import { expect, test } from 'vitest'
import { HostBackoff } from '../../../../src/daemon/pull/schedule/host-backoff.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const HOUR = 3_600_000

test('a host that requested a pause is left alone as long as it asked, and others are not', async () => {
  const clock = new FakeClock()
  const hosts = new HostBackoff(clock)
  hosts.close('a', HOUR)

  await clock.advance(HOUR - 1)
  const before = [hosts.closedMs('a'), hosts.closedMs('b')]
  await clock.advance(1)

  expect(before).toEqual([1, 0])
  expect(hosts.closedMs('a')).toBe(0)
})

test('a shorter pause does not end a longer one, and a wall clock that is set ends none', () => {
  const clock = new FakeClock()
  const hosts = new HostBackoff(clock)
  hosts.close('a', HOUR)

  hosts.close('a', 1)
  clock.setWall(new Date(clock.now().getTime() + 24 * HOUR))

  expect(hosts.closedMs('a')).toBe(HOUR)
})

test('a host that asks for years is asked again after a day', () => {
  const hosts = new HostBackoff(new FakeClock())

  hosts.close('a', Number.MAX_VALUE)

  expect(hosts.closedMs('a')).toBe(24 * HOUR)
})
