import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../../src/daemon/configuration.ts'
import { HostBackoff } from '../../../src/daemon/pull/schedule/host-backoff.ts'
import { ChannelWatches } from '../../../src/features/channel/channel-watches.ts'
import { PLAIN_WAY } from '../../../src/sync/upstream/http/host-access.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { portOf } from '../../sync/upstream/front.ts'
import { KEY } from './follow/site.ts'

test('a checkpoint of the hub is reported as soon as its event arrives', async () => {
  await using world = await open((response) => startStream(response))
  const response = await world.connected

  for (const piece of [': keep-alive\n\n', 'event: message\nda', 'ta: {"checkpoint":"a"}\n\n']) {
    response.write(piece)
    // It is read before the next one is written.
    for (let turn = 0; turn < 20; turn += 1) await setImmediate()
  }

  await expect.poll(() => world.news).toContain('hub')
  expect(world.paths).toEqual(['/channel/events'])

  response.end()
  await expect.poll(() => world.clock.waits.length).toBeGreaterThan(0)
  expect(world.news).toEqual(['hub'])
})

test.each([503, 404, 401])('a hub that answers %i is asked again, later with each failure', async (status) => {
  await using world = await open((response) => {
    response.writeHead(status)
    response.end()
  })
  const { waits } = world.clock
  for (let count = 0; count < 3; count += 1) {
    await expect.poll(() => waits.length).toBeGreaterThan(count)
    await world.clock.advance(waits[count] ?? 0)
  }

  expect(waits.slice(0, 3)).toEqual([1_000, 2_000, 4_000])
  expect(world.news).toEqual([])
})

test('a server that answers with a page is asked once', async () => {
  await using world = await open((response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('data: none\n')
  })
  await world.watches.settled()

  expect(world.paths).toEqual(['/channel/events'])
  expect(world.clock.waits).toEqual([])
  expect(world.news).toEqual([])
})

test('a hub that asks for a pause is left alone for as long', async () => {
  await using world = await open((response) => {
    response.writeHead(429, { 'retry-after': '40' })
    response.end()
  })
  await expect.poll(() => world.clock.waits.length).toBeGreaterThan(0)
  await world.clock.advance(world.clock.waits[0] ?? 0)
  await expect.poll(() => world.clock.waits.length).toBeGreaterThan(1)

  expect(world.clock.waits[1]).toBeGreaterThan(30_000)
  expect(world.paths).toEqual(['/channel/events'])
})

test('one stream reports the news of a hub to all sources that follow it', async () => {
  const sources = ['a', 'b', 'c']
  await using world = await open((response) => startStream(response), { sources })
  const response = await world.connected

  response.write('data: {"checkpoint":"a"}\n\n')

  await expect.poll(() => world.news, { timeout: 60_000 }).toEqual(sources)
  expect(world.paths).toEqual(['/channel/events'])
})

test('without a network no hub is asked', async () => {
  await using world = await open((response) => startStream(response), { isOffline: true })
  await world.watches.settled()

  expect(world.paths).toEqual([])
})

/** Remembers for how long it was to wait. */
class RecordingClock extends FakeClock {
  readonly waits: number[] = []

  override async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.waits.push(ms)
    return super.wait(ms, signal)
  }
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
}

/** A daemon's watches of one hub, whose answers a test chooses. */
async function open(answer: (response: ServerResponse) => void, { isOffline = false, sources = ['hub'] } = {}) {
  const paths: (string | undefined)[] = []
  const { promise: connected, resolve: onConnected } = Promise.withResolvers<ServerResponse>()
  const server = createServer((request, response) => {
    paths.push(request.url)
    answer(response)
    onConnected(response)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'skillsyncd.yaml')
  const url = `http://127.0.0.1:${portOf(server)}/channel/`
  const entries = sources.map((id) => `{ id: ${id}, follow: { url: "${url}", key: "${KEY}" } }`)
  await writeFile(file, `sources: [${entries.join(', ')}]\n`)
  const config = await readConfig({ file })
  const news: string[] = []
  const clock = new RecordingClock()
  const watches = new ChannelWatches({
    config: { ...config, mode: { ...config.mode, offline: isOffline } },
    keyring: { wayTo: () => async () => PLAIN_WAY },
    clock,
    hosts: new HostBackoff(clock),
    onNews: (id) => void news.push(id),
  })
  watches.start()
  return {
    clock,
    news,
    paths,
    watches,
    connected,
    async [Symbol.asyncDispose]() {
      await watches[Symbol.asyncDispose]()
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
