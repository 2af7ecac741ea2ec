// Changes a lock, and kills itself at the call to the file system that its caller chose: before it, or once it has begun.
// It runs the built program, as all tests do, and is JavaScript since not every Node that we support runs anything else.
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [, , file, value, call, moment] = process.argv
let left = Number(call)

function killing(target, name) {
  const real = target[name]
  target[name] = function killing(...args) {
    left -= 1
    if (left === 0 && moment === 'before') process.kill(process.pid, 'SIGKILL')
    const result = real.apply(this, args)
    if (left === 0) process.kill(process.pid, 'SIGKILL')
    return result
  }
}

const handle = await fs.open(process.execPath)
await handle.close()
for (const name of ['writeFile', 'sync', 'stat', 'close']) killing(Object.getPrototypeOf(handle), name)
for (const name of ['open', 'stat', 'lstat', 'readFile', 'rename', 'mkdir', 'link', 'rm']) killing(fs, name)
syncBuiltinESMExports()

const { changeLock } = await import('../../../dist/sync/store/lock-file.js')
// What an earlier one left is old by this clock.
const now = () => Date.now() + 3_600_000
await changeLock(file, (lock) => ({ ...lock, rest: { 'x-value': value } }), now, new AbortController().signal)
