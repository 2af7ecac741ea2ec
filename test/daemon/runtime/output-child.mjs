// Puts a skill of one file into an output folder on a disk that refuses, the given time, to keep the names in it. It is
// JavaScript, since it runs the built program. argv: the folder, the name, the text, and which time the disk refuses.
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [, , out, name, text, time] = process.argv
const { open } = fs
let left = Number(time)

fs.open = async (path, ...rest) => {
  if (path === out && (left -= 1) === 0) throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' })
  return open(path, ...rest)
}
syncBuiltinESMExports()

const { OutputFolder } = await import('../../../dist/daemon/runtime/output-folder.js')
const output = await OutputFolder.open(out, Date.now)
const file = { path: 'SKILL.md', executable: false, bytes: Buffer.from(text) }
await output.put(name, [file], new AbortController().signal)
