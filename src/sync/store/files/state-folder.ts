import { chmodSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, readdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import { isTemporary, removeAll, syncFolder, temporaryIn, writeWhole } from './atomic.ts'
import { attempted, cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { expectOwnEntries, expectOwnFolder } from './folder-owner.ts'

/** The version of the layout. A change that an older version would misread gets the next number. */
const FORMAT = '2'

/** Those that this version can open, as a message names them. */
const KNOWN = '"1" and "2"'

/** Earlier ones of which everything means the same here: in the first, no snapshot has parts. */
const READABLE: ReadonlySet<string> = new Set(['1', FORMAT])

const FOLDERS = ['skills', 'docs', 'snapshots', 'generations', 'sources', 'upstreams', 'links', 'tmp'] as const

/** Opens the state folder, and makes it where there is none. Refuses a layout it does not know and a folder of someone else's. */
export async function openState(path: string): Promise<StateFolder> {
  const root = resolve(path)
  await makeRoot(root)
  await expectOwnFolder(root, { asReader: false })
  const format = await formatOf(root)
  await expectOwnEntries(root, { asReader: false })
  if (format !== FORMAT) await writeWhole(join(root, 'format'), `${FORMAT}\n`)
  for (const folder of FOLDERS) ownFolder(join(root, folder))
  await syncFolder(root)
  return new StateFolder(root)
}

/** Makes the folder off the main thread, which hears signals while a disk hangs. */
async function makeRoot(root: string): Promise<void> {
  const isMade = await mkdir(root, { mode: 0o700 }).then(
    () => true,
    () => false,
  )
  // Else a strict umask leaves less; what kept it from being made is said below.
  if (isMade) await chmod(root, 0o700).catch(cannot(`make the folder "${root}"`))
  makeFolder(root, 0o700)
}

/** Opens the state folder that somebody else writes, and makes nothing: undefined where nobody has written one yet. */
export async function openExistingState(path: string): Promise<StateFolder | undefined> {
  const root = resolve(path)
  await expectOwnFolder(root, { asReader: true })
  if ((await formatOf(root)) === undefined) return undefined
  await expectOwnEntries(root, { asReader: true })
  return new StateFolder(root)
}

/** The folder that survives a restart. Every server reads it; one process writes it. */
export class StateFolder {
  readonly path: string
  /** Scratch folders that the disk refused to remove. */
  readonly #left = new Set<string>()
  #expectRight: () => Promise<void> = async () => {}

  constructor(path: string) {
    this.path = path
  }

  /** From now on this is asked before anything is written that others go by, or removed: it throws where this process may not. */
  guardWith(expectRight: () => Promise<void>): void {
    this.#expectRight = expectRight
  }

  async expectRight(): Promise<void> {
    await this.#expectRight()
  }

  /** The absolute path of something in the state folder. */
  at(folder: (typeof FOLDERS)[number], ...names: readonly string[]): string {
    return join(this.path, folder, ...names)
  }

  /**
   * Makes the folders again that somebody removed since it was opened. Says whether there were such, and throws where all of it is
   * gone. Only for the one writer.
   */
  async remake(): Promise<boolean> {
    await this.expectRight()
    const there = new Set(await namesIn(this.path))
    const gone = FOLDERS.filter((folder) => !there.has(folder))
    if (gone.length === 0) return false
    // Without it this is none any more: a disk that is not mounted, say, under whose place nothing is to be written.
    if (!there.has('format')) throw removed(this.path)
    for (const folder of gone) ownFolder(this.at(folder))
    await syncFolder(this.path)
    return true
  }

  /** Removes what a killed process left half done. Only for the one writer, before it starts anything. */
  async sweep(): Promise<void> {
    for (const name of await namesIn(this.at('tmp'))) await removeAll(this.at('tmp', name))
    const upstreams = (await namesIn(this.at('upstreams'))).map((source) => this.at('upstreams', source))
    const nested = upstreams.flatMap((folder) => [folder, join(folder, 'files')])
    for (const folder of [this.path, ...FOLDERS.map((folder) => this.at(folder)), ...nested]) {
      for (const name of await namesIn(folder)) if (isTemporary(name)) await removeAll(join(folder, name))
    }
  }

  /** A fresh folder of its own, gone with everything in it when disposed. */
  async scratch(): Promise<Scratch> {
    await this.expectRight()
    for (const left of this.#left) await this.#remove(left).catch(unlessExpected)
    const path = temporaryIn(this.at('tmp'))
    makeFolder(path, 0o700)
    return { path, [Symbol.asyncDispose]: async () => this.#remove(path) }
  }

  /** A disk that says no for a moment costs nothing for long: what it keeps is removed with the next scratch. */
  async #remove(path: string): Promise<void> {
    // Most pulls find nothing new: an empty folder goes ten times as fast by itself.
    await rmdir(path)
      .catch(() => removeAll(path))
      .catch((error: unknown) => {
        this.#left.add(path)
        throw error
      })
    this.#left.delete(path)
  }

  /**
   * Takes something out of its place, into `tmp/`, and says where it lies now. Undefined where nothing was. That is one step: no
   * reader ever sees it half removed, but in a folder that is baked into an image, which overlayfs renames for no program.
   */
  async setAside(path: string): Promise<string | undefined> {
    await this.expectRight()
    const aside = temporaryIn(this.at('tmp'))
    const moved = unlessAbsent(moveWhole(path, aside).then(() => aside))
    return moved.catch(cannot(`take "${path}" out of its place`))
  }
}

async function moveWhole(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!isDiskError(error, 'EXDEV')) throw error
    await moveByPieces(from, to)
  }
}

/** What a kill leaves of it lacks files, and is as good as damaged: who wants it again has it replaced. */
async function moveByPieces(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? moveByPieces(source, target) : rename(source, target))
  }
  await rmdir(from)
}

function unlessExpected(error: unknown): void {
  if (!(error instanceof SyncError)) throw error
}

export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/** The names in a folder of the state folder; none where somebody removed it. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await unlessAbsent(readdir(folder)).catch(cannot(`list "${folder}"`))) ?? []
}

/** The version of the layout of a state folder; undefined where it could become one. */
async function formatOf(root: string): Promise<string | undefined> {
  const file = join(root, 'format')
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  if (text === undefined) {
    await checkUnused(root)
    return undefined
  }
  const found = text.trimEnd()
  if (READABLE.has(found)) return found
  throw new SyncError(
    'store-failed',
    `Cannot open the state folder "${root}": its format is "${found.slice(0, 20)}" and this version knows ${KNOWN}; ` +
      'run the version that wrote it, or move the folder away to begin with an empty one',
  )
}

function removed(root: string): SyncError {
  const message = `Cannot write the state folder "${root}": it was removed while the daemon runs, or its disk is not mounted`
  return new SyncError('no-state-folder', message)
}

/** A sweep empties `tmp/`. In a home folder that was named by mistake, that would be someone's work. */
async function checkUnused(root: string): Promise<void> {
  const names = (await namesIn(root)).filter((name) => !isTemporary(name) && !MAY_BE_THERE.has(name))
  const foreign = names.find((name) => !OURS.has(name))
  const [first] = names
  if (first === undefined) return
  const told =
    foreign === undefined
      ? `holds only "${first}" and the like, as where it was removed under a running daemon or restored in part`
      : `holds "${foreign}", which is none of ours`
  const message = `Cannot use "${root}" as the state folder: it has no file "format" and ${told}`
  throw new SyncError('no-state-folder', message)
}

/** The folders that a daemon makes whenever it writes. */
const OURS: ReadonlySet<string> = new Set(FOLDERS)

/**
 * Put there before the first opening: by the lock of the one writer, by `--source`, whose state is below, by the file system, and by
 * a daemon under which all else was removed, which goes on writing down what clients ask.
 */
const MAY_BE_THERE: ReadonlySet<string> = new Set(['daemon.lock', 'adhoc', 'lost+found', 'audit'])

/** A folder of the layout. A link is refused: sweeping and collecting would remove what lies behind it. */
function ownFolder(path: string): void {
  makeFolder(path, 0o700)
  if (attempted(`look at "${path}"`, () => lstatSync(path)).isDirectory()) return
  throw new SyncError(
    'store-failed',
    `Cannot use "${path}": it is no folder of the state folder's own; move the whole state folder instead`,
  )
}

/** Makes a folder, and those above it, with exactly these permission bits; one that is there stays as it is. */
export function makeFolder(path: string, mode: number): void {
  attempted(`make the folder "${path}"`, () => makeStep(path, mode))
}

/**
 * The recursion of Node says ENOENT where the reason is another, such as EROFS, and never ends below a folder that is there and
 * in which the system says ENOENT: `/proc`, a home that is mounted when it is asked for.
 */
function makeStep(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
    const above = dirname(path)
    if (!isDiskError(error, 'ENOENT') || statSync(above, { throwIfNoEntry: false }) !== undefined) throw error
    makeStep(above, mode)
    return makeStep(path, mode)
  }
  // The umask can only take bits away from what `mkdir` is asked for, and one that is too strict locks ourselves out.
  chmodSync(path, mode)
}
