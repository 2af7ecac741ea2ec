import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatOf, isObjectId, type ObjectFormat, type ObjectId, type Revision } from '../../../model/revision.ts'
import { SyncError } from '../../../model/sync-error.ts'
import type { Taken } from '../../../model/tree.ts'
import type { ChildGroup } from './process-group.ts'
import { HISTORY_LIMITS } from '../objects/ancestry.ts'
import { GitProgram, scratchFailure } from './git-program.ts'
import { type ProgramTarget } from '../objects/git-transport.ts'
import { ABSENT, tooLarge } from '../objects/object-source.ts'
import { Refused } from './program-failure.ts'
import type { ProgramEnded } from './program-objects.ts'
import { namedLimit } from '../../upstream.ts'
import type { GitHost } from '../objects/git-host.ts'

/**
 * Brings objects to where a worker reads them. It runs on the main thread, because a program that a worker starts
 * outlives the worker when that is ended.
 */
export class ProgramSupply implements AsyncDisposable {
  readonly #git: GitProgram
  readonly #reach: GitHost
  #reader: ChildGroup | undefined
  #packBytes = 0
  #format: ObjectFormat = 'sha1'
  /** Until all of it was asked for. */
  #revision: Revision | undefined

  private constructor(git: GitProgram, reach: GitHost) {
    this.#git = git
    this.#reach = reach
  }

  static async open(target: ProgramTarget, reach: GitHost): Promise<ProgramSupply> {
    return new ProgramSupply(await GitProgram.open(target, reach), reach)
  }

  /** Makes the commit, its tag and its trees readable. What is returned prints the objects whose ids it reads. */
  async open(revision: Revision, signal: AbortSignal): Promise<ChildGroup['child']> {
    if (this.#git.target.kind !== 'disk') await this.#fetchCommit(revision, signal)
    return this.#read(signal)
  }

  /** Makes the commits behind two readable, those of the first if they are still there. */
  async openHistory([from, to]: readonly [ObjectId, ObjectId], signal: AbortSignal): Promise<ChildGroup['child']> {
    if (this.#git.target.kind !== 'disk') {
      await this.#init(to, signal)
      await this.#fetchHistory([to], signal)
      await this.#fetchHistory([from], signal).catch(unlessRefused)
    }
    return this.#read(signal)
  }

  async #read(signal: AbortSignal): Promise<ChildGroup['child']> {
    this.#reader = await this.#git.start([...this.#at(), 'cat-file', '--batch'], signal)
    // Its end is seen by the worker, which waits for what it prints.
    this.#reader.ended.catch(() => {})
    return this.#reader.child
  }

  /** Why the program that prints objects ended before it gave all of them: one that was killed gives them the next time. */
  async whyEnded(early: ProgramEnded): Promise<SyncError> {
    const ended = await this.#reader?.ended
    if (ended?.status === undefined) return early
    const failure = await this.#git.failure(ended, 'Cannot read the objects')
    return failure.code === 'source-unreachable' ? new SyncError('content-refused', failure.message) : failure
  }

  /** Makes blobs readable. Returns those that cannot be had, and why. */
  async prepare(blobs: readonly ObjectId[], signal: AbortSignal): Promise<ReadonlyMap<ObjectId, Taken>> {
    let sizes = await this.#sizesOf(blobs, signal)
    // An id of another kind is no id here: git would take it for the name of a ref.
    const missing = blobs.filter((id) => !sizes.has(id) && formatOf(id) === this.#format)
    if (missing.length > 0 && this.#git.target.kind !== 'disk') {
      await this.#fetchBlobs(missing, signal)
      sizes = await this.#sizesOf(blobs, signal)
    }
    return new Map(blobs.flatMap((id) => this.#refusedOf(id, sizes.get(id))))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader?.[Symbol.asyncDispose]()
    await this.#git[Symbol.asyncDispose]()
  }

  #refusedOf(id: ObjectId, size: number | undefined): readonly (readonly [ObjectId, Taken])[] {
    if (size === undefined) return [[id, ABSENT]]
    return size > this.#reach.limits.blobBytes ? [[id, tooLarge(size)]] : []
  }

  #at(): string[] {
    const { target } = this.#git
    return [`--git-dir=${target.kind === 'disk' ? target.folder : REPOSITORY}`]
  }

  /** Blobs alone, with their sizes: asked before any content is. */
  async #sizesOf(ids: readonly ObjectId[], signal: AbortSignal): Promise<ReadonlyMap<ObjectId, number>> {
    const args = [...this.#at(), 'cat-file', '--batch-check']
    const input = ids.map((id) => `${id}\n`).join('')
    const printed = await this.#git.run({ args, input }, this.#fetching('the files'), signal)
    const sizes = new Map<ObjectId, number>()
    for (const line of printed.toString('latin1').split('\n')) {
      const [id = '', type, size] = line.split(' ')
      if (type === 'blob' && isObjectId(id)) sizes.set(id, Number(size))
    }
    return sizes
  }

  async #fetchCommit(revision: Revision, signal: AbortSignal): Promise<void> {
    await this.#init(revision.commit, signal)
    await this.#fetchSnapshot(revision, ['--filter=blob:none'], signal)
    this.#revision = revision
  }

  async #init(commit: ObjectId, signal: AbortSignal): Promise<void> {
    this.#format = formatOf(commit)
    const format = `--object-format=${this.#format}`
    const args = ['init', '--quiet', '--bare', '--template=', format, '--end-of-options', REPOSITORY]
    await this.#git.run({ args }, `Cannot make a repository for ${commit}`, signal)
  }

  /** A server that cannot leave trees out is stopped by the bound on bytes, and the history then is unknown. */
  async #fetchHistory(commits: readonly ObjectId[], signal: AbortSignal): Promise<void> {
    const options = [`--depth=${HISTORY_LIMITS.depth}`, '--filter=tree:0']
    const bytes = Math.min(HISTORY_LIMITS.bytes, this.#reach.limits.packBytes)
    await this.#fetch(commits, options, this.#fetching('the history'), signal, bytes)
  }

  async #fetchSnapshot({ commit, tag }: Revision, options: readonly string[], signal: AbortSignal): Promise<void> {
    // A tag brings its commit along, and a server may hand out by its id nothing but what a ref points to.
    await this.#fetch([tag ?? commit], ['--depth=1', ...options], this.#fetching(commit), signal)
  }

  /** What the server lacks makes it refuse the whole lot, and say which: the rest is asked for again. */
  async #fetchBlobs(ids: readonly ObjectId[], signal: AbortSignal): Promise<void> {
    let wanted = ids
    for (let refusals = 0; wanted.length > 0; refusals += 1) {
      const refused = await this.#refusedLot(wanted, signal)
      if (refused === undefined) return
      // A server of version 0 can leave files out and then not hand them out. It is asked for all of them.
      if (refused.isUnadvertised && this.#revision !== undefined) {
        const revision = this.#revision
        this.#revision = undefined
        return this.#fetchSnapshot(revision, [], signal)
      }
      const rest = wanted.filter((id) => !refused.ids.includes(id))
      if (rest.length === wanted.length || refusals >= MOST_REFUSALS) throw refused
      wanted = rest
    }
  }

  async #refusedLot(ids: readonly ObjectId[], signal: AbortSignal): Promise<Refused | undefined> {
    try {
      await this.#fetch(ids, [], this.#fetching('the files'), signal)
      return undefined
    } catch (error) {
      if (error instanceof Refused) return error
      throw error
    }
  }

  async #fetch(
    ids: readonly ObjectId[],
    options: readonly string[],
    what: string,
    signal: AbortSignal,
    packBytes = this.#reach.limits.packBytes,
  ): Promise<void> {
    const config = join(this.#git.folder, REPOSITORY, 'config')
    const before = await inScratch(readFile(config))
    const args = [...this.#at(), 'fetch', ...FETCH, ...options, '--stdin', '--end-of-options', this.#git.address]
    const input = ids.map((id) => `${id}\n`).join('')
    const fileBytes = packBytes - this.#packBytes + INDEX_BYTES
    try {
      await this.#git.ask({ args, input, fileBytes }, what, signal)
    } finally {
      // git notes where missing objects can be had, and would go there for each of them.
      await inScratch(writeFile(config, before))
    }
    await this.#expectRoom(what)
  }

  async #expectRoom(what: string): Promise<void> {
    const folder = join(this.#git.folder, REPOSITORY, 'objects', 'pack')
    const packs = (await inScratch(readdir(folder))).filter((name) => name.endsWith('.pack'))
    const sizes = await inScratch(Promise.all(packs.map(async (name) => (await stat(join(folder, name))).size)))
    this.#packBytes = sizes.reduce((sum, size) => sum + size, 0)
    const { limits } = this.#reach
    if (this.#packBytes <= limits.packBytes) return
    throw new SyncError('limit-exceeded', `${what}: more comes than ${namedLimit('packBytes', limits)} bytes`)
  }

  #fetching(what: string): string {
    return `Cannot fetch ${what} of "${this.#git.address}"`
  }
}

function unlessRefused(cause: unknown): void {
  if (!(cause instanceof Refused)) throw cause
}

async function inScratch<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    throw scratchFailure(cause)
  })
}

const REPOSITORY = 'repository'

const FETCH: readonly string[] = [
  '--progress',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
  '--no-recurse-submodules',
  '--no-show-forced-updates',
]

/** An index is small beside its pack, and of a tiny pack it is larger. What the packs come to is looked at afterwards. */
const INDEX_BYTES = 2 ** 20
/** Lots tried again in one fetch. A repository with more blobs missing than that is broken. */
const MOST_REFUSALS = 64
