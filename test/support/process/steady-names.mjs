// Preloaded into a program: what is random in the names of files is counted instead, so that two runs give the same names, and
// strace can be told one of them before it is there.
import crypto from 'node:crypto'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const random = crypto.randomBytes
/** By size: what is random in a lease, which is renewed by time, changes no name of a file. */
const counts = new Map()
let count = 0

crypto.randomBytes = function counted(size, callback) {
  if (callback !== undefined) return random(size, callback)
  counts.set(size, (counts.get(size) ?? 0) + 1)
  return Buffer.from(
    counts
      .get(size)
      .toString(16)
      .padStart(2 * size, '0'),
    'hex',
  )
}

fs.mkdtemp = async function counted(prefix) {
  count += 1
  await fs.mkdir(`${prefix}${count}`, { mode: 0o700 })
  return `${prefix}${count}`
}

syncBuiltinESMExports()
