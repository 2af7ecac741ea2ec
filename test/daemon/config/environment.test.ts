import { expect, test } from 'vitest'
import { environmentOf, ifHomeIsKnown } from '../../../src/daemon/config/environment.ts'

test('without a service manager there is nothing to tell, nothing to ping and no socket', () => {
  expect(environmentOf({}, '/home/ada').manager).toEqual({ notify: undefined, watchdogMs: undefined, sockets: [] })
})

test('what a service manager says holds for the process that it means', () => {
  const variables = {
    NOTIFY_SOCKET: '/run/notify',
    WATCHDOG_USEC: '30000000',
    WATCHDOG_PID: '7',
    LISTEN_PID: '7',
    LISTEN_FDS: '2',
    LISTEN_FDNAMES: 'http:operations',
  }

  const meant = environmentOf(variables, '/', 7).manager
  const another = environmentOf(variables, '/', 8).manager

  expect(meant).toEqual({ notify: '/run/notify', watchdogMs: 30_000, sockets: ['http', 'operations'] })
  expect(another).toEqual({ notify: '/run/notify', watchdogMs: undefined, sockets: [] })
})

test('a watchdog without a process means this one, and sockets without names have none', () => {
  const { manager } = environmentOf({ WATCHDOG_USEC: '1500', LISTEN_PID: '7', LISTEN_FDS: '2' }, '/', 7)

  expect(manager).toEqual({ notify: undefined, watchdogMs: 1.5, sockets: ['', ''] })
})

test.each(['', '-1', '1e9', '0x10', 'many', '9'.repeat(40)])('%j is no count of anything', (count) => {
  const { manager } = environmentOf({ WATCHDOG_USEC: count, LISTEN_PID: '7', LISTEN_FDS: count }, '/', 7)

  expect(manager).toEqual({ notify: undefined, watchdogMs: undefined, sockets: [] })
})

test('more sockets than anybody has a use for are not counted', () => {
  const { manager } = environmentOf({ LISTEN_PID: '7', LISTEN_FDS: '999999999999' }, '/', 7)

  expect(manager.sockets).toHaveLength(64)
})

test('the runtime folder of a service wins over that of its user', () => {
  const variables = { RUNTIME_DIRECTORY: '/run/user/7/skillsyncd:/run/b', XDG_RUNTIME_DIR: '/run/user/7' }

  expect(environmentOf(variables, '/').runtime).toBe('/run/user/7/skillsyncd')
  expect(environmentOf({ ...variables, RUNTIME_DIRECTORY: undefined }, '/').runtime).toBe('/run/user/7')
})

test('a folder below the home is refused only where it is asked for, and the message names HOME', () => {
  const environment = environmentOf({ XDG_CONFIG_HOME: '/config', CODEX_HOME: '/codex' }, undefined)

  expect(environment.configHome).toBe('/config')
  expect(environment.agents.codex).toBe('/codex')
  expect(environment.homeVariable).toEqual({})
  expect(ifHomeIsKnown(() => environment.state)).toBeUndefined()
  for (const read of [() => environment.home, () => environment.state, () => environment.agents.claude])
    expect(read).toThrow(/HOME/)
})

test.each(['', 'relative', undefined])('with HOME %j the home is the one of the user database', (HOME) => {
  expect(environmentOf({ HOME }, '/home/ada')).toMatchObject({ home: '/home/ada', homeVariable: { HOME: '/home/ada' } })
})

test('the state folder of a service needs no home', () => {
  expect(environmentOf({ STATE_DIRECTORY: '/var/lib/skillsyncd' }, undefined).state).toBe('/var/lib/skillsyncd')
})
