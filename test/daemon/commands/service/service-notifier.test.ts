import { expect, test } from 'vitest'
import type { NotifySocket } from '../../../../src/daemon/commands/service/notify-socket.ts'
import { ServiceNotifier } from '../../../../src/daemon/commands/service/service-notifier.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

test('it says that it is ready, how it stands, and that it stops', async () => {
  const heard = new Hearing()
  const notifier = notifierOf(heard)

  notifier.ready(() => '1 skill of 1 source')
  notifier.stopping()
  await notifier[Symbol.asyncDispose]()

  expect(heard.messages).toEqual([
    ['READY=1', 'STATUS=1 skill of 1 source'],
    ['STOPPING=1', 'STATUS=stopping'],
  ])
})

test('how it stands is told again when it is another, and no oftener than every ten seconds', async () => {
  const heard = new Hearing()
  const clock = new FakeClock()
  let skills = 0
  await using notifier = notifierOf(heard, { clock })
  notifier.ready(() => `${skills}`)

  await clock.advance(25_000)
  expect(heard.messages).toEqual([['READY=1', 'STATUS=0']])
  for (let second = 0; second < 10; second += 1) {
    skills += 1
    await clock.advance(1_000)
  }

  expect(heard.messages.slice(1)).toEqual([['STATUS=5']])
})

test('a reload is told with the time of the manager, and so is its end, however it ends', async () => {
  const heard = new Hearing()
  await using notifier = notifierOf(heard)
  notifier.ready(() => 'well')
  const before = process.hrtime.bigint() / 1_000n

  await expect(notifier.reloading(async () => Promise.reject(new Error('no good')))).rejects.toThrow('no good')
  await notifier[Symbol.asyncDispose]()

  const [, [reloading, time = ''] = [], ready] = heard.messages
  expect([reloading, ready]).toEqual(['RELOADING=1', ['READY=1', 'STATUS=well']])
  const told = BigInt(time.replace('MONOTONIC_USEC=', ''))
  expect(told >= before && told <= process.hrtime.bigint() / 1_000n).toBe(true)
})

test('the watchdog is pinged four times in its time while the loop keeps time', async () => {
  const heard = new Hearing()
  const clock = new FakeClock()
  await using notifier = notifierOf(heard, { clock, watchdogMs: 8_000 })
  notifier.ready(() => 'well')

  await clock.advance(8_000)

  expect(heard.messages).toEqual([
    ['READY=1', 'STATUS=well', 'WATCHDOG=1'],
    ...Array.from({ length: 4 }, () => ['WATCHDOG=1']),
  ])
})

test('a loop that stood still for longer than the period has no ping, until it keeps time again', async () => {
  const heard = new Hearing()
  const clock = new FakeClock()
  await using notifier = notifierOf(heard, { clock, watchdogMs: 8_000 })
  notifier.ready(() => 'well')

  await clock.suspend(4_001)
  const blocked = heard.messages.length
  await clock.advance(2_000)

  expect([blocked, heard.messages.length]).toEqual([1, 2])
})

test('a manager that cannot be told is logged once, and told on', async () => {
  const heard = new Hearing()
  const clock = new FakeClock()
  const lines: string[] = []
  const notifier = notifierOf(heard, { clock, watchdogMs: 8_000, lines })
  heard.failure = new Error('nobody listens')

  notifier.ready(() => 'well')
  await clock.advance(6_000)
  heard.failure = undefined
  await clock.advance(2_000)
  await notifier[Symbol.asyncDispose]()

  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', event: 'service-manager-not-told' })
  expect(heard.messages).toEqual([['WATCHDOG=1']])
})

test('a ping that waits for its turn is not joined by others', async () => {
  const heard = new Hearing()
  const clock = new FakeClock()
  heard.gate = Promise.withResolvers<void>()
  const notifier = notifierOf(heard, { clock, watchdogMs: 4_000 })

  notifier.ready(() => 'well')
  await clock.advance(9_000)
  heard.gate.resolve()
  await notifier[Symbol.asyncDispose]()

  expect(heard.messages.map(([first]) => first)).toEqual(['READY=1', 'WATCHDOG=1'])
})

test('where nobody wants to know nothing is told, and nothing waits', async () => {
  const clock = new FakeClock()
  await using notifier = notifierOf(undefined, { clock, watchdogMs: 8_000 })

  notifier.ready(() => 'well')
  const result = await notifier.reloading(async () => 7)

  expect([result, clock.waiting]).toEqual([7, 0])
})

/** What a manager hears. */
class Hearing implements NotifySocket {
  readonly messages: (readonly string[])[] = []
  failure: Error | undefined
  gate: PromiseWithResolvers<void> | undefined

  async tell(lines: readonly string[]): Promise<void> {
    await this.gate?.promise
    if (this.failure !== undefined) throw this.failure
    this.messages.push(lines)
  }
}

interface Given {
  readonly clock?: FakeClock
  readonly watchdogMs?: number
  readonly lines?: string[]
}

function notifierOf(socket: NotifySocket | undefined, given: Given = {}): ServiceNotifier {
  const { clock = new FakeClock(), watchdogMs, lines = [] } = given
  const stream = { write: (line: string) => lines.push(line) }
  const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  return new ServiceNotifier({ socket, manager: { watchdogMs }, clock, log })
}
