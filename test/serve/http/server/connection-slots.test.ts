import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ConnectionSlots } from '../../../../src/serve/http/server/connection-slots.ts'
import { Connections } from '../../../../src/serve/http/server/connections.ts'
import { TrustedProxies } from '../../../../src/serve/http/server/trusted-proxies.ts'

test('an address that holds every connection gives its oldest idle one to another, and to itself', async () => {
  await using scene = await openScene({ most: 3 })
  const hostile = [await scene.ask('127.0.0.2'), await scene.ask('127.0.0.2'), await scene.ask('127.0.0.2')]
  const closed = hostile.map((socket) => once(socket, 'close'))

  const honest = await scene.ask('127.0.0.3')
  await closed[0]
  const another = await scene.ask('127.0.0.2')
  await closed[1]

  expect([honest, another, hostile[2]!].map(({ destroyed }) => destroyed)).toEqual([false, false, false])
})

test('an address whose connections all wait for an answer gives the oldest to another, and gets no other itself', async () => {
  await using scene = await openScene({ most: 2, isAnswered: false })
  const hostile = [await scene.ask('127.0.0.2'), await scene.ask('127.0.0.2')]
  const closed = hostile.map((socket) => once(socket, 'close'))

  const refused = scene.connect('127.0.0.2')
  await once(refused, 'close')
  const honest = await scene.ask('127.0.0.3')
  await closed[0]

  expect([honest.destroyed, hostile[1]!.destroyed]).toEqual([false, false])
})

test('an address with its share of the connections loses none to another that opens more and more', async () => {
  await using scene = await openScene({ most: 4 })
  const honest = [await scene.ask('127.0.0.3'), await scene.ask('127.0.0.3')]

  for (let count = 0; count < 20; count += 1) await scene.ask('127.0.0.2')

  expect(honest.map(({ destroyed }) => destroyed)).toEqual([false, false])
})

test('while more than half of all connections are open, idle ones are closed until it is half', async () => {
  await using scene = await openScene({ most: 6 })
  const hostile: Socket[] = []
  for (let count = 0; count < 4; count += 1) hostile.push(await scene.ask('127.0.0.2'))
  const honest = await scene.ask('127.0.0.3')

  while (hostile.slice(0, 2).some(({ closed }) => !closed)) {
    scene.places.endIdle()
    await turn()
  }
  for (let count = 0; count < 10; count += 1) scene.places.endIdle()
  await scene.again(honest)

  expect([honest, ...hostile.slice(2)].map(({ destroyed }) => destroyed)).toEqual([false, false, false])
})

interface SceneOptions {
  readonly most: number
  readonly isAnswered?: boolean
}

async function openScene({ most, isAnswered = true }: SceneOptions) {
  const server = createServer()
  const connections = new Connections(server)
  const places = new ConnectionSlots(server, most, new TrustedProxies([]), connections)
  server.on('request', (_, response: ServerResponse) => (isAnswered ? response.end('{}') : response.flushHeaders()))
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const sockets: Socket[] = []
  const open = (from: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    // That it is broken is what these tests are about.
    socket.on('error', () => {})
    socket.resume()
    sockets.push(socket)
    return socket
  }
  const asking = async (socket: Socket): Promise<Socket> => {
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'data')
    return socket
  }
  return {
    places,
    connect: open,
    ask: async (from: string) => asking(open(from)),
    again: asking,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      places[Symbol.dispose]()
      server.close()
      await once(server, 'close')
    },
  }
}
