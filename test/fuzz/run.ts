import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/temporary.ts'
import { corpusIn, inputOf } from './corpus.ts'

// `npm run fuzz -- [seconds] [seed]`: gives each reader of what others send bytes that are nearly right. Prints the
// seed and how many were tried; the first that does wrong is written to a file, and the status is 1.

const [seconds = 60, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number)
console.log(`seed ${seed}, ${seconds} seconds`)
await using folder = await temporaryFolder()
const progress = join(folder.path, 'progress')
await writeFile(progress, '')
const program = fileURLToPath(new URL('./executions.ts', import.meta.url))
// Left alone, the engine lets garbage of all the readers pile up, and the memory would say nothing of what they hold.
const heap = ['--max-old-space-size=128', '--max-semi-space-size=4']
const child = spawn(process.execPath, [...heap, program, String(seed), String(seconds), folder.path, progress], {
  stdio: ['ignore', 'inherit', 'inherit'],
})
const execution = async () => Number((await readFile(progress, 'latin1')) || -1)

// One input takes milliseconds. What is at the same one for as long as this hangs, even on a machine that has much else to do.
const HANG_MS = 120_000
let seen = -1
const look = async () => {
  const now = await execution()
  if (now !== -1 && now === seen) child.kill('SIGKILL')
  seen = now
}
const watch = setInterval(() => void look(), HANG_MS)
const [status, signal] = await once(child, 'exit')
clearInterval(watch)
if (status !== 0) {
  const at = await execution()
  const { kind, bytes } = inputOf(await corpusIn(folder.path), seed, at)
  const file = resolve(`fuzz-${kind}-${seed}-${at}.bin`)
  await writeFile(file, bytes)
  console.error(`${signal === 'SIGKILL' ? 'It hung, or was killed' : 'It went wrong'}: the input is ${file}`)
  process.exitCode = 1
}
