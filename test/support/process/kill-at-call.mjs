// Preloaded into a program: it kills itself before the change to the file system that its caller chose, counting those whose
// path has one of some words in it. KILL_CALL: which; KILL_WORDS: the words, parted by colons. What is removed with all that is
// in it is many changes: that one is half done.
import { readdirSync, rmSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const words = (process.env['KILL_WORDS'] ?? '').split(':')
let left = Number(process.env['KILL_CALL'])

for (const name of ['rename', 'symlink', 'mkdir', 'writeFile', 'rm', 'unlink', 'rmdir']) {
  const real = fs[name]
  fs[name] = function counted(...args) {
    if (args.some((arg) => typeof arg === 'string' && words.some((word) => arg.includes(word)))) left -= 1
    if (left === 0) {
      if (name === 'rm' && args[1]?.recursive === true) removeHalf(args[0])
      process.kill(process.pid, 'SIGKILL')
    }
    return real.apply(this, args)
  }
}
syncBuiltinESMExports()

function removeHalf(folder) {
  const names = readdirSync(folder).toSorted()
  for (const name of names.slice(0, Math.ceil(names.length / 2))) rmSync(join(folder, name), { recursive: true })
}
