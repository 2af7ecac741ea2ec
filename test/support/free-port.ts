import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of the loopback address that no program listens on now. It stays free for the caller, who can leave it and come
 * back to it: the system gives none of this range to a program that names no port, other calls of this process give
 * another one, and so do those of the other workers of a run.
 */
export async function freePort(): Promise<number> {
  const first = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES) * SHARE
  // From anywhere in the share: another run on this machine has the same one.
  let next = Math.floor(Math.random() * SHARE)
  for (let tries = 0; tries < 2 * SHARE; tries += 1) {
    next = (next + 1) % SHARE
    const port = first + next
    // One that was given before is given again only if no other is left.
    if (given.has(port) && tries < SHARE) continue
    given.add(port)
    if (await isFree(port)) return port
  }
  throw new Error(`No port from ${first} to ${first + SHARE - 1} is free`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

const given = new Set<number>()

// Linux gives ports from 32,768 on, and other systems from 49,152 on, to programs that name none.
const FIRST = 12_288
const SHARES = 20
/** The ports that one worker of a run has for itself. */
const SHARE = 1_024
