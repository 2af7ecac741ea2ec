// Publishes, checks out and collects in a loop until it is killed at the call that its caller chose, or, where that is
// call 0, does so once and prints each call. A call is one to the file system or to the database.
// argv: the built store, the state folder, the round to begin with, the call, the moment, and for how long it spins.
import syncFs, { writeSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type * as Built from '../../../src/sync/store/store.ts'
import { numbered, publishSamples, sampleDocs } from './samples.ts'

const [, , built = '', state = '', first = '', call = '', moment = '', spins = ''] = process.argv
let left = Number(call)

type Call = (...args: unknown[]) => unknown

function wrap(target: object, names: readonly string[], around: (name: string, real: Call) => Call): void {
  for (const name of names) Reflect.set(target, name, around(name, Reflect.get(target, name)))
}

function killing(_: string, real: Call): Call {
  return function killing(this: unknown, ...args) {
    left -= 1
    if (left === 0 && moment === 'before') process.kill(process.pid, 'SIGKILL')
    if (left === 0 && moment === 'during') startKiller()
    try {
      return real.apply(this, args)
    } finally {
      // Also where it throws: a folder that is there already is made all the same.
      if (left === 0 && moment === 'in') process.kill(process.pid, 'SIGKILL')
    }
  }
}

function tracing(name: string, real: Call): Call {
  return function tracing(this: unknown, ...args) {
    const what = this instanceof StatementSync ? [this.sourceSQL] : args.filter((arg) => typeof arg === 'string')
    writeSync(1, `${JSON.stringify([name, ...what])}\n`)
    return real.apply(this, args)
  }
}

/** A thread that kills the process while SQLite has the main one: also in the middle of a commit. */
const turn = new Int32Array(new SharedArrayBuffer(4))

function startKiller(): void {
  Atomics.store(turn, 0, 1)
  Atomics.notify(turn, 0)
}

async function killerIsReady(): Promise<void> {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    parentPort.postMessage('ready')
    Atomics.wait(workerData.turn, 0, 0)
    for (let left = workerData.spins; left > 0; left -= 1) Atomics.load(workerData.turn, 0)
    process.kill(process.pid, 'SIGKILL')
  `
  const worker = new Worker(code, { eval: true, workerData: { turn, spins: Number(spins) } })
  await new Promise((resolve) => worker.once('message', resolve))
}

async function fileHandle(): Promise<object> {
  const handle: FileHandle = await fs.open(process.execPath)
  await handle.close()
  return Object.getPrototypeOf(handle)
}

if (moment === 'during') await killerIsReady()
// Before the calls are wrapped: those of the module loader are not meant.
const { Store }: typeof Built = await import(built)
const around = left === 0 ? tracing : killing
wrap(await fileHandle(), ['read', 'stat', 'sync', 'writeFile', 'chmod', 'close'], around)
wrap(fs, ['open', 'mkdir', 'rename', 'rm', 'chmod', 'lstat', 'readFile', 'readdir', 'symlink', 'writeFile'], around)
wrap(syncFs, ['mkdirSync', 'openSync', 'closeSync', 'lstatSync', 'chmodSync'], around)
wrap(DatabaseSync.prototype, ['exec'], around)
wrap(StatementSync.prototype, ['run', 'get', 'all'], around)
syncBuiltinESMExports()

const store = await Store.open(state)
await store.sweep()
for (let round = Number(first); ; round += 1) {
  const docs = sampleDocs({ 'index.md': `${round}`, 'deep/page.md': 'page' })
  await publishSamples(store, new Date(), numbered(round), numbered(round + 1), docs)
  if (around === killing) writeSync(1, `${round}\n`)
  await store.checkouts.ensure(numbered(round).stored)
  await store.links.follow(new Map([['served', numbered(round).stored]]))
  const retention = { generations: 1, youngerThanMs: -1, bytes: 2 ** 33 }
  await store.collect({ now: new Date(), retention, keep: new Set() }, new AbortController().signal)
  if (around === tracing) break
}
