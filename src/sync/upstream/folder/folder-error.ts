import { printablePath } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { RefusedBlob } from '../../model/tree.ts'
import { diskCodeOf, isForbidden, isGone } from './open-folder.ts'

/** The folder has changed during the read. A new attempt would see its new state. */
export class FolderChangedError extends Error {
  override readonly name = 'FolderChanged'
}

/** The fault of one place in a folder; the rest is read all the same. */
export type PlaceFault = Extract<RefusedBlob['reason'], 'forbidden' | 'unreadable' | 'changing'>

/**
 * Returns why a listed path cannot be read. Throws if the fault concerns more than this place. Throws a `FolderChangedError`
 * if a new attempt may help, but not in the last attempt.
 */
export function folderErrorAt(path: string, cause: unknown, isLastAttempt: boolean): PlaceFault {
  if (isForbidden(cause)) return 'forbidden'
  if (cause instanceof FolderChangedError || isGone(cause)) {
    if (isLastAttempt) return 'changing'
    throw cause instanceof FolderChangedError ? cause : new FolderChangedError(path, { cause })
  }
  const code = diskCodeOf(cause)
  if (code !== undefined && !OF_ALL.has(code)) return 'unreadable'
  return readFault(path)(cause)
}

/** Returns a handler for `.catch` that throws the reason why a listed path cannot be read. */
export function readFault(path: string): (cause: unknown) => never {
  return (cause) => {
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    if (isGone(cause)) throw new FolderChangedError(path, { cause })
    throw new SyncError(
      'source-unreachable',
      `Cannot read ${printablePath(legiblePath(path))} of the folder: ${code}`,
      {
        cause,
      },
    )
  }
}

/** Decodes a raw path for messages. */
export function legiblePath(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}

/** Encodes a path as raw bytes in Latin-1. */
export function rawPath(path: string): string {
  return Buffer.from(path).toString('latin1')
}

/** Errors of the whole process or the whole disk: no descriptors or memory left, or the disk is gone. */
const OF_ALL: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ESTALE',
  'ENOTCONN',
  'ENODEV',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ETIMEDOUT',
])
