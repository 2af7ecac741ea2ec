// Takes an earlier state over, backs a state folder up, restores one, or checks a skill out, and is killed at the call that its caller chose:
// one that changes files or the database. It ends by itself if there are fewer.
// argv: the folder of the built store, the work, the state folder, the file of the backup, the call, and the moment.
import syncFs, { readdirSync, rmSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import sqlite, { DatabaseSync, StatementSync } from 'node:sqlite'
import type * as BuiltBackup from '../../../src/sync/store/backup/backup.ts'
import type * as BuiltStore from '../../../src/sync/store/store.ts'
import { numbered } from './samples.ts'

const [, , built = '', work = '', state = '', file = '', call = '', moment = ''] = process.argv
let left = Number(call)

type Call = (...args: unknown[]) => unknown

function wrap(target: object, names: readonly string[]): void {
  for (const name of names) Reflect.set(target, name, killing(name, Reflect.get(target, name)))
}

function killing(name: string, real: Call): Call {
  return function killing(this: unknown, ...args) {
    if (name.startsWith('open') && !/[wa]/.test(String(args[1]))) return real.apply(this, args)
    left -= 1
    if (left === 0 && moment === 'before') process.kill(process.pid, 'SIGKILL')
    if (left === 0 && name === 'rm') removeHalf(String(args[0]))
    try {
      return real.apply(this, args)
    } finally {
      if (left === 0) process.kill(process.pid, 'SIGKILL')
    }
  }
}

/** A folder is removed by many calls below this one. */
function removeHalf(path: string): void {
  if (syncFs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    const names = readdirSync(path).toSorted()
    for (const name of names.slice(0, Math.ceil(names.length / 2))) rmSync(join(path, name), { recursive: true })
  }
  process.kill(process.pid, 'SIGKILL')
}

async function fileHandle(): Promise<object> {
  const handle: FileHandle = await fs.open(process.execPath)
  await handle.close()
  return Object.getPrototypeOf(handle)
}

// Before the calls are wrapped: those of the module loader are not meant.
const { Store }: typeof BuiltStore = await import(`${built}/store.js`)
const { backUp, restore }: typeof BuiltBackup = await import(`${built}/backup/backup.js`)
wrap(await fileHandle(), ['sync', 'writeFile', 'chmod'])
wrap(fs, ['open', 'mkdir', 'rename', 'rm', 'rmdir', 'chmod', 'symlink', 'writeFile'])
wrap(syncFs, ['mkdirSync', 'openSync', 'chmodSync', 'renameSync'])
wrap(sqlite, ['backup'])
wrap(DatabaseSync.prototype, ['exec'])
wrap(StatementSync.prototype, ['run'])
syncBuiltinESMExports()

if (work === 'restore') await restore(file, state)
else {
  using store = await Store.openExisting(state)
  if (store === undefined) throw new Error('There is no state folder')
  if (work === 'backup') await backUp(store, file)
  else {
    const { stored } = numbered(1)
    await store.checkouts.ensure(stored)
    await store.checkouts.keepOnly(new Set([stored.digest]))
  }
}
