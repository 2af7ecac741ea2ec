import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { codeOf } from '../../src/base/error-code.ts'

/**
 * A port of the loopback address that no program listens on now. The caller can leave it and come back to it: the system
 * gives none of this range to a program that names no port, and neither does a later call in this process, nor one in
 * another worker of a run.
 */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listenOnFreePort(server)
  server.close()
  await once(server, 'close')
  return port
}

/** Has a server listen on such a port, which it can leave and come back to. */
export async function listenOnFreePort(server: Server, host = '127.0.0.1'): Promise<number> {
  const first = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES) * SHARE
  // From anywhere in the share: another run on this machine has the same one.
  let next = Math.floor(Math.random() * SHARE)
  for (let tries = 0; tries < 2 * SHARE; tries += 1) {
    next = (next + 1) % SHARE
    const port = first + next
    // One that was given before is given again only if no other is left.
    if (given.has(port) && tries < SHARE) continue
    given.add(port)
    server.listen(port, host)
    try {
      await once(server, 'listening')
      return port
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE') throw error
    }
  }
  throw new Error(`No port from ${first} to ${first + SHARE - 1} is free`)
}

const given = new Set<number>()

// Linux gives ports from 32,768 on, and other systems from 49,152 on, to programs that name none.
const FIRST = 12_288
/** More than a run has workers. */
const SHARES = 40
/** The ports that one worker of a run has for itself. */
const SHARE = 512
