import { constants, lstat, open, realpath, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { syncFolder, temporaryIn } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { whyNotOpened, whyNotUsed } from './disk-error-text.ts'
import { OperatorError } from './operator-error.ts'
import { firstBytes } from './plain-file.ts'

/** A file that this program writes although it is not its own: settings of an agent, or of git. */
export interface ForeignFile {
  /** The path as it was named. */
  readonly path: string
  /** The file itself, behind all links. */
  readonly target: string
  /** `undefined` if there is no file. */
  readonly content: ForeignContent | undefined
}

interface ForeignContent {
  readonly text: string
  readonly mode: number
  readonly user: number
  readonly group: number
}

export interface ForeignFilePlace {
  readonly path: string
  /** No link may lead out of this folder. */
  readonly within?: string
  /** The file has a secret: refused if other users can read it. */
  readonly isPrivate?: true
}

/** The largest file that is read. Settings are written by people. */
const MOST_BYTES = 2 ** 20

/** Reads the file. Throws `file-refused` if it is no plain file of UTF-8, or of another user than this one and root. */
export async function readForeign({ path, within, isPrivate }: ForeignFilePlace): Promise<ForeignFile> {
  try {
    const target = await targetOf(path)
    if (within !== undefined) await expectWithin(path, target, within)
    const content = await contentAt(path, target)
    if (isPrivate === true && content !== undefined && (content.mode & 0o077) !== 0)
      throw refused(path, `other users can read it (mode ${content.mode.toString(8)}); chmod 600 "${path}"`)
    return { path, target, content }
  } catch (error) {
    if (isDiskError(error)) throw refused(path, whyNotOpened(error), error)
    throw error
  }
}

/** Throws `file-refused` if this user may not replace the file. */
export function expectOwn({ path, content }: ForeignFile): void {
  const me = process.getuid?.()
  if (content === undefined || me === undefined || content.user === me) return
  throw refused(path, `its owner is user ${content.user}, and this is user ${me}`)
}

/**
 * Replaces the file atomically, with its mode and group. Throws `file-refused` if it is no longer as it was read: an
 * agent writes its own settings too. `mode` is that of a new file.
 */
export async function writeForeign(
  file: ForeignFile,
  text: string,
  place: ForeignFilePlace,
  mode: number,
): Promise<void> {
  expectOwn(file)
  try {
    // A new folder has the permissions of a new file, and those to enter it.
    await makeFolders(dirname(file.target), mode | 0o100 | ((mode & 0o044) >> 2))
    const temporary = temporaryIn(dirname(file.target))
    try {
      await writeTemporary(temporary, text, file.content ?? { mode })
      await expectUnchanged(file, place)
      await rename(temporary, file.target)
    } finally {
      await rm(temporary, { force: true }).catch(() => {})
    }
  } catch (error) {
    if (isDiskError(error)) throw refused(file.path, whyNotUsed(error), error)
    throw error
  }
  await syncFolder(dirname(file.target))
}

async function writeTemporary(
  path: string,
  text: string,
  { mode, group }: { readonly mode: number; readonly group?: number },
): Promise<void> {
  await using handle = await open(path, 'wx', 0o600)
  if (group !== undefined && (await handle.stat()).gid !== group) await handle.chown(process.getuid?.() ?? -1, group)
  await handle.writeFile(text)
  await handle.chmod(mode)
  await handle.sync()
}

async function expectUnchanged({ path, target, content }: ForeignFile, place: ForeignFilePlace): Promise<void> {
  const now = await readForeign(place)
  if (now.target === target && now.content?.text === content?.text) return
  throw refused(path, 'another program has written it meanwhile; run this again')
}

/** The path behind all links; a missing file below an existing folder has the path that it would have. */
async function targetOf(path: string): Promise<string> {
  const found = await unlessAbsent(realpath(path))
  if (found !== undefined) return found
  if ((await unlessAbsent(lstat(path)))?.isSymbolicLink() === true) throw refused(path, 'it is a link to no file')
  const above = dirname(path)
  return above === path ? path : join(await targetOf(above), relative(above, path))
}

async function expectWithin(path: string, target: string, within: string): Promise<void> {
  const way = relative(await realpath(within), target)
  if (way === '..' || way.startsWith('../')) throw refused(path, `a link in it leads out of "${within}"`)
}

async function contentAt(path: string, target: string): Promise<ForeignContent | undefined> {
  // A pipe would block for ever, and a link that came since would lead elsewhere.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const opened = await unlessAbsent(open(target, flags))
  if (opened === undefined) return undefined
  await using handle = opened
  return await contentOf(path, handle)
}

async function contentOf(path: string, handle: FileHandle): Promise<ForeignContent> {
  const found = await handle.stat()
  const me = process.getuid?.()
  if (!found.isFile()) throw refused(path, 'it is not a file')
  if (me !== undefined && found.uid !== me && found.uid !== ROOT)
    throw refused(path, `its owner is user ${found.uid}, and this is user ${me}`)
  if (found.nlink > 1) throw refused(path, 'it has several names (hard links), and only one of them would be replaced')
  const bytes = await firstBytes(handle, MOST_BYTES + 1)
  if (bytes.length > MOST_BYTES) throw refused(path, `it has more than ${MOST_BYTES} bytes`)
  return { text: textOf(path, bytes), mode: found.mode & 0o777, user: found.uid, group: found.gid }
}

const ROOT = 0

function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw refused(path, 'it is not UTF-8', cause)
  }
}

function refused(path: string, why: string, cause?: unknown): OperatorError {
  return new OperatorError('file-refused', `Cannot use "${path}": ${why}`, { cause })
}
