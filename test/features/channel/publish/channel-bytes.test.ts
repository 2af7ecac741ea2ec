import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { channelRoutes } from '../../../../src/features/channel/channel-routes.ts'
import { NO_HOLDER } from '../../../../src/serve/fair-shares.ts'
import { EventStreams } from '../../../../src/serve/http/server/event-stream.ts'
import { ResponseBackpressure } from '../../../../src/serve/http/server/response-backpressure.ts'
import { viewOf } from '../../../../src/serve/view.ts'
import { HTTP_LIMITS } from '../../../support/http/http-limits.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { sha256 } from '../follow/site.ts'

const BYTES = Buffer.alloc(2 ** 20, 'x')
const SHA256 = sha256(BYTES)
const ETAG = `"${Buffer.from(SHA256, 'hex').toString('base64url')}"`

/** A server of one object, with room for the bytes of three. Each read waits for the gate. */
async function served() {
  await using opened = new AsyncDisposableStack()
  const gate = Promise.withResolvers<void>()
  const state = { reads: 0 }
  const streams = opened.use(new EventStreams(HTTP_LIMITS))
  const host = {
    isOpenTo: () => true,
    isReady: () => true,
    reaches: async () => true,
    objectAt: async () => ({ size: BYTES.length, sha256: SHA256 }),
    read: async () => {
      state.reads += 1
      await gate.promise
      return BYTES
    },
    seen: () => {},
    report: () => false,
    watch: () => ({ [Symbol.dispose]() {} }),
  }
  const route = channelRoutes(host, { streams, holderOf: () => NO_HOLDER, nothingHere: 'nothing here' })['/channel/**']
  const server = createServer((request, response) => {
    void route?.answer(request, response, { name: (request.url ?? '').slice(1), principal: undefined, view: viewOf() })
  })
  opened.use(new ResponseBackpressure(server, 3 * BYTES.length))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  opened.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const stack = opened.move()
  return {
    state,
    open: () => gate.resolve(),
    ask: async (init: RequestInit) => fetch(`http://127.0.0.1:${portOf(server)}/objects/x`, init),
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  }
}

describe('an object of a channel is not read', () => {
  test.each<readonly [string, RequestInit, number]>([
    ['HEAD', { method: 'HEAD' }, 200],
    ['HEAD with a range', { method: 'HEAD', headers: { range: 'bytes=0-0' } }, 200],
    ['a follower that has it', { headers: { 'if-none-match': ETAG } }, 304],
    ['a follower that has any', { headers: { 'if-none-match': '*' } }, 304],
    ['a range beyond its end', { headers: { range: `bytes=${BYTES.length}-` } }, 416],
    ['an empty range at its end', { headers: { range: 'bytes=-0' } }, 416],
  ])('for %s', async (_, init, status) => {
    await using scene = await served()

    const answer = await scene.ask(init)

    expect([answer.status, scene.state.reads]).toEqual([status, 0])
    expect(answer.headers.get('etag') ?? ETAG).toBe(ETAG)
  })

  test.each<readonly [string, Readonly<Record<string, string>>]>([
    ['the whole', {}],
    ['one byte of it', { range: 'bytes=0-0' }],
  ])('for %s without room for all of its bytes', async (_, headers) => {
    await using scene = await served()

    const asked = Array.from({ length: 30 }, async () => scene.ask({ headers }))
    const refused = asked.map(async (one) => {
      const { status } = await one
      return status === 503 ? status : Promise.reject(new Error('It was answered'))
    })
    await Promise.any(refused)
    scene.open()
    const statuses = (await Promise.all(asked)).map(({ status }) => status)

    expect(scene.state.reads).toBe(statuses.filter((status) => status !== 503).length)
    expect(scene.state.reads).toBeLessThan(30)
  })
})

test('a part of an object is sent as such', async () => {
  await using scene = await served()
  scene.open()

  const answer = await scene.ask({ headers: { range: 'bytes=5-9' } })

  expect([answer.status, await answer.text()]).toEqual([206, 'xxxxx'])
  expect(answer.headers.get('content-range')).toBe(`bytes 5-9/${BYTES.length}`)
})
