import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { Connections } from '../../../src/serve/http/server/connections.ts'
import { portOf } from '../../sync/upstream/front.ts'

const REQUEST = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

test('a request that came while the loop was busy is answered by a server that closes', async () => {
  await using scene = await openScene((_, response) => response.end('answered'))
  const client = await scene.connect()

  scene.close()
  client.write(REQUEST)
  // One turn of the loop that is longer than a connection may be silent.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200)

  expect(await text(client)).toContain('answered')
})

test('an answer that ends while the server closes tells the client to send no more on its connection', async () => {
  const asked = Promise.withResolvers<() => void>()
  await using scene = await openScene((_, response) => asked.resolve(() => response.end('answered')))
  const client = await scene.connect()
  client.write(REQUEST)
  const answer = await asked.promise

  scene.close()
  answer()

  expect((await text(client)).toLowerCase()).toContain('\r\nconnection: close\r\n')
})

test('a connection on which nothing comes is closed by a server that closes', async () => {
  await using scene = await openScene((_, response) => response.end('answered'))
  const client = await scene.connect()

  scene.close()

  expect(await text(client)).toBe('')
})

async function openScene(listener: RequestListener) {
  const server = createServer(listener)
  const connections = new Connections(server)
  const clients: Socket[] = []
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const port = portOf(server)
  return {
    async connect(): Promise<Socket> {
      const accepted = once(server, 'connection')
      const client = connect(port, '127.0.0.1').on('error', () => {})
      clients.push(client)
      await Promise.all([accepted, once(client, 'connect')])
      return client
    },
    close(): void {
      server.close()
      connections.close()
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const client of clients) client.destroy()
      if (server.listening) server.close()
    },
  }
}
