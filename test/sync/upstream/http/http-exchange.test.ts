import { once } from 'node:events'
import { createServer as createPlainServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { HostRoute } from '../../../../src/sync/upstream/http/host-access.ts'
import { exchange } from '../../../../src/sync/upstream/http/http-exchange.ts'
import type { HttpRequest } from '../../../../src/sync/upstream/http/http-exchange.ts'
import { Authority } from '../../../support/http/certificates.ts'
import { ProxyServer } from '../../../support/http/proxy-server.ts'

const AUTHORITY = new Authority()
const PLAIN: HostRoute = { ca: undefined, proxy: undefined }
const SECURE: HostRoute = { ca: AUTHORITY.cert, proxy: undefined }
const asked = (method: string, route: HostRoute): HttpRequest => ({
  method,
  headers: {},
  route,
  signal: new AbortController().signal,
})

/** A server that answers a GET, and closes the connection on which another method comes. */
class Cutting implements AsyncDisposable {
  readonly url: string
  readonly requests: (string | undefined)[] = []
  readonly #server: Server

  private constructor(server: Server, scheme: string) {
    this.#server = server
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(isSecure: boolean): Promise<Cutting> {
    const answer: RequestListener = (request, response) => {
      cutting.requests.push(request.method)
      if (request.method === 'GET') response.end('here')
      else request.socket.destroy()
    }
    const server = isSecure ? createSecureServer(AUTHORITY.vouchFor(['127.0.0.1']), answer) : createPlainServer(answer)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const cutting = new Cutting(server, isSecure ? 'https' : 'http')
    return cutting
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

test.each([
  ['in clear', false, PLAIN],
  ['over TLS', true, SECURE],
])('a request is sent again if a reused connection closes, except one that is sent once: %s', async (_, tls, route) => {
  await using server = await Cutting.start(tls)

  await buffer((await exchange(server.url, asked('GET', route))).body)
  const again = await Promise.allSettled([exchange(server.url, asked('POST', route))])
  await buffer((await exchange(server.url, asked('GET', route))).body)
  const once = await Promise.allSettled([exchange(server.url, { ...asked('POST', route), isSentOnce: true })])

  expect([...again, ...once].map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(server.requests).toEqual(['GET', 'POST', 'POST', 'GET', 'POST'])
})

test('a request that is sent once goes through the proxy as every other one', async () => {
  await using server = await Cutting.start(true)
  await using proxy = await ProxyServer.start(server.url)
  const route = { ca: AUTHORITY.cert, proxy: { url: proxy.url, headers: {} } }

  const answer = await exchange(server.url, { ...asked('GET', route), isSentOnce: true })

  expect((await buffer(answer.body)).toString()).toBe('here')
  expect(proxy.requests.map(({ method }) => method)).toEqual(['CONNECT'])
})
