// A process that contends for the lock of a state folder, as often as it is told to. It runs the built program, as all
// tests do, and is JavaScript since not every Node that we support runs anything else.
import { acquireLock } from '../../../dist/daemon/control/daemon-lock.js'

let lock

process.on('message', (request) => void contend(request))

async function contend({ take, release }) {
  if (release) {
    await lock.release()
    process.send({ released: true })
    return
  }
  const end = await acquireLock(take, { pid: process.pid, socket: `${take}/no.sock`, command: 'contender' })
  lock = 'release' in end ? end : undefined
  process.send(lock === undefined ? { heldBy: end.heldBy.pid } : { won: true })
}

process.send({ ready: true })
