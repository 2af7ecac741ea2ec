import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import { MAIN, Program } from '../../support/process/program.ts'
import { World } from '../world.ts'

test('a socket that is handed over is listened on, whatever the configuration says', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ port: 0, host: '127.0.0.1' })

  const daemon = handed.start(world)

  expect(await daemon.line()).toBe(`http://127.0.0.1:${handed.port}/mcp`)
  await using peer = await modernHttp(`http://127.0.0.1:${handed.port}/mcp`)
  expect(peer.opening.status).toBe(200)
})

test('a socket that is meant for another process is none', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ port: 0, host: '127.0.0.1' })

  const daemon = handed.start(world, { pid: '1' })

  expect(await daemon.line()).not.toBe(`http://127.0.0.1:${handed.port}/mcp`)
})

test('a socket that other machines reach takes a token, as any other address does', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ port: 0, host: '0.0.0.0' })

  const end = await handed.start(world).ended()

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('Cannot listen on "0.0.0.0": clients need a token')
})

test('over a socket of Unix a client of this machine is let in, as localhost, and by no other name', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ path: join(world.home.path, 'http.sock') })

  const daemon = handed.start(world)

  expect(await daemon.line()).toBe('http://localhost/mcp')
  const path = join(world.home.path, 'http.sock')
  expect(await askOver(path, 'localhost')).toBe(200)
  expect(await askOver(path, 'skills.example.com')).toBe(403)
  expect(await daemon.stop()).toMatchObject({ status: 0 })
  expect(existsSync(path)).toBe(true)
})

test('the socket called operations takes what programs send, and the other takes none of it', async () => {
  await using world = await World.create(['every: 1h', 'webhook: { provider: github, secret: { env: HOOK } }'])
  world.home.env['HOOK'] = 'hook-secret'
  const http = await Handed.listen({ port: 0, host: '127.0.0.1' })
  const operations = await Handed.listen({ port: 0, host: '127.0.0.1' })

  const daemon = http.start(world, { also: operations, names: 'skillsyncd.socket:operations' })
  await daemon.line()
  const send = async (port: number): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/hooks/team`, { method: 'POST', body: '{}' })).status

  expect(await send(operations.port)).toBe(401)
  expect(await send(http.port)).toBe(404)
})

test('two sockets for one listener are one too many', async () => {
  await using world = await World.create()
  const one = await Handed.listen({ port: 0, host: '127.0.0.1' })
  const other = await Handed.listen({ port: 0, host: '127.0.0.1' })

  const end = await one.start(world, { also: other, names: 'a:b' }).ended()

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain('Cannot listen on the socket "b" of the service manager: there is one for http already')
})

test('an address on the command line does not go with a socket', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ port: 0, host: '127.0.0.1' })

  const end = await handed.start(world, { options: ['--port', '0'] }).ended()

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('handed over a socket: set its ListenStream, and not --port')
})

test('a descriptor that is no socket is told by its name', async () => {
  await using world = await World.create()
  const handed = await Handed.listen({ port: 0, host: '127.0.0.1' })

  // The second descriptor is not open, or a file of Node's own.
  const end = await handed.start(world, { count: '2', names: 'http:operations' }).ended()

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain(
    'Cannot listen on the socket "operations" of the service manager: it is not a stream socket',
  )
})

/** The status of the answer to whoever calls by this name. */
async function askOver(socketPath: string, host: string): Promise<number | undefined> {
  const request = get({ socketPath, path: '/.well-known/agent-skills/index.json', headers: { host } })
  const [response]: [IncomingMessage] = (await once(request, 'response')) as any
  response.resume()
  return response.statusCode
}

interface Start {
  readonly pid?: string
  readonly count?: string
  readonly names?: string
  readonly also?: Handed
  readonly options?: readonly string[]
}

/** A socket that is listened on, to be handed to a process. It is that one's alone then. */
class Handed {
  readonly #server: Server
  readonly port: number

  private constructor(server: Server) {
    this.#server = server
    const address = server.address()
    this.port = typeof address === 'object' ? (address?.port ?? 0) : 0
  }

  static async listen(
    where: { readonly port: number; readonly host: string } | { readonly path: string },
  ): Promise<Handed> {
    const server = createServer()
    // The path that it was bound to goes with our end of it.
    const bound = 'path' in where ? { path: `${where.path}.bound` } : where
    await once(server.listen(bound), 'listening')
    if ('path' in where) await rename(`${where.path}.bound`, where.path)
    return new Handed(server)
  }

  /** Starts the daemon with it, as a service manager does. */
  start({ home }: World, start: Start = {}): Program {
    const {
      pid = '$$',
      also,
      count = also === undefined ? '1' : '2',
      names = 'skillsyncd.socket',
      options = [],
    } = start
    const script = `LISTEN_PID=${pid} LISTEN_FDS=${count} LISTEN_FDNAMES=${names} exec "$0" "$@"`
    const args = ['-c', script, process.execPath, MAIN, 'start', ...options]
    const servers = [this.#server, ...(also === undefined ? [] : [also.#server])]
    const program = new Program('/bin/sh', args, home, servers.map(descriptorOf))
    onTestFinished(async () => program.kill())
    for (const server of servers) server.close()
    return program
  }
}

function descriptorOf(server: any): number {
  return server._handle.fd
}
