import { lstat, realpath, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import type { DirectorySource } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { undefinedIfAway } from '../../sync/upstream/folder/open-folder.ts'
import { realPlacesBelow } from '../../sync/upstream/folder/excluded-paths.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { TreeWatch } from './tree-watch.ts'

export interface WatchOptions {
  readonly clock: Clock
  readonly log: Log
  /** There may be something that the last look at the source did not see. */
  readonly onNews: (id: SourceId) => void
  /** Has the source looked at soon. */
  readonly nudge: (id: SourceId) => void
  /** Absolute paths below which nothing is of the source. */
  readonly apart: readonly string[]
  /** Whether what is in service could be another for what changed at this path of the folder. */
  readonly isOfUse: (id: SourceId, path: string) => Promise<boolean>
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
  /** Whether it is known what there is to watch. */
  #isBegun = false
  /** Ends the wait for the next look at what is watched. */
  #wait = new AbortController()
  /** Whether anything changed since it was last asked; undefined while nobody waits for rest. */
  #isMoving: boolean | undefined

  constructor(source: DirectorySource, options: WatchOptions) {
    this.#source = source
    this.#options = options
    // It rejects only in a way that is to end the process.
    this.#watching = this.#keepWatching()
  }

  /**
   * Whether what changes in the folder is told of. Not while it, or a folder that came into it, is not watched so far; a folder
   * that is not there, or cannot be watched, changes as the schedule finds it.
   */
  get isSure(): boolean {
    if (this.#watched === undefined) return this.#isBegun
    return this.#watched.tree.isSure && !this.#watched.isStale
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#wait.abort()
    await this.#watching
  }

  /** The folder may come later, go, or be another by a rename: what is watched is looked at now and then. */
  async #keepWatching(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const mark = await markOf(this.#source.path)
      if (this.#isToBegin(mark)) await this.#begin(mark)
      this.#isBegun = true
      if (signal.aborted) break
      this.#wait = new AbortController()
      const isLookedForSoon = mark === undefined || this.#watched?.isStale === true
      const waitMs = isLookedForSoon ? SOON_MS : LOOK_MS
      await this.#options.clock.wait(waitMs, this.#wait.signal).catch(ignoreAbort)
    }
    await this.#end()
  }

  #isToBegin(mark: string | undefined): boolean {
    const watched = this.#watched
    if (watched?.mark !== mark) return true
    if (watched === undefined) return false
    const sinceMs = this.#options.clock.monotonicMs() - watched.beganMs
    if (watched.tree.hasFailed) return sinceMs >= RETRY_MS
    return watched.isStale && sinceMs >= SOON_MS
  }

  async #begin(mark: string | undefined): Promise<void> {
    this.#isBegun = false
    await this.#end()
    if (mark === undefined) return
    const { clock, log, apart, mostFolders = MOST_FOLDERS } = this.#options
    const { id, path } = this.#source
    // What cannot be looked at is told by the next pull.
    const root = await realpath(path).catch(undefinedIfAway)
    if (root === undefined) return
    // With chokidar, which nobody needs whose skills all come from elsewhere.
    const watching = await import('./tree-watch.ts')
    const tree = new watching.TreeWatch({
      root,
      apart: new Set(await realPlacesBelow(root, apart)),
      mostFolders,
      onReady: (folders) => {
        log.debug('folder-watched', { source: id, folders })
        log.recovery('folder-not-watched', id)
        // What came while nothing was watched.
        this.#options.onNews(id)
        this.#changed()
      },
      // It rejects only in a way that is to end the process.
      onEvent: (at, kind) => void this.#heard(at, relative(root, at), kind),
      onFailed: (code, why) => {
        const message = `Cannot watch "${path}": ${why}; it is looked at on its schedule alone`
        log.failure('warn', 'folder-not-watched', { source: id, code, message })
      },
    })
    this.#watched = { mark, tree, beganMs: clock.monotonicMs(), isStale: false }
  }

  async #end(): Promise<void> {
    const watched = this.#watched
    this.#watched = undefined
    await watched?.tree[Symbol.asyncDispose]()
  }

  /** A build beside the skills writes thousands of files, which nobody is to look for. */
  async #heard(at: string, path: string, kind: 'moved' | 'changed'): Promise<void> {
    // Who asks does not wait until it has come to rest.
    this.#options.onNews(this.#source.id)
    const isOfUse = await this.#options.isOfUse(this.#source.id, path)
    if (isOfUse || (kind === 'moved' && (await mayHoldSkills(at)))) this.#changed()
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
    const { clock, nudge, onNews } = this.#options
    const startMs = clock.monotonicMs()
    try {
      do {
        this.#isMoving = false
        await clock.wait(REST_MS, this.#stop.signal)
      } while (this.#isStillMoving() && clock.monotonicMs() - startMs < LONGEST_MS)
    } finally {
      this.#isMoving = undefined
    }
    const watched = this.#watched
    if (watched !== undefined && (await watched.tree.clearSuspects())) {
      watched.isStale = true
      this.#wait.abort()
    }
    // A folder is watched shortly after it came: the last look may have been before that.
    onNews(this.#source.id)
    nudge(this.#source.id)
  }

  #isStillMoving(): boolean {
    return this.#isMoving === true
  }
}

interface Watched {
  /** Which folder it is. */
  readonly mark: string
  readonly tree: TreeWatch
  readonly beganMs: number
  /** It watches what is not there any more. */
  isStale: boolean
}

const REST_MS = 150
/** A folder that never rests is looked at all the same. */
const LONGEST_MS = 2_000
const LOOK_MS = 10_000
/** Where nothing is watched, or something that is gone. */
const SOON_MS = 1_000
/** Each attempt walks the whole folder. */
const RETRY_MS = 600_000

/** A folder of skills has a hundredth of that. */
const MOST_FOLDERS = 8_192

/** Undefined where there is no folder that could be watched. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true ? `${found.dev} ${found.ino}` : undefined
}

/** A folder that came may have skills in it, and a link may lead to some. */
async function mayHoldSkills(path: string): Promise<boolean> {
  const found = await lstat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true || found?.isSymbolicLink() === true
}
