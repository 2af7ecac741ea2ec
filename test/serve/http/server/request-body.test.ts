import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'
import { readBody } from '../../../../src/serve/http/server/request-body.ts'

test('a body is handed over to its last byte, in the pieces that it comes in', async () => {
  await using sent = await send('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n')
  let taken = ''

  const read = readBody(sent.request, 5, (bytes) => (taken += bytes.toString()))
  sent.socket.write('2\r\nde\r\n0\r\n\r\n')

  expect(await read).toBe(true)
  expect(taken).toBe('abcde')
})

test('of a body that is longer than it may be nothing more is taken', async () => {
  await using sent = await send('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n')
  let taken = ''

  const read = readBody(sent.request, 4, (bytes) => (taken += bytes.toString()))
  sent.socket.write('2\r\nde\r\n1\r\nf\r\n')

  expect(await read).toBe(false)
  expect(taken).toBe('abc')
})

test('a client that goes away while it sends is not waited for', async () => {
  await using sent = await send('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc')

  const read = readBody(sent.request, 9, () => {})
  sent.socket.destroy()

  await expect(read).rejects.toThrow('aborted')
})

test('a client that went away before its body was asked for is not waited for', async () => {
  await using sent = await send('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc')
  const gone = new Promise((resolve) => sent.request.on('error', resolve))
  sent.socket.destroy()
  await gone

  await expect(readBody(sent.request, 9, () => {})).rejects.toThrow('The client closed the connection')
})

test('when a body was read, nothing holds it any more', async () => {
  await using sent = await send('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc')
  const before = listenersOf(sent.request)

  await readBody(sent.request, 9, () => {})

  expect(listenersOf(sent.request)).toEqual(before)
})

function listenersOf(request: IncomingMessage): number[] {
  return ['data', 'end', 'error', 'close'].map((event) => request.listenerCount(event))
}

/** The request that a server makes of this, and the client's end of its connection. */
async function send(
  text: string,
): Promise<AsyncDisposable & { readonly request: IncomingMessage; readonly socket: Socket }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const arrived = once(server, 'request')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  socket.write(text)
  const [request] = await arrived
  return {
    request,
    socket,
    async [Symbol.asyncDispose]() {
      socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
