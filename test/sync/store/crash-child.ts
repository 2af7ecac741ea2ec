// Publishes and collects in a loop until it kills itself at the call to the file system that its caller chose, or, where
// that is call 0, publishes once and prints every rename and every finished sync.
// argv: the built store, the state folder, the round to begin with, the call, and whether to kill before it or in it.
import syncFs, { writeSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type * as Built from '../../../src/sync/store/store.ts'
import { numbered, publishSamples, sampleDocs } from './samples.ts'

const [, , built = '', state = '', first = '', call = '', moment = ''] = process.argv
let left = Number(call)

type Call = (...args: unknown[]) => unknown

function wrap(target: object, names: readonly string[], around: (name: string, real: Call) => Call): void {
  for (const name of names) Reflect.set(target, name, around(name, Reflect.get(target, name)))
}

function killing(_: string, real: Call): Call {
  return function killing(this: unknown, ...args) {
    left -= 1
    if (left === 0 && moment === 'before') process.kill(process.pid, 'SIGKILL')
    try {
      return real.apply(this, args)
    } finally {
      // Also where it throws: a folder that is there already is asked for all the same.
      if (left === 0) process.kill(process.pid, 'SIGKILL')
    }
  }
}

const opened = new WeakMap<object, unknown>()

function tracing(name: string, real: Call): Call {
  return async function tracing(this: object, ...args) {
    if (name === 'rename') writeSync(1, `${JSON.stringify([name, ...args])}\n`)
    const result = await real.apply(this, args)
    if (name === 'open' && result instanceof Object) opened.set(result, args[0])
    if (name === 'sync') writeSync(1, `${JSON.stringify([name, opened.get(this)])}\n`)
    return result
  }
}

/** Calls that do not let go of the thread: renames are traced, the rest of them goes by. */
function tracingNow(name: string, real: Call): Call {
  return function tracingNow(this: unknown, ...args) {
    if (name === 'renameSync') writeSync(1, `${JSON.stringify(['rename', ...args])}\n`)
    return real.apply(this, args)
  }
}

async function fileHandle(): Promise<object> {
  const handle: FileHandle = await fs.open(process.execPath)
  await handle.close()
  return Object.getPrototypeOf(handle)
}

const around = left === 0 ? tracing : killing
wrap(await fileHandle(), ['read', 'stat', 'sync', 'writeFile', 'close'], around)
wrap(fs, ['open', 'mkdir', 'rename', 'rm', 'chmod', 'lstat', 'copyFile', 'readFile', 'readdir'], around)
const NOW = [
  'mkdirSync',
  'renameSync',
  'openSync',
  'fstatSync',
  'readSync',
  'closeSync',
  'fchmodSync',
  'lstatSync',
  'copyFileSync',
]
wrap(syncFs, NOW, left === 0 ? tracingNow : killing)
syncBuiltinESMExports()

const { Store }: typeof Built = await import(built)
let elapsedMs = 0
const store = await Store.open(state, { monotonicMs: () => (elapsedMs += 3_600_000) })
await store.sweep()
for (let round = Number(first); ; round += 1) {
  const docs = sampleDocs({ 'index.md': `${round}`, 'deep/page.md': 'page' })
  await publishSamples(store, new Date(), numbered(round), numbered(round + 1), docs)
  if (around === tracing) break
  writeSync(1, `${round}\n`)
  const retention = { generations: 1, youngerThanMs: -1, bytes: 2 ** 33 }
  await store.collect({ now: new Date(), retention, keep: new Set() }, new AbortController().signal)
}
