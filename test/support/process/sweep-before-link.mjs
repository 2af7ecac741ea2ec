// Preloaded into a program: the first file that it is about to give a second name is swept before, and is at SWEPT then.
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const real = fs.link
let isSwept = false

fs.link = async function link(from, to) {
  if (!isSwept) {
    isSwept = true
    await fs.rename(from, process.env.SWEPT)
  }
  return real.call(this, from, to)
}
syncBuiltinESMExports()
