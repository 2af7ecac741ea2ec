import { SyncError } from '../../model/sync-error.ts'
import type { Refused } from '../../model/tree.ts'
import { diskCodeOf, isForbidden, isGone } from './open-folder.ts'
import { shown } from '../../../base/text/printable.ts'

/** It was there, and is another now: whoever began anew would see it as it is. */
export class FolderChanged extends Error {
  override readonly name = 'FolderChanged'
}

/** What is the matter with one place of a folder, of which the rest is read all the same. */
export type PlaceFault = Extract<Refused['reason'], 'forbidden' | 'unreadable' | 'changing'>

/**
 * What kept us from reading what was just listed at this path. Throws what is no fault of that place alone, and a
 * `FolderChanged` where beginning anew may help; in the last attempt there is no anew.
 */
export function faultAt(path: string, cause: unknown, isLastAttempt: boolean): PlaceFault {
  if (isForbidden(cause)) return 'forbidden'
  if (cause instanceof FolderChanged || isGone(cause)) {
    if (isLastAttempt) return 'changing'
    throw cause instanceof FolderChanged ? cause : new FolderChanged(path, { cause })
  }
  const code = diskCodeOf(cause)
  if (code !== undefined && !OF_ALL.has(code)) return 'unreadable'
  return readFault(path)(cause)
}

/** For `.catch` on what was just listed at this path: why it cannot be read. */
export function readFault(path: string): (cause: unknown) => never {
  return (cause) => {
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    if (isGone(cause)) throw new FolderChanged(path, { cause })
    throw new SyncError('source-unreachable', `Cannot read ${shown(legible(path))} of the folder: ${code}`, { cause })
  }
}

/** A raw path as a person reads it. */
export function legible(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}

/** This process has no room to open anything, or the disk as a whole is away. */
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
