import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { channelRoutes } from '../../../../src/features/channel/channel-routes.ts'
import { CHECKPOINT_PATH } from '../../../../src/features/channel/content/channel-entry.ts'
import { NO_HOLDER } from '../../../../src/serve/fair-shares.ts'
import { EventStreams } from '../../../../src/serve/http/server/event-stream.ts'
import { viewOf } from '../../../../src/serve/view.ts'
import { HTTP_LIMITS } from '../../../support/http/http-limits.ts'
import { portOf } from '../../../sync/upstream/front.ts'

/** The rooms that serve and that write channels each have a constant for the path: neither may import the other. */
test('the checkpoint is where the channel has it: with its number of entries as its tag, and never from a cache', async () => {
  using streams = new EventStreams(HTTP_LIMITS)
  const host = {
    isOpenTo: () => true,
    isReady: () => true,
    reaches: async (_pack: string | undefined, size: number) => size <= 3,
    read: async () => Buffer.from('skills.example.com/channel\n3\nroot\n'),
    seen: () => {},
    report: () => false,
    watch: () => ({ [Symbol.dispose]() {} }),
  }
  const route = channelRoutes(host, { streams, holderOf: () => NO_HOLDER, nothingHere: 'nothing here' })['/channel/**']
  const server = createServer((request, response) => {
    void route?.answer(request, response, { name: (request.url ?? '').slice(1), principal: undefined, view: viewOf() })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))

  const url = `http://127.0.0.1:${portOf(server)}/${CHECKPOINT_PATH}`
  const answer = await fetch(url)
  const ahead = await fetch(url, { headers: { 'if-none-match': '"4.x"' } })
  server.close()
  server.closeAllConnections()

  expect(answer.headers.get('etag')).toMatch(/^"3\./)
  expect(answer.headers.get('cache-control')).toMatch(/no-cache$/)
  expect(ahead.status).toBe(503)
})
