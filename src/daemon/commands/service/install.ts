import { chmod, lstat, readFile, readlink, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../../base/error-code.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { writeWhole } from '../../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../../sync/store/files/make-folders.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { PLIST_MARK } from './launch-agent.ts'
import { MARK } from './units.ts'
import type { ServiceFile } from './units.ts'

/** The result for a file that was to be written. */
export interface InstalledFile {
  readonly path: string
  readonly change: 'written' | 'unchanged'
}

/** Writes all files or none. An existing file that is not ours stays, unless `force` is set. */
export async function install(files: readonly ServiceFile[], force: boolean): Promise<readonly InstalledFile[]> {
  const found = await Promise.all(files.map(async (file) => ({ file, there: await whatIsAt(file) })))
  const foreign = found.find(({ there }) => there === 'foreign')
  if (foreign !== undefined && !force)
    throw new UsageError(
      `Cannot write "${foreign.file.path}": it exists, and skillsyncd did not write it; check it, and try --force`,
    )
  await writeAll(found.filter(({ there }) => there !== 'same').map(({ file }) => file))
  return found.map(({ file: { path }, there }) => ({ path, change: there === 'same' ? 'unchanged' : 'written' }))
}

/**
 * The present content of a file's path, compared with this text if there is one. A link is never ours: a masked unit is a
 * link.
 */
export async function whatIsAt({
  path,
  text,
}: Pick<ServiceFile, 'path'> & Partial<ServiceFile>): Promise<'nothing' | 'same' | 'ours' | 'foreign'> {
  try {
    if (!(await lstat(path)).isFile()) return 'foreign'
    const there = await readFile(path, 'utf8')
    if (there === text) return 'same'
    return [MARK, PLIST_MARK].some((mark) => there.includes(mark)) ? 'ours' : 'foreign'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'nothing'
    throw cannotWrite(path, error)
  }
}

async function writeAll(files: readonly ServiceFile[]): Promise<void> {
  const undoes: (() => Promise<void>)[] = []
  try {
    for (const file of files) {
      undoes.push(await undoOf(file))
      await write(file)
    }
  } catch (error) {
    // The error of the write matters more than an error of the undo.
    for (const undo of undoes.toReversed()) await undo().catch(() => {})
    throw error
  }
}

/** Returns an undo that restores the present content of the path. */
async function undoOf({ path }: ServiceFile): Promise<() => Promise<void>> {
  const there = await unlessAbsent(lstat(path))
  if (there === undefined) return async () => rm(path, { force: true })
  if (there.isSymbolicLink()) {
    const target = await readlink(path)
    return async () => {
      await rm(path, { force: true })
      await symlink(target, path)
    }
  }
  const bytes = await readFile(path)
  return async () => {
    await writeWhole(path, bytes)
    await chmod(path, there.mode & 0o777)
  }
}

async function write({ path, text }: ServiceFile): Promise<void> {
  try {
    await makeFolders(dirname(path))
    await writeWhole(path, text)
    await chmod(path, 0o644)
  } catch (error) {
    throw cannotWrite(path, error instanceof SyncError ? error.cause : error)
  }
}

function cannotWrite(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  if (code !== 'EACCES' && code !== 'EPERM') return cause
  return new UsageError(
    `Cannot write "${path}": permission denied; run it as root (sudo), or install for yourself with --user`,
  )
}
