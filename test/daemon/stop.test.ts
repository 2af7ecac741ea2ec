import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/async/clock.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { Store } from '../../src/sync/store/store.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('each call that stops a daemon waits for its end, also the second one', async () => {
  await using folder = await temporaryFolder()
  await using daemon = await startIn(folder.path)
  const { promise: last, resolve: endLast } = Promise.withResolvers<void>()
  daemon.parts.work.defer(async () => last)
  let ended = 0

  const calls = [daemon.stop(), daemon.stop(), daemon[Symbol.asyncDispose]()].map(async (call) => {
    await call
    ended += 1
  })
  await turn()
  const before = ended
  endLast()
  await Promise.all(calls)

  expect([before, ended]).toEqual([0, 3])
})

test('what works ends before what reads for clients, and stays ended', async () => {
  await using folder = await temporaryFolder()
  await using daemon = await startIn(folder.path)
  const ends: string[] = []
  daemon.parts.readers.defer(() => void ends.push('readers'))
  daemon.parts.work.defer(() => void ends.push('work'))

  await daemon.stop()
  const stopped = [...ends]
  await daemon[Symbol.asyncDispose]()

  expect(stopped).toEqual(['work'])
  expect(ends).toEqual(['work', 'readers'])
})

test('a daemon that was stopped polls nothing any more', async () => {
  await using folder = await temporaryFolder()
  await using daemon = await startIn(folder.path)

  await daemon.stop()
  daemon.poll()

  expect([...daemon.parts.scheduler.nextPolls()]).toEqual([])
})

async function startIn(folder: string): Promise<Daemon> {
  const environment = environmentOf({}, folder)
  const text = `sources:\n  - id: team\n    path: ${folder}\n    every: 1h\nstate: ${folder}/state\n`
  const config = parseConfig(text, '/etc/skillsyncd.yaml', environment)
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  const redactor = new Redactor()
  const clock = systemClock
  const stream = { write: () => {} }
  const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor })
  return Daemon.start(config, { store: await Store.open(config.state), clock, log, environment, redactor })
}
