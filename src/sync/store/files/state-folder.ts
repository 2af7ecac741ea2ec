import { chmodSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { chmod, mkdir, open, readFile, readdir, rename, rm, rmdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SyncError, unlessSyncError } from '../../model/sync-error.ts'
import { isTemporary, removeAll, syncFolder, temporaryIn, writeWhole } from './atomic.ts'
import { runOnDisk, cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { expectOwnEntries, expectOwnFolder } from './folder-owner.ts'

/** The version of the layout. A change that another version would misread gets the next number. */
const FORMAT = '4'

/** The format of a folder that a restore has begun to fill, and has not finished. */
const UNFINISHED = 'restore'

const FOLDERS = ['checkouts', 'generations', 'sources', 'scans', 'upstreams', 'links', 'logs', 'tmp'] as const

/** The purpose of an opening. Only a restore goes on in a folder in which one was killed. */
export interface StateOpening {
  readonly isRestore?: boolean
}

/**
 * Opens the state folder, and creates it if it does not exist. Rejects an unknown layout and a folder of another user.
 */
export async function openState(path: string, { isRestore = false }: StateOpening = {}): Promise<StateFolder> {
  const root = resolve(path)
  await makeRoot(root)
  await expectOwnFolder(root, { asReader: false })
  const format = isRestore && (await isHalfRestored(root)) ? UNFINISHED : await formatOf(root)
  await expectOwnEntries(root, { asReader: false })
  if (format === undefined) await writeFormat(root)
  for (const folder of FOLDERS) ownFolder(join(root, folder))
  await syncFolder(root)
  return new StateFolder(root)
}

async function writeFormat(root: string, format: string = FORMAT): Promise<void> {
  await writeWhole(join(root, 'format'), `${format}\n`)
}

/** Runs the work of a restore. If it is killed or fails, every opening of the folder but that of a restore is refused. */
export async function whileHalfRestored(root: string, work: () => Promise<void>): Promise<void> {
  await writeFormat(root, UNFINISHED)
  await work()
  await writeFormat(root)
}

/** True if a restore into the folder has begun, and has not ended. */
export async function isHalfRestored(root: string): Promise<boolean> {
  const file = join(root, 'format')
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  return text?.trimEnd() === UNFINISHED
}

/** Creates the folder off the main thread, so that signals are still handled while a disk hangs. */
async function makeRoot(root: string): Promise<void> {
  const isMade = await mkdir(root, { mode: 0o700 }).then(
    () => true,
    () => false,
  )
  // A strict umask would leave fewer bits. `makeFolder` below reports why the creation failed.
  if (isMade) await chmod(root, 0o700).catch(cannot(`make the folder "${root}"`))
  makeFolder(root, 0o700)
}

/**
 * Opens a state folder that another process writes, and creates nothing. `undefined` if no process has written one yet.
 */
export async function openExistingState(path: string): Promise<StateFolder | undefined> {
  const root = resolve(path)
  await expectOwnFolder(root, { asReader: true })
  if ((await formatOf(root)) === undefined) return undefined
  await expectOwnEntries(root, { asReader: true })
  return new StateFolder(root)
}

/** The folders whose small files the processes of a hub share. */
export const SHARED_FOLDERS = ['sources', 'scans', 'logs'] as const
type SharedFolder = (typeof SHARED_FOLDERS)[number]

/** Returns the folder and the file of a shared name, such as `sources/team.json`; `undefined` for any other text. */
export function sharedPlaceOf(name: string): readonly [SharedFolder, string] | undefined {
  const [, kind, file] = /^(\w+)\/(\w[\w.-]{0,150}\.(?:json|checkpoint))$/.exec(name) ?? []
  const folder = SHARED_FOLDERS.find((known) => known === kind)
  return folder === undefined || file === undefined ? undefined : [folder, file]
}

/** The folder that survives a restart. Every server reads it; one process writes it. */
export class StateFolder {
  readonly path: string
  readonly #changed = new Set<string>()
  /** Scratch folders that could not be removed. */
  readonly #left = new Set<string>()
  #expectRight: () => Promise<void> = async () => {}

  constructor(path: string) {
    this.path = path
  }

  /** Installs the check that runs before every shared write or removal. It throws if this process must not write. */
  guardWith(expectRight: () => Promise<void>): void {
    this.#expectRight = expectRight
  }

  async expectRight(): Promise<void> {
    await this.#expectRight()
  }

  /** The path of the database of objects. */
  get database(): string {
    return join(this.path, 'store.db')
  }

  /** Replaces a small file that the processes of a hub share. It is on the disk when this resolves. */
  async writeShared(folder: SharedFolder, name: string, bytes: string | Uint8Array): Promise<void> {
    await this.expectRight()
    await writeWhole(this.at(folder, name), bytes)
    this.#changed.add(`${folder}/${name}`)
  }

  /** Returns the names of the shared files that were written since the last call, such as `sources/team.json`. */
  takeChanged(): readonly string[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  /** Returns the absolute path of an entry in the state folder. */
  at(folder: (typeof FOLDERS)[number], ...names: readonly string[]): string {
    return join(this.path, folder, ...names)
  }

  /**
   * Recreates folders that were removed since the opening. Returns true if there were any, and throws if the whole
   * state folder is gone. Only for the one writer.
   */
  async remake(): Promise<boolean> {
    await this.expectRight()
    const there = new Set(await fileNamesIn(this.path))
    const gone = FOLDERS.filter((folder) => !there.has(folder))
    if (gone.length === 0) return false
    // Without `format` this is no state folder any more: perhaps a disk is not mounted, and nothing must be written to
    // its mount point.
    if (!there.has('format')) throw removalError(this.path)
    for (const folder of gone) ownFolder(this.at(folder))
    await syncFolder(this.path)
    return true
  }

  /** Removes what a killed process left incomplete. Only for the one writer, before it starts anything. */
  async sweep(): Promise<void> {
    for (const name of await fileNamesIn(this.at('tmp'))) await removeAll(this.at('tmp', name))
    const upstreams = (await fileNamesIn(this.at('upstreams'))).map((source) => this.at('upstreams', source))
    const nested = upstreams.flatMap((folder) => [folder, join(folder, 'files')])
    for (const folder of [this.path, ...FOLDERS.map((folder) => this.at(folder)), ...nested]) {
      for (const name of await fileNamesIn(folder)) if (isTemporary(name)) await removeAll(join(folder, name))
    }
  }

  /**
   * Reserves the path of a temporary folder, which disposal removes with everything in it. It is made by what writes to
   * it first: most pulls write nothing.
   */
  async scratch(): Promise<Scratch> {
    await this.expectRight()
    for (const left of this.#left) await this.#remove(left).catch(unlessSyncError)
    const path = temporaryIn(this.at('tmp'))
    return { path, [Symbol.asyncDispose]: async () => this.#remove(path) }
  }

  /** Opens an empty file for reading and writing that no folder lists: it goes with its handle. */
  async scratchFile(): Promise<FileHandle> {
    await this.expectRight()
    const path = temporaryIn(this.at('tmp'))
    const file = await open(path, 'wx+', 0o600).catch(cannot(`make a file in "${this.at('tmp')}"`))
    try {
      await rm(path).catch(cannot(`remove "${path}" from its folder`))
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** A temporary disk failure costs space only for a short time: the next scratch removes the rest. */
  async #remove(path: string): Promise<void> {
    await unlessAbsent(rmdir(path))
      .catch(() => removeAll(path))
      .catch((error: unknown) => {
        this.#left.add(path)
        throw error
      })
    this.#left.delete(path)
  }

  /**
   * Moves an entry into `tmp/` and returns its new path; `undefined` if it did not exist. The move is atomic: no reader
   * sees it half removed. The exception is a folder baked into an image, which overlayfs cannot rename.
   */
  async setAside(path: string): Promise<string | undefined> {
    await this.expectRight()
    const aside = temporaryIn(this.at('tmp'))
    const moved = unlessAbsent(moveWhole(path, aside).then(() => aside))
    return moved.catch(cannot(`move "${path}" out of its place`))
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

/**
 * A kill leaves the entry with missing files. It then counts as damaged, and the next caller that needs it replaces it.
 */
async function moveByPieces(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? moveByPieces(source, target) : rename(source, target))
  }
  await rmdir(from)
}

export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/** Returns the names in a folder of the state folder; empty if it was removed. */
export async function fileNamesIn(folder: string): Promise<string[]> {
  return (await unlessAbsent(readdir(folder)).catch(cannot(`list "${folder}"`))) ?? []
}

/** Returns the layout version of a state folder; `undefined` if the folder is unused and could become one. */
async function formatOf(root: string): Promise<string | undefined> {
  const file = join(root, 'format')
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  // After a power cut, some file systems have the name of a file and none of its bytes, or zeros for them.
  const found = text?.replace(/[\0\s]+$/, '')
  if (found === undefined || found === '') {
    await checkUnused(root, found === undefined ? 'it has no file "format"' : 'its file "format" is empty')
    return undefined
  }
  if (found === FORMAT) return found
  if (found === UNFINISHED) throw halfRestoredError(root)
  throw new SyncError(
    'store-failed',
    `Cannot open the state folder "${root}": its format is "${found.slice(0, 20)}" and this version knows "${FORMAT}"; ` +
      'run the version that wrote it, or move the folder away to begin with an empty one',
  )
}

function halfRestoredError(root: string): SyncError {
  const message = `Cannot open the state folder "${root}": a restore was ended half-way; run skillsyncd store restore again, or move the folder away to begin with an empty one`
  return new SyncError('store-failed', message)
}

function removalError(root: string): SyncError {
  const message = `Cannot write the state folder "${root}": it was removed while the daemon runs, or its disk is not mounted`
  return new SyncError('no-state-folder', message)
}

/**
 * Rejects a folder in use by something else. A sweep empties `tmp/`: in a home folder that was named by mistake, that
 * would destroy the user's files.
 */
async function checkUnused(root: string, why: string): Promise<void> {
  const names = (await fileNamesIn(root)).filter((name) => !isTemporary(name) && !MAY_BE_THERE.has(name))
  const foreign = names.find((name) => !OURS.test(name))
  const [first] = names
  if (first === undefined) return
  const told =
    foreign === undefined
      ? `contains only "${first}" and similar entries, for example because it was removed while the daemon ran, or restored in part, or the power failed`
      : `contains "${foreign}", which skillsyncd did not create`
  const message = `Cannot use "${root}" as the state folder: ${why} and it ${told}`
  const fix = foreign === undefined && names.includes('store.db') ? formatFix(join(root, 'format')) : undefined
  throw new SyncError('no-state-folder', message, { fix })
}

function formatFix(file: string): string {
  return `If nothing else is missing, write the line ${FORMAT} into "${file}" and start again; else restore the whole folder from a backup, or move it away: the next start fetches everything again`
}

/** The entries that a state folder has, as their writers name them. */
const OURS = new RegExp(
  `^(?:${[
    ...FOLDERS,
    String.raw`store\.db(?:\.damaged-[\w-]+?)?(?:-wal|-shm)?`,
    String.raw`(?:decisions|decisions-copy|links|tokens|token-uses)\.json`,
    'current',
    String.raw`[\w-]+\.journal`,
    String.raw`daemon\.lock\.[\w.-]+`,
  ].join('|')})$`,
)

/**
 * Entries that may exist before the first opening: the lock of the one writer, the folder of `--source`, whose state is
 * below it, and the file system's own folder. `audit` and `usage` are there because a daemon still writes to them after
 * all else was removed.
 */
const MAY_BE_THERE: ReadonlySet<string> = new Set(['format', 'daemon.lock', 'adhoc', 'lost+found', 'audit', 'usage'])

/** Creates a folder of the layout. Rejects a link: sweeping and collecting would remove what is behind it. */
function ownFolder(path: string): void {
  makeFolder(path, 0o700)
  if (runOnDisk(`read the attributes of "${path}"`, () => lstatSync(path)).isDirectory()) return
  throw new SyncError(
    'store-failed',
    `Cannot use "${path}": it is not a folder of the state folder's own; move the whole state folder instead`,
  )
}

/** Creates a folder with exactly these permission bits, and its missing parents; an existing one stays unchanged. */
export function makeFolder(path: string, mode: number): void {
  runOnDisk(`make the folder "${path}"`, () => makeStep(path, mode))
}

/**
 * Creates one level and recurses. Node's own recursion reports ENOENT for other causes such as EROFS. It also never
 * ends below an existing folder in which the system reports ENOENT: `/proc`, an automounted home.
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
  // The umask can only remove bits from the mode of `mkdir`, and a too strict one would lock this program out.
  chmodSync(path, mode)
}
