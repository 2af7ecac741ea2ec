import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { watch, type FSWatcher } from 'chokidar'
import { isPassedOver } from '../../sync/upstream/folder/folder-walk.ts'
import { undefinedIfAway } from '../../sync/upstream/folder/open-folder.ts'
import { codeOf } from '../../base/error-code.ts'

export interface TreeWatchOptions {
  /** A folder, by its real path. */
  readonly root: string
  /** Real paths of folders that are not watched. */
  readonly apart: ReadonlySet<string>
  /** A folder that holds more than so many is not watched. */
  readonly mostFolders: number
  readonly onReady: (folders: number) => void
  /** Something is the matter with what stands at this path; it came or went, or what was there is changed. */
  readonly onEvent: (path: string, kind: 'moved' | 'changed') => void
  /** Told once: half a watch would let a change go by that seems to be watched for. */
  readonly onFailed: (code: string, why: string) => void
}

/** Watches a folder and all folders below it, from now until it is disposed or has failed. */
export class TreeWatch implements AsyncDisposable {
  readonly #options: TreeWatchOptions
  readonly #watcher: FSWatcher
  readonly #folders = new Set<string>()
  /** Folders that are watched, and that came or went. */
  readonly #suspects = new Set<string>()
  /** Folders that came and may not be watched so far. */
  readonly #coming = new Map<string, Coming>()
  /** What the root was at the start. */
  readonly #first: Promise<Marks | undefined>
  /** When something had been done to the root, as it was last seen. */
  #touchedNs: bigint | undefined
  #isReady = false
  #hasFailed = false

  constructor(options: TreeWatchOptions) {
    this.#options = options
    const { root } = options
    this.#first = marksOf(root)
    this.#watcher = watch(root, {
      // One watch for each folder: it tells of the files in it too, and there are many more of those.
      ignored: (at, stats) => this.#isIgnored(at) || stats?.isDirectory() === false,
      followSymlinks: false,
      ignorePermissionErrors: true,
    })
    this.#watcher.on('raw', (event, name, details) => this.#heard(event, name, details))
    this.#watcher.on('addDir', (path) => this.#added(path))
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

  /** Whether nothing can change in the folder without being told; once it has failed, that is not for it to say. */
  get isSure(): boolean {
    return this.#hasFailed || (this.#isReady && this.#suspects.size === 0 && this.#coming.size === 0)
  }

  /**
   * Looks at the folders that came or went since the last call. Says whether one that came again is watched as the one it was
   * before: chokidar tells them apart by name alone, and what happens in the new one is told nobody.
   */
  async clearSuspects(): Promise<boolean> {
    const suspects = [...this.#suspects]
    this.#suspects.clear()
    // chokidar tells of a folder shortly before it watches it, and since then there was rest.
    for (const [path, { isTold }] of this.#coming) if (isTold) this.#coming.delete(path)
    // Its end is not always told: chokidar may have left it before.
    const [first, now] = await Promise.all([this.#first, marksOf(this.#options.root)])
    if (now?.identity !== first?.identity) return true
    for (const path of suspects) {
      // One that is moved away takes the watches of all that is in it along.
      if (path === this.#options.root || (await isFolder(path))) return true
    }
    return false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher.close()
  }

  /** What the operator named is watched, whatever it is called. */
  #isIgnored(path: string): boolean {
    const { root, apart } = this.#options
    return path !== root && (isPassedOver(basename(path)) || apart.has(path))
  }

  #heard(event: string, name: string | null | undefined, details: unknown): void {
    const { root, onEvent } = this.#options
    const folder = folderIn(details) ?? root
    const path = typeof name === 'string' ? join(folder, name) : folder
    const kind = event === 'rename' ? 'moved' : 'changed'
    // Of the folder itself it is told as if it lay in itself. It rejects only in a way that is to end the process.
    if (folder === root && name === basename(root)) void this.#heardOfRoot(kind)
    if (this.#isIgnored(path)) return
    if (kind === 'moved') this.#moved(path)
    onEvent(path, kind)
  }

  #moved(path: string): void {
    if (this.#folders.has(path)) {
      this.#suspects.add(path)
      return
    }
    const coming: Coming = { isTold: false }
    this.#coming.set(path, coming)
    // It rejects only in a way that is to end the process.
    void isFolder(path).then((is) => !is && this.#coming.get(path) === coming && this.#coming.delete(path))
  }

  /** Nothing is said of the folder where it was something that lies in it, and is called like it. */
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

  #added(path: string): void {
    const { mostFolders, onEvent } = this.#options
    this.#folders.add(path)
    // Each folder below one that came comes too, and nothing else tells of it.
    if (this.#isReady) this.#coming.set(path, { isTold: true })
    if (this.#folders.size > mostFolders) this.#fail('too-many', `it holds more than ${mostFolders} folders`)
    // What was put into it before it was watched.
    if (this.#isReady) onEvent(path, 'moved')
  }

  /** Once: of a folder with thousands of folders each may fail. */
  #fail(code: string, why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#options.onFailed(code, why)
    // What cannot be closed tells no more either.
    void this.#watcher.close()
  }
}

interface Coming {
  /** Whether chokidar told of it. */
  readonly isTold: boolean
}

function folderIn(details: unknown): string | undefined {
  if (typeof details !== 'object' || details === null || !('watchedPath' in details)) return undefined
  return typeof details.watchedPath === 'string' ? details.watchedPath : undefined
}

interface Marks {
  /** Which folder it is: an inode is soon used again. */
  readonly identity: string
  /** When something was done to the folder itself; undefined where the last that was done came or went in it. */
  readonly touchedNs: bigint | undefined
}

/** Undefined where nothing is there. */
async function marksOf(path: string): Promise<Marks | undefined> {
  const found = await lstat(path, { bigint: true }).catch(undefinedIfAway)
  if (found === undefined) return undefined
  const { dev, ino, birthtimeNs, mtimeNs, ctimeNs } = found
  return { identity: `${dev} ${ino} ${birthtimeNs}`, touchedNs: ctimeNs === mtimeNs ? undefined : ctimeNs }
}

async function isFolder(path: string): Promise<boolean> {
  // What cannot be looked at is looked at on schedule.
  const found = await lstat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true
}
