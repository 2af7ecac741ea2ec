import { lstat, realpath, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import type { Log } from '../../../base/log.ts'
import { joinPath } from '../../../base/paths.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { DirectorySource } from '../../../sync/model/source.ts'
import { realPlacesBelow } from '../../../sync/upstream/folder/excluded-paths.ts'
import { followedLinks } from '../../../sync/upstream/folder/folder-links.ts'
import { undefinedIfAway } from '../../../sync/upstream/folder/open-folder.ts'
import { Reaction } from '../../runtime/reaction.ts'
import type { TreeWatch, TreeWatchOptions } from './tree-watch.ts'

export interface WatchOptions {
  readonly clock: Clock
  readonly log: Log
  /** Called if there may be a change that the last pull did not see. */
  readonly onNews: (id: SourceId) => void
  /** Requests a pull of the source soon. */
  readonly nudge: (id: SourceId) => void
  /** Absolute paths below which nothing belongs to the source. */
  readonly apart: readonly string[]
  /** True if a change at this path of the folder can affect what is served. */
  readonly isOfUse: (id: SourceId, path: string) => Promise<boolean>
  /**
   * A folder with more folders than this is not watched. The default is the number of watches that Linux long gave a
   * user.
   */
  readonly mostFolders?: number
}

/**
 * Reports changes in the folder of a source after they have settled. It reports only that there may be a change; the
 * pull that follows finds it. If watching fails, only the schedule remains, and the log reports that once.
 */
export class FolderWatch implements AsyncDisposable {
  readonly #source: DirectorySource
  readonly #options: WatchOptions
  readonly #stop = new AbortController()
  readonly #watching: Reaction
  #watched: Watched | undefined
  /** The skills that links in the folder lead to, by identity and real path. */
  readonly #targets = new Map<string, WatchedTarget>()
  /** True if it is known whether there is a folder to watch. */
  #isBegun = false
  #isAbsent = false
  /** True if anything changed since the last check; `undefined` if no debounce is running. */
  #isMoving: boolean | undefined

  constructor(source: DirectorySource, options: WatchOptions) {
    this.#source = source
    this.#options = options
    const { clock } = options
    this.#watching = new Reaction({ clock, run: async () => this.#look(), againMs: () => this.#waitMs })
    this.#watching.start(0)
  }

  /**
   * True if changes in the folder are reported. False while it, or a new folder in it, is not watched yet. True for a
   * folder that is absent or cannot be watched: its changes are found on schedule.
   */
  get isSure(): boolean {
    if (this.#watched === undefined) return this.#isBegun
    const trees = [this.#watched, ...this.#targets.values()].map(({ tree }) => tree)
    return trees.every(({ isSure }) => isSure) && !this.#watched.isStale
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watching[Symbol.asyncDispose]()
    await this.#end()
    await this.#endTargets()
  }

  /** The folder may appear later, disappear or be replaced by a rename, so it is checked periodically. */
  async #look(): Promise<void> {
    const mark = await markOf(this.#source.path)
    if (this.#isToBegin(mark)) await this.#begin(mark)
    if (this.#source.links === 'follow') await this.#follow()
    this.#isBegun = true
    this.#isAbsent = mark === undefined
  }

  get #waitMs(): number {
    if (this.#isAbsent || this.#watched?.isStale === true) return SOON_MS
    return this.#source.links === 'follow' ? FOLLOW_MS : LOOK_MS
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
    const { clock, log, apart } = this.#options
    const { id, path } = this.#source
    // The next pull reports a folder that cannot be read.
    const root = await realpath(path).catch(undefinedIfAway)
    if (root === undefined) return
    // Loads chokidar, which is not needed if all skills come from other kinds of source.
    const watching = await import('./tree-watch.ts')
    const places = new Set(await realPlacesBelow(root, apart))
    const tree = new watching.TreeWatch({
      ...this.#watchingOf(root, () => ['']),
      apart: places,
      onReady: (folders) => {
        log.debug('folder-watched', { source: id, folders })
        log.recovery('folder-not-watched', id)
        this.#onBehind()
      },
      onFailed: (code, why) => {
        const message = `Cannot watch "${path}": ${why}; it is only read on its schedule`
        log.failure('warn', 'folder-not-watched', { source: id, code, message })
      },
    })
    this.#watched = { mark, root, tree, beganMs: clock.monotonicMs(), isStale: false }
  }

  /** Watches what the links in the folder lead to now: a target may be replaced, and a link may lead elsewhere. */
  async #follow(): Promise<void> {
    const watched = this.#watched
    const links =
      watched && (await followedLinks(watched.root, this.#options.apart, MOST_FOLDERS).catch(undefinedIfAway))
    const names = new Map<string, string[]>()
    for (const [name, target] of [...(links ?? [])].slice(0, MOST_TARGETS)) {
      const key = `${(await markOf(target.toString())) ?? ''} ${target.toString()}`
      names.set(key, [...(names.get(key) ?? []), Buffer.from(name, 'latin1').toString()])
    }
    for (const [key, { tree }] of this.#targets) {
      if (names.has(key)) continue
      this.#targets.delete(key)
      await tree[Symbol.asyncDispose]()
      this.#onBehind()
    }
    for (const [key, linked] of names) {
      const known = this.#targets.get(key)
      if (known === undefined) await this.#watchTarget(key, linked)
      else known.names = linked
    }
  }

  async #watchTarget(key: string, names: readonly string[]): Promise<void> {
    const root = key.slice(key.indexOf('/'))
    const watching = await import('./tree-watch.ts')
    const apart = new Set(await realPlacesBelow(root, this.#options.apart))
    const target: WatchedTarget = {
      names,
      tree: new watching.TreeWatch({
        ...this.#watchingOf(root, () => target.names),
        apart,
        onReady: () => this.#onBehind(),
        onFailed: (code, why) => {
          const message = `Cannot watch "${root}": ${why}; it is only read on the schedule of its source`
          this.#options.log.failure('warn', 'folder-not-watched', { source: this.#source.id, code, message })
        },
      }),
    }
    this.#targets.set(key, target)
  }

  /** `names`: the paths of the watched folder in that of the source. */
  #watchingOf(
    root: string,
    names: () => readonly string[],
  ): Pick<TreeWatchOptions, 'root' | 'mostFolders' | 'onEvent'> {
    const { mostFolders = MOST_FOLDERS } = this.#options
    return {
      root,
      mostFolders,
      onEvent: (at, kind) => {
        // They reject only with an error that must end the process.
        for (const name of names()) void this.#heard(at, joinPath(name, relative(root, at)), kind)
      },
    }
  }

  /** Covers changes from before a watch began. */
  #onBehind(): void {
    this.#options.onNews(this.#source.id)
    this.#onChange()
  }

  async #end(): Promise<void> {
    const watched = this.#watched
    this.#watched = undefined
    await watched?.tree[Symbol.asyncDispose]()
  }

  async #endTargets(): Promise<void> {
    const targets = [...this.#targets.values()]
    this.#targets.clear()
    await Promise.all(targets.map(({ tree }) => tree[Symbol.asyncDispose]()))
  }

  /** A build beside the skills writes thousands of files, which must not trigger pulls. */
  async #heard(at: string, path: string, kind: 'moved' | 'changed'): Promise<void> {
    // A client that reads now must not wait until the changes have settled.
    this.#options.onNews(this.#source.id)
    const isOfUse = await this.#options.isOfUse(this.#source.id, path)
    if (isOfUse || (kind === 'moved' && (await mayHoldSkills(at)))) this.#onChange()
  }

  #onChange(): void {
    if (this.#isMoving !== undefined) {
      this.#isMoving = true
      return
    }
    void this.#afterRest().catch(ignoreAbort)
  }

  /** An editor may empty a file before it writes it, and a branch switch writes hundreds of files. */
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
      this.#watching.trigger()
    }
    for (const [key, { tree }] of this.#targets) {
      if (!(await tree.clearSuspects())) continue
      this.#targets.delete(key)
      await tree[Symbol.asyncDispose]()
    }
    // A link may have come or changed.
    if (this.#source.links === 'follow') this.#watching.trigger()
    // A new folder is watched a moment after it appears: the last pull may have been before that.
    onNews(this.#source.id)
    nudge(this.#source.id)
  }

  #isStillMoving(): boolean {
    return this.#isMoving === true
  }
}

interface Watched {
  /** Identifies the folder. */
  readonly mark: string
  readonly root: string
  readonly tree: TreeWatch
  readonly beganMs: number
  /** True if it watches a folder that is gone. */
  isStale: boolean
}

/** A watched skill behind links. */
interface WatchedTarget {
  readonly tree: TreeWatch
  /** The names of the links. */
  names: readonly string[]
}

const REST_MS = 150
/** A folder that never settles is pulled all the same. */
const LONGEST_MS = 2_000
const LOOK_MS = 10_000
/** No event tells that a target appears, or that a link on the way to it leads elsewhere. */
const FOLLOW_MS = 2_000
/** The interval if nothing is watched, or the watched folder is gone. */
const SOON_MS = 1_000
/** Each attempt walks the whole folder. */
const RETRY_MS = 600_000

/** Each has a watcher of its own. Installers create some dozens. */
const MOST_TARGETS = 512

/** A folder of skills has a hundredth of that. */
const MOST_FOLDERS = 8_192

/** `undefined` if there is no folder to watch. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true ? `${found.dev} ${found.ino}` : undefined
}

/** A new folder may contain skills, and a link may lead to some. */
async function mayHoldSkills(path: string): Promise<boolean> {
  const found = await lstat(path).catch(undefinedIfAway)
  return found?.isDirectory() === true || found?.isSymbolicLink() === true
}
