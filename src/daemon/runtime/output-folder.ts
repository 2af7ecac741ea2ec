import { hash } from 'node:crypto'
import { lstat, readdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { foldersAbove } from '../../base/paths.ts'
import { digestOf } from '../../sync/model/digest.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { isTemporary, removeAll, syncFolder, temporaryIn, writeWhole } from '../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { FileLock } from '../../sync/store/files/file-lock.ts'
import { makeDurable } from '../../sync/store/files/fsync.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { filesAsWritten, FolderFaultError } from './folder-files.ts'
import type { FolderFile } from './folder-files.ts'
import { readBounded } from './plain-file.ts'
import { UsageError } from './usage-error.ts'

/**
 * The folder that projected skills are written to, each in a folder of its name. It records the digest of what it
 * wrote: a folder is replaced only while it is unchanged, so no foreign content is lost. Several processes may write to
 * it at once.
 */
export class OutputFolder {
  readonly #path: string
  readonly #now: () => number

  private constructor(path: string, now: () => number) {
    this.#path = path
    this.#now = now
  }

  /** Creates the folder if it does not exist. `now` is the wall clock, for the leftovers of killed runs. */
  static async open(path: string, now: () => number): Promise<OutputFolder> {
    await makeFolders(path)
    await readRecord(path)
    const output = new OutputFolder(path, now)
    await output.#sweep()
    return output
  }

  /** The path of the skill of that name. */
  pathOf(name: string): string {
    return join(this.#path, name)
  }

  /** Writes a whole skill in one step, durably. Throws a `FolderFaultError` if something foreign is at its path. */
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

  /** Holds the lock only briefly: slow work is done before. */
  async #publish(
    name: string,
    digest: string,
    scratch: string,
    signal: AbortSignal,
  ): Promise<'written' | 'unchanged' | 'overtaken'> {
    await using turn = await FileLock.take(join(this.#path, TURN), this.#now, signal)
    const record = await readRecord(this.#path)
    const known = record.get(name) ?? []
    const there = await contentAt(this.pathOf(name))
    // Equal content is not recorded as ours: it stays the property of its writer.
    if (there === digest) return 'unchanged'
    if (there !== undefined && !known.includes(there)) throw foreign(this.pathOf(name))
    if (!(await turn.isOurs())) return 'overtaken'
    // Recorded before the folder is replaced: if the run is killed in between, the next run does not mistake the folder
    // for a foreign one.
    await this.#remember(record, name, there === undefined ? [digest] : [there, digest])
    try {
      await this.#replace(name, there, scratch)
    } catch (error) {
      await this.#remember(record, name, known)
      throw error
    }
    // From here on the new folder is in place and recorded, even if the disk fails to sync it.
    await syncFolder(this.#path)
    if (there !== undefined) await this.#remember(record, name, [digest])
    return 'written'
  }

  /** If it throws, the previous folder is back in place. */
  async #replace(name: string, there: string | undefined, scratch: string): Promise<void> {
    const [target, old] = [this.pathOf(name), join(scratch, 'old')]
    const putBack = async (error: unknown): Promise<never> => {
      if (there !== undefined) await rename(old, target)
      throw error
    }
    if (there !== undefined) {
      await rename(target, old)
      // Another program may have written to it since the check.
      if ((await contentAt(old)) !== there) await putBack(foreign(target))
    }
    await rename(join(scratch, 'new'), target).catch(putBack)
  }

  async #remember(record: WrittenRecord, name: string, digests: readonly string[]): Promise<void> {
    const others = [...record].filter(([other]) => other !== name)
    await writeRecord(this.#path, new Map(digests.length === 0 ? others : [...others, [name, digests]]))
  }

  /** Removes the unfinished work of killed runs. */
  async #sweep(): Promise<void> {
    for (const name of (await readdir(this.#path)).filter(isTemporary)) {
      const found = await unlessAbsent(stat(join(this.#path, name)))
      if (found !== undefined && this.#now() - found.mtimeMs > ABANDONED_MS) await removeAll(join(this.#path, name))
    }
  }
}

/** No skill can have this name; the same is true of the record's file. */
const TURN = '.skillsyncd-projections.lock'

/** Longer than writing one skill takes on any disk. */
const ABANDONED_MS = 3_600_000

function foreign(target: string): FolderFaultError {
  return new FolderFaultError('', `"${target}" is not as this command wrote it; move it out of the way`)
}

const FOREIGN = 'foreign'

/** The digest of the content at the path; `foreign` if this command cannot have written it. */
async function contentAt(path: string): Promise<string | undefined> {
  const kind = await unlessAbsent(lstat(path))
  if (kind === undefined) return undefined
  if (!kind.isDirectory()) return FOREIGN
  try {
    return digestOfFiles(await filesAsWritten(path))
  } catch (error) {
    if (error instanceof FolderFaultError) return FOREIGN
    throw error
  }
}

function digestOfFiles(files: readonly FolderFile[]): string {
  return digestOf(files.map(({ bytes, ...file }) => ({ ...file, size: bytes.length, sha256: hash('sha256', bytes) })))
}

/** Creates the folder and writes the files into it. Everything is durable when this returns. */
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

/**
 * Maps each name to the digests of what was written to an output folder. Usually one; two while a folder is being
 * replaced, so that the run after a killed run recognizes both the old and the new content.
 */
type WrittenRecord = ReadonlyMap<string, readonly string[]>

/**
 * Reads the record of an output folder; empty if it does not exist. An unreadable record is a usage error, never empty.
 */
async function readRecord(folder: string): Promise<WrittenRecord> {
  const path = join(folder, FILE)
  const bytes = await unlessAbsent(readBounded(path, MOST_BYTES).then((found) => found ?? NO_FILE))
  if (bytes === undefined) return new Map()
  try {
    return new Map(Object.entries(DIGESTS.parse(JSON.parse((bytes.length <= MOST_BYTES && utf8(bytes)) || ''))))
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    const mend = 'move it out of the way, or name another --out'
    throw new UsageError(`"${path}" is not a record of this command; ${mend}`, { cause: error })
  }
}

/** Replaces the record in one step. */
async function writeRecord(folder: string, record: WrittenRecord): Promise<void> {
  const inOrder = [...record].toSorted(([one], [other]) => (one < other ? -1 : 1))
  await writeWhole(join(folder, FILE), `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
}

/** The name of a skill never begins with a dot. */
const FILE = '.skillsyncd-projections.json'

/** Room for some 30,000 skills. */
const MOST_BYTES = 2 ** 23

/** A pipe or a folder is not a record either. */
const NO_FILE = new Uint8Array()

const DIGESTS = z.record(
  z.string(),
  z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(2),
)
