import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { watch, type FSWatcher } from 'chokidar'
import { codeOf } from '../../../base/error-code.ts'
import { isLeftByPrograms } from '../../../sync/upstream/folder/left-by-programs.ts'
import { undefinedIfAway } from '../../../sync/upstream/folder/open-folder.ts'

export interface TreeWatchOptions {
  /** A folder, by its real path. */
  readonly root: string
  /** Real paths of folders that are not watched. */
  readonly apart: ReadonlySet<string>
  /** A folder with more folders than this is not watched. */
  readonly mostFolders: number
  readonly onReady: (folders: number) => void
  /** Called if the entry at this path appeared, disappeared or changed. */
  readonly onEvent: (path: string, kind: 'moved' | 'changed') => void
  /** Called once: a partial watch would miss changes in a folder that seems to be watched. */
  readonly onFailed: (code: string, why: string) => void
}

/** Watches a folder and all folders below it, until it is disposed or has failed. */
export class TreeWatch implements AsyncDisposable {
  readonly #options: TreeWatchOptions
  readonly #watcher: FSWatcher
  readonly #folders = new Set<string>()
  /** Watched folders that appeared or disappeared. */
  readonly #suspects = new Set<string>()
  /** New folders that may not be watched yet. */
  readonly #coming = new Map<string, Coming>()
  /** The identity of the root at the start. */
  readonly #first: Promise<Marks | undefined>
  /** The last known time of a change to the root itself. */
  #touchedNs: bigint | undefined
  #isReady = false
  #hasFailed = false

  constructor(options: TreeWatchOptions) {
    this.#options = options
    const { root } = options
    this.#first = marksOf(root)
    this.#watcher = watch(root, {
      // One watch per folder: it also reports the files in it, which are far more numerous.
      ignored: (at, stats) => this.#isIgnored(at, stats?.isDirectory() === true) || stats?.isDirectory() === false,
      followSymlinks: false,
      ignorePermissionErrors: true,
    })
    this.#watcher.on('raw', (event, name, details) => this.#heard(event, name, details))
    this.#watcher.on('addDir', (path) => this.#onAdd(path))
    this.#watcher.on('unlinkDir', (path) => this.#folders.delete(path))
    this.#watcher.on('error', (error) => this.#fail(codeOf(error) ?? 'unknown', String(error)))
    this.#watcher.on('ready', () => {
      this.#isReady = true
      if (!this.#hasFailed) options.onReady(this.#folders.size)
    })
  }

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /**
   * True if every change in the folder is reported. Also true after a failure: then only the schedule finds changes.
   */
  get isSure(): boolean {
    return this.#hasFailed || (this.#isReady && this.#suspects.size === 0 && this.#coming.size === 0)
  }

  /**
   * Checks the folders that appeared or disappeared since the last call. Returns true if a recreated folder is watched
   * as its predecessor: chokidar distinguishes them only by name, and events in the new one are lost.
   */
  async clearSuspects(): Promise<boolean> {
    const suspects = [...this.#suspects]
    this.#suspects.clear()
    // chokidar reports a folder shortly before it watches it, and the changes have settled since then.
    for (const [path, { isTold }] of this.#coming) if (isTold) this.#coming.delete(path)
    // The end of the root is not always reported: chokidar may have dropped its watch before.
    const [first, now] = await Promise.all([this.#first, marksOf(this.#options.root)])
    if (now?.identity !== first?.identity) return true
    for (const path of suspects) {
      // A folder that is moved away takes the watches of everything in it along.
      if (path === this.#options.root || (await isFolder(path))) return true
    }
    return false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher.close()
  }

  /** The root that the operator named is watched whatever its name is. */
  #isIgnored(path: string, isFolder: boolean): boolean {
    const { root, apart } = this.#options
    return path !== root && (isLeftByPrograms(basename(path), isFolder) || apart.has(path))
  }

  #heard(event: string, name: string | null | undefined, details: unknown): void {
    const { root, onEvent } = this.#options
    const folder = folderIn(details) ?? root
    const path = typeof name === 'string' ? join(folder, name) : folder
    const kind = event === 'rename' ? 'moved' : 'changed'
    // An event of the folder itself is reported as if the folder were inside itself. It rejects only with an error that
    // must end the process.
    if (folder === root && name === basename(root)) void this.#heardOfRoot(kind)
    if (this.#isIgnored(path, false)) return
    if (kind === 'moved') this.#onMove(path)
    onEvent(path, kind)
  }

  #onMove(path: string): void {
    if (this.#folders.has(path)) {
      this.#suspects.add(path)
      return
    }
    const coming: Coming = { isTold: false }
    this.#coming.set(path, coming)
    // It rejects only with an error that must end the process.
    void isFolder(path).then((is) => {
      const isWatched = is && !this.#isIgnored(path, true)
      return !isWatched && this.#coming.get(path) === coming && this.#coming.delete(path)
    })
  }

  /** Reports nothing if the event was about an entry in the root with the same name as the root. */
  async #heardOfRoot(kind: 'moved' | 'changed'): Promise<void> {
    const { root, onEvent } = this.#options
    const [first, now] = await Promise.all([this.#first, marksOf(root)])
    const before = this.#touchedNs ?? first?.touchedNs
    this.#touchedNs = now?.touchedNs
    const isTouched = now?.touchedNs !== undefined && now.touchedNs !== before
    if (now?.identity === first?.identity && !isTouched) return
    if (kind === 'moved') this.#suspects.add(root)
    onEvent(root, kind)
  }

  #onAdd(path: string): void {
    const { mostFolders, onEvent } = this.#options
    this.#folders.add(path)
    // Folders below a new one are new too, and no other event reports them.
    if (this.#isReady) this.#coming.set(path, { isTold: true })
    if (this.#folders.size > mostFolders) this.#fail('too-many', `it holds more than ${mostFolders} folders`)
    // Covers the files that were added before it was watched.
    if (this.#isReady) onEvent(path, 'moved')
  }

  /** Reports once: in a folder with thousands of folders each may fail. */
  #fail(code: string, why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#options.onFailed(code, why)
    // A watcher that cannot be closed reports nothing more either.
    void this.#watcher.close()
  }
}

interface Coming {
  /** True if chokidar reported it. */
  readonly isTold: boolean
}

function folderIn(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('watchedPath' in details)) return undefined
  return typeof details.watchedPath === 'string' ? details.watchedPath : undefined
}

interface Marks {
  /** Identifies the folder; the birth time is included because an inode is soon reused. */
  readonly identity: string
  /** The time of a change to the folder itself; `undefined` if the last change was to its entries. */
  readonly touchedNs: bigint | undefined
}

/** `undefined` if nothing exists at the path. */
async function marksOf(path: string): Promise<Marks | undefined> {
  const found = await lstat(path, { bigint: true }).catch(undefinedIfAway)
  if (found === undefined) return undefined
  const { dev, ino, birthtimeNs, mtimeNs, ctimeNs } = found
  return { identity: `${dev} ${ino} ${birthtimeNs}`, touchedNs: ctimeNs === mtimeNs ? undefined : ctimeNs }
}

async function isFolder(path: string): Promise<boolean> {
  // An entry that cannot be read is found on schedule.
  const found = await lstat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true
}
