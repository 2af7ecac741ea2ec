import { hash } from 'node:crypto'
import { lstat, mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { digestOf } from '../../sync/model/digest.ts'
import { removeAll, temporaryIn, writeWhole } from '../../sync/store/atomic.ts'
import { unlessAbsent } from '../../sync/store/disk-error.ts'
import { UsageError } from '../usage-error.ts'
import { FolderFault, filesOf } from './folder-files.ts'
import type { FolderFile } from './folder-files.ts'

/**
 * The folder that projected skills are written to, each in a folder of its name. It remembers what it wrote, by digest: a
 * folder is replaced only while it is as it was written, so nothing that anybody else put there is lost.
 */
export class OutputFolder {
  readonly #path: string
  readonly #written: Map<string, string>

  private constructor(path: string, written: Map<string, string>) {
    this.#path = path
    this.#written = written
  }

  static async open(path: string): Promise<OutputFolder> {
    await mkdir(path, { recursive: true })
    return new OutputFolder(path, await readRecord(join(path, RECORD)))
  }

  pathOf(name: string): string {
    return join(this.#path, name)
  }

  /** Puts a skill there whole, in one step. Throws a `FolderFault` where something else is in its place. */
  async put(name: string, files: readonly FolderFile[]): Promise<'written' | 'unchanged'> {
    const target = this.pathOf(name)
    const digest = digestOfFiles(files)
    const there = await contentAt(target)
    if (there !== digest) {
      if (there !== undefined && there !== EMPTY && there !== this.#written.get(name))
        throw new FolderFault('', `"${target}" is not as this command wrote it; move it out of the way`)
      await this.#replace(target, files, there !== undefined)
    }
    if (this.#written.get(name) !== digest) await this.#remember(name, digest)
    return there === digest ? 'unchanged' : 'written'
  }

  async #replace(target: string, files: readonly FolderFile[], isTaken: boolean): Promise<void> {
    const scratch = temporaryIn(this.#path)
    try {
      await mkdir(join(scratch, 'new'), { recursive: true })
      for (const file of files) await writeBelow(join(scratch, 'new'), file)
      if (isTaken) await rename(target, join(scratch, 'old'))
      await rename(join(scratch, 'new'), target).catch(async (error: unknown) => {
        if (isTaken) await rename(join(scratch, 'old'), target)
        throw error
      })
    } finally {
      await removeAll(scratch)
    }
  }

  async #remember(name: string, digest: string): Promise<void> {
    this.#written.set(name, digest)
    const inOrder = [...this.#written].toSorted(([one], [other]) => (one < other ? -1 : 1))
    await writeWhole(join(this.#path, RECORD), `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
  }
}

/** What was written, by name. No name of a skill begins with a dot. */
const RECORD = '.skillsyncd-projections.json'

const DIGESTS = z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/))

async function readRecord(path: string): Promise<Map<string, string>> {
  const text = await unlessAbsent(readFile(path, 'utf8'))
  if (text === undefined) return new Map()
  try {
    return new Map(Object.entries(DIGESTS.parse(JSON.parse(text))))
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    throw new UsageError(`"${path}" is no record of this command; move it out of the way`, { cause: error })
  }
}

const EMPTY = 'empty'

/** The digest of what is at the path; `foreign` for what cannot be a skill. */
async function contentAt(path: string): Promise<string | undefined> {
  const kind = await unlessAbsent(lstat(path))
  if (kind === undefined) return undefined
  if (!kind.isDirectory()) return 'foreign'
  if ((await readdir(path)).length === 0) return EMPTY
  try {
    // What the digest did not cover would be lost without a word.
    return digestOfFiles(await filesOf(path, []))
  } catch (error) {
    if (error instanceof FolderFault) return 'foreign'
    throw error
  }
}

function digestOfFiles(files: readonly FolderFile[]): string {
  return digestOf(files.map(({ bytes, ...file }) => ({ ...file, size: bytes.length, sha256: hash('sha256', bytes) })))
}

async function writeBelow(folder: string, { path, executable, bytes }: FolderFile): Promise<void> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, bytes, { mode: executable ? 0o755 : 0o644, flag: 'wx' })
}
