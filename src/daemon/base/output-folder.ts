import { hash } from 'node:crypto'
import { lstat, readdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { digestOf } from '../../sync/model/digest.ts'
import { foldersAbove } from '../../base/paths.ts'
import { isTemporary, removeAll, syncFolder, temporaryIn } from '../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeDurable } from '../../sync/store/files/fsync.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { Turn } from '../../sync/store/files/file-lock.ts'
import { FolderFault, filesAsWritten } from './folder-files.ts'
import type { FolderFile } from './folder-files.ts'
import { readRecord, writeRecord } from './written-record.ts'
import type { WrittenRecord } from './written-record.ts'

/**
 * The folder that projected skills are written to, each in a folder of its name. It remembers what it wrote, by digest: a
 * folder is replaced only while it is as it was written, so nothing that anybody else put there is lost. Several processes
 * may write to it at once.
 */
export class OutputFolder {
  readonly #path: string
  readonly #now: () => number

  private constructor(path: string, now: () => number) {
    this.#path = path
    this.#now = now
  }

  /** Makes it where it is not there yet. `now` is the wall clock, for what killed runs left. */
  static async open(path: string, now: () => number): Promise<OutputFolder> {
    await makeFolders(path)
    await readRecord(path)
    const output = new OutputFolder(path, now)
    await output.#sweep()
    return output
  }

  /** Where the skill of that name goes. */
  pathOf(name: string): string {
    return join(this.#path, name)
  }

  /** Puts a skill there whole, in one step; it is on the disk then. Throws a `FolderFault` where something else is in its place. */
  async put(name: string, files: readonly FolderFile[], signal: AbortSignal): Promise<'written' | 'unchanged'> {
    const digest = digestOfFiles(files)
    if ((await contentAt(this.pathOf(name))) === digest) return 'unchanged'
    const scratch = temporaryIn(this.#path)
    try {
      await writeAll(join(scratch, 'new'), files, signal)
      for (;;) {
        const end = await this.#publish(name, digest, scratch, signal)
        if (end !== 'overtaken') return end
      }
    } finally {
      await removeAll(scratch)
    }
  }

  /** Short: whatever takes time was done before. */
  async #publish(
    name: string,
    digest: string,
    scratch: string,
    signal: AbortSignal,
  ): Promise<'written' | 'unchanged' | 'overtaken'> {
    await using turn = await Turn.take(join(this.#path, TURN), this.#now, signal)
    const record = await readRecord(this.#path)
    const known = record.get(name) ?? []
    const there = await contentAt(this.pathOf(name))
    // Whoever put it there, it stays theirs.
    if (there === digest) return 'unchanged'
    if (there !== undefined && !known.includes(there)) throw foreign(this.pathOf(name))
    if (!(await turn.isOurs())) return 'overtaken'
    // Before the folder is: a run that is killed in between leaves nothing that the next one takes for somebody else's.
    await this.#remember(record, name, there === undefined ? [digest] : [there, digest])
    try {
      await this.#replace(name, there, scratch)
    } catch (error) {
      await this.#remember(record, name, known)
      throw error
    }
    // From here on the new folder is in place, and remembered, also where the disk refuses to keep that.
    await syncFolder(this.#path)
    if (there !== undefined) await this.#remember(record, name, [digest])
    return 'written'
  }

  /** Where it throws, what was there is there. */
  async #replace(name: string, there: string | undefined, scratch: string): Promise<void> {
    const [target, old] = [this.pathOf(name), join(scratch, 'old')]
    const putBack = async (error: unknown): Promise<never> => {
      if (there !== undefined) await rename(old, target)
      throw error
    }
    if (there !== undefined) {
      await rename(target, old)
      // Somebody may have written to it since it was looked at.
      if ((await contentAt(old)) !== there) await putBack(foreign(target))
    }
    await rename(join(scratch, 'new'), target).catch(putBack)
  }

  async #remember(record: WrittenRecord, name: string, digests: readonly string[]): Promise<void> {
    const others = [...record].filter(([other]) => other !== name)
    await writeRecord(this.#path, new Map(digests.length === 0 ? others : [...others, [name, digests]]))
  }

  /** Removes what runs that were killed left half done. */
  async #sweep(): Promise<void> {
    for (const name of (await readdir(this.#path)).filter(isTemporary)) {
      const found = await unlessAbsent(stat(join(this.#path, name)))
      if (found !== undefined && this.#now() - found.mtimeMs > ABANDONED_MS) await removeAll(join(this.#path, name))
    }
  }
}

/** Like that of the record, no name of a skill. */
const TURN = '.skillsyncd-projections.lock'

/** Longer than it takes to write one skill, wherever that is. */
const ABANDONED_MS = 3_600_000

function foreign(target: string): FolderFault {
  return new FolderFault('', `"${target}" is not as this command wrote it; move it out of the way`)
}

const FOREIGN = 'foreign'

/** The digest of what is at the path; `foreign` for what was never written by us. */
async function contentAt(path: string): Promise<string | undefined> {
  const kind = await unlessAbsent(lstat(path))
  if (kind === undefined) return undefined
  if (!kind.isDirectory()) return FOREIGN
  try {
    return digestOfFiles(await filesAsWritten(path))
  } catch (error) {
    if (error instanceof FolderFault) return FOREIGN
    throw error
  }
}

function digestOfFiles(files: readonly FolderFile[]): string {
  return digestOf(files.map(({ bytes, ...file }) => ({ ...file, size: bytes.length, sha256: hash('sha256', bytes) })))
}

/** Makes the folder and writes the files into it. All of it is on the disk when this returns. */
export async function writeAll(folder: string, files: readonly FolderFile[], signal: AbortSignal): Promise<void> {
  await makeFolders(folder)
  const folders = new Set([dirname(folder), folder])
  const paths: string[] = []
  for (const { path, executable, bytes } of files) {
    const file = join(folder, path)
    await makeFolders(dirname(file))
    await writeFile(file, bytes, { mode: executable ? 0o755 : 0o644, flag: 'wx' })
    paths.push(file)
    for (const above of foldersAbove(path)) folders.add(join(folder, above))
  }
  await makeDurable({ folder, paths: [...paths, ...folders] }, signal)
}
