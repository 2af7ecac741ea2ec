import { execFile } from 'node:child_process'
import { WIDTH, inParallel } from '../../../base/async/parallel.ts'
import { syncPath } from './atomic.ts'
import { cannot } from './disk-error.ts'

/** Files and folders that were written, but may be in memory only. All are on the file system of `folder`. */
export interface PendingFsync {
  readonly folder: string
  readonly paths: readonly string[]
}

/**
 * Syncs everything to the disk. Many paths use one sync of the whole file system, which is faster for many paths. A few
 * are synced one by one, so that a small publish does not wait for the writes of other programs.
 */
export async function makeDurable(written: PendingFsync, signal: AbortSignal): Promise<void> {
  if (written.paths.length >= MANY && (await syncFileSystem(written.folder, signal))) return
  await inParallel(written.paths, WIDTH, (path) => syncPath(path).catch(cannot(`sync "${path}"`)), signal)
}

const MANY = 64

/** While another program writes gigabytes, one by one is faster. */
const PATIENCE_MS = 5_000

/**
 * Calls the `sync` program, because Node has no `syncfs`. Returns false if it is absent or fails. Linux only: elsewhere
 * `sync` does not promise that the bytes are on the disk when it returns.
 */
async function syncFileSystem(folder: string, signal: AbortSignal): Promise<boolean> {
  if (process.platform !== 'linux') return false
  const done = await new Promise<boolean>((resolve) => {
    const options = {
      // The program needs nothing of our environment, and an inherited PATH must not choose the program.
      env: { PATH: '/usr/bin:/bin' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    }
    execFile('sync', ['-f', folder], options, (error) => resolve(error === null))
  })
  signal.throwIfAborted()
  return done
}
