import { realpath, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { watch, type FSWatcher } from 'chokidar'
import type { DirectorySource } from '../sync/model/source.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { isPassedOver } from '../sync/upstream/folder-walk.ts'
import { ignoreAbort } from './abort-error.ts'
import type { Clock } from './clock.ts'
import { codeOf } from './error-code.ts'
import type { Log } from './log.ts'

export interface WatchOptions {
  readonly clock: Clock
  readonly log: Log
  /** Has the source looked at soon. */
  readonly nudge: (id: SourceId) => void
  /** A folder that holds more than so many is not watched. Default: as many watches as Linux gave a user for long. */
  readonly mostFolders?: number
}

/**
 * Tells of changes in the folder of a source, once they have come to rest. What is told is that there may be something:
 * the look that follows finds what. Where watching does not work the schedule alone goes on, and the log says so once.
 */
export class FolderWatch implements AsyncDisposable {
  readonly #source: DirectorySource
  readonly #options: WatchOptions
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>
  #watched: Watched | undefined
  /** Whether anything changed since it was last asked; undefined while nobody waits for rest. */
  #isMoving: boolean | undefined

  constructor(source: DirectorySource, options: WatchOptions) {
    this.#source = source
    this.#options = options
    // It rejects only in a way that is to end the process.
    this.#watching = this.#keepWatching()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  /** The folder may come later, go, or be another by a rename: what is watched is looked at now and then. */
  async #keepWatching(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const mark = await markOf(this.#source.path)
      if (mark !== this.#watched?.mark) await this.#begin(mark)
      const waitMs = this.#watched?.failed === true ? RETRY_MS : LOOK_MS
      await this.#options.clock.wait(waitMs, signal).catch(ignoreAbort)
      if (this.#watched?.failed === true) await this.#end()
    }
    await this.#end()
  }

  async #begin(mark: string | undefined): Promise<void> {
    await this.#end()
    if (mark === undefined) return
    const { path } = this.#source
    const { mostFolders: most = MOST_FOLDERS } = this.#options
    const watcher = watch(await realpath(path).catch(() => path), {
      // One watch for each folder: it tells of the files in it too, and there are many more of those.
      ignored: (at, stats) => isPassedOver(basename(at)) || stats?.isDirectory() === false,
      followSymlinks: false,
      ignorePermissionErrors: true,
    })
    const watched: Watched = { mark, watcher, folders: 0, failed: false }
    this.#watched = watched
    watcher.on('raw', (_, name) => {
      if (!isPassedOver(name)) this.#changed()
    })
    watcher.on('addDir', () => {
      watched.folders += 1
      if (watched.folders > most) this.#fail(watched, 'too-many', `it holds more than ${most} folders`)
    })
    watcher.on('error', (error) => this.#fail(watched, codeOf(error) ?? 'unknown', String(error)))
    watcher.on('ready', () => {
      if (watched.failed) return
      this.#options.log.debug('folder-watched', { source: this.#source.id, folders: watched.folders })
      this.#options.log.recovery('folder-not-watched', this.#source.id)
      // What came while nothing was watched.
      this.#changed()
    })
  }

  async #end(): Promise<void> {
    const watched = this.#watched
    this.#watched = undefined
    await watched?.watcher.close()
  }

  /** Once for each watcher: of a folder with thousands of folders each may fail. */
  #fail(watched: Watched, code: string, why: string): void {
    if (watched.failed || this.#watched !== watched) return
    watched.failed = true
    const message = `Cannot watch "${this.#source.path}": ${why}; it is looked at on its schedule alone`
    this.#options.log.failure('warn', 'folder-not-watched', { source: this.#source.id, code, message })
    // Half a watch would let a change go by that seems to be watched for. What cannot be closed tells no more either.
    void watched.watcher.close()
  }

  #changed(): void {
    if (this.#isMoving !== undefined) {
      this.#isMoving = true
      return
    }
    void this.#afterRest().catch(ignoreAbort)
  }

  /** Whoever saves a file may empty it first, and who switches a branch writes hundreds. */
  async #afterRest(): Promise<void> {
    const { clock, nudge } = this.#options
    const startMs = clock.monotonicMs()
    try {
      do {
        this.#isMoving = false
        await clock.wait(REST_MS, this.#stop.signal)
      } while (this.#isStillMoving() && clock.monotonicMs() - startMs < LONGEST_MS)
    } finally {
      this.#isMoving = undefined
    }
    nudge(this.#source.id)
  }

  #isStillMoving(): boolean {
    return this.#isMoving === true
  }
}

interface Watched {
  /** Which folder it is. */
  readonly mark: string
  readonly watcher: FSWatcher
  folders: number
  failed: boolean
}

const REST_MS = 150
/** A folder that never rests is looked at all the same. */
const LONGEST_MS = 2_000
const LOOK_MS = 10_000
/** Each attempt walks the whole folder. */
const RETRY_MS = 600_000

/** A folder of skills has a hundredth of that. */
const MOST_FOLDERS = 8_192

/** Undefined where there is no folder that could be watched. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() === true ? `${found.dev} ${found.ino}` : undefined
}
