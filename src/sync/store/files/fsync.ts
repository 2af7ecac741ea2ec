import { execFile } from 'node:child_process'
import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder, syncPath, temporaryIn } from './atomic.ts'
import { cannot } from './disk-error.ts'
import { WIDTH, inParallel } from '../../../base/parallel.ts'

/** Files and folders that were written, and may be in memory alone. All on the file system that `folder` is on. */
export interface Written {
  readonly folder: string
  readonly paths: readonly string[]
}

/**
 * Brings all of it to the disk. Many paths go with one sync of the whole file system, which is the quicker the more there
 * are; few go one by one, so that a small publish does not wait for what other programs have written.
 */
export async function makeDurable(written: Written, signal: AbortSignal): Promise<void> {
  if (written.paths.length >= MANY && (await syncFileSystem(written.folder, signal))) return
  await inParallel(written.paths, WIDTH, (path) => syncPath(path).catch(cannot(`sync "${path}"`)), signal)
}

/** A file that is to be there. */
interface ToWrite {
  readonly path: string
  readonly bytes: Uint8Array
}

/** Replaces files of one folder, each as `writeWhole` does, and waits for the disk once for all. Where it throws, some may be there. */
export async function writeTogether(files: readonly ToWrite[], signal: AbortSignal): Promise<void> {
  const [first] = files
  if (first === undefined) return
  const folder = dirname(first.path)
  const drafts = files.map(({ path, bytes }) => ({ path, bytes, temporary: temporaryIn(folder) }))
  try {
    await inParallel(drafts, WIDTH, writeDraft, signal)
    await makeDurable({ folder, paths: drafts.map(({ temporary }) => temporary) }, signal)
    await inParallel(drafts, WIDTH, nameDraft, signal)
  } catch (error) {
    // A full disk gets its litter back at once, not at the next start. Why the write failed outranks why this did.
    await Promise.all(drafts.map(({ temporary }) => rm(temporary, { force: true }).catch(() => {})))
    throw error
  }
  await syncFolder(folder)
}

interface Draft extends ToWrite {
  readonly temporary: string
}

async function writeDraft({ path, bytes, temporary }: Draft): Promise<void> {
  await writeFile(temporary, bytes, { flag: 'wx', mode: 0o600 }).catch(cannot(`write "${path}"`))
}

async function nameDraft({ path, temporary }: Draft): Promise<void> {
  await rename(temporary, path).catch(cannot(`write "${path}"`))
}

const MANY = 64

/** Behind a program that writes gigabytes, one by one is the quicker way. */
const PATIENCE_MS = 5_000

/**
 * Node has no `syncfs`; the `sync` program of every Linux does. False where it is absent or fails. Nowhere else does
 * `sync` promise that the bytes are on the disk when it returns.
 */
async function syncFileSystem(folder: string, signal: AbortSignal): Promise<boolean> {
  if (process.platform !== 'linux') return false
  const done = await new Promise<boolean>((resolve) => {
    const options = {
      // Nothing of our own environment is anyone else's business, and a PATH from outside decides no program.
      env: { PATH: '/usr/bin:/bin' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    }
    execFile('sync', ['-f', folder], options, (error) => resolve(error === null))
  })
  signal.throwIfAborted()
  return done
}
