import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatOf, isObjectId, type ObjectFormat, type ObjectId, type Revision } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { TakenBlob } from '../../model/tree.ts'
import { LIMIT_KEYS, namedLimit } from '../../upstream/upstream.ts'
import { HISTORY_LIMITS } from '../objects/ancestry.ts'
import type { GitHost } from '../objects/git-host.ts'
import type { ProgramTarget } from '../objects/git-transport.ts'
import { ABSENT, tooLarge } from '../objects/object-source.ts'
import { GitProgram, scratchFailure } from './git-program.ts'
import type { ProcessGroup } from './process-group.ts'
import { ObjectsRefusedError } from './program-failure.ts'
import type { ProgramEnded } from './program-objects.ts'

/**
 * Supplies a worker with objects from the git program. It runs on the main thread, because a program that a worker
 * starts outlives a terminated worker.
 */
export class ProgramSupply implements AsyncDisposable {
  readonly #git: GitProgram
  readonly #reach: GitHost
  #reader: ProcessGroup | undefined
  #packBytes = 0
  #format: ObjectFormat = 'sha1'
  /** The revision, until all of its files were requested. */
  #revision: Revision | undefined

  private constructor(git: GitProgram, reach: GitHost) {
    this.#git = git
    this.#reach = reach
  }

  static async open(target: ProgramTarget, reach: GitHost): Promise<ProgramSupply> {
    return new ProgramSupply(await GitProgram.open(target, reach), reach)
  }

  /** Makes the commit, its tag and its trees readable. The returned process prints the objects whose ids it reads. */
  async open(revision: Revision, signal: AbortSignal): Promise<ProcessGroup['child']> {
    if (this.#git.target.kind !== 'disk') await this.#fetchCommit(revision, signal)
    return this.#read(signal)
  }

  /** Makes the histories of two commits readable, that of the first only if it still exists. */
  async openHistory([from, to]: readonly [ObjectId, ObjectId], signal: AbortSignal): Promise<ProcessGroup['child']> {
    if (this.#git.target.kind !== 'disk') {
      await this.#init(to, signal)
      await this.#fetchHistory([to], signal)
      await this.#fetchHistory([from], signal).catch(unlessRefused)
    }
    return this.#read(signal)
  }

  async #read(signal: AbortSignal): Promise<ProcessGroup['child']> {
    this.#reader = await this.#git.start([...this.#at(), 'cat-file', '--batch'], signal)
    // The worker notices the end of the process, because it waits for its output.
    this.#reader.ended.catch(() => {})
    return this.#reader.child
  }

  /** Returns why the process ended early. If it was killed, a retry can succeed. */
  async endReason(early: ProgramEnded): Promise<SyncError> {
    const ended = await this.#reader?.ended
    if (ended?.status === undefined) return early
    const failure = await this.#git.failure(ended, 'Cannot read the objects')
    return failure.code === 'source-unreachable' ? new SyncError('content-refused', failure.message) : failure
  }

  /** Makes blobs readable. Returns the unavailable ones, with the reason. */
  async prepare(blobs: readonly ObjectId[], signal: AbortSignal): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    let sizes = await this.#sizesOf(blobs, signal)
    // An id of the other format is no id here: git would interpret it as a ref name.
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

  #refusedOf(id: ObjectId, size: number | undefined): readonly (readonly [ObjectId, TakenBlob])[] {
    if (size === undefined) return [[id, ABSENT]]
    return size > this.#reach.limits.blobBytes ? [[id, tooLarge(size)]] : []
  }

  #at(): string[] {
    const { target } = this.#git
    return [`--git-dir=${target.kind === 'disk' ? target.folder : REPOSITORY}`]
  }

  /** Returns the sizes of the blobs, before any content is requested. */
  async #sizesOf(ids: readonly ObjectId[], signal: AbortSignal): Promise<ReadonlyMap<ObjectId, number>> {
    const args = [...this.#at(), 'cat-file', '--batch-check']
    const input = ids.map((id) => `${id}\n`).join('')
    const printed = await this.#git.run({ args, input }, this.#attemptOf('the files'), signal)
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

  /**
   * Fetches histories. If the server cannot leave out trees, the limit on bytes stops it, and the relation is unknown.
   */
  async #fetchHistory(commits: readonly ObjectId[], signal: AbortSignal): Promise<void> {
    const options = [`--depth=${HISTORY_LIMITS.depth}`, '--filter=tree:0']
    const packBytes = Math.min(HISTORY_LIMITS.bytes, this.#reach.limits.packBytes)
    await this.#fetch(commits, { what: this.#attemptOf('the history'), options, packBytes }, signal)
  }

  async #fetchSnapshot({ commit, tag }: Revision, options: readonly string[], signal: AbortSignal): Promise<void> {
    // A tag includes its commit, and a server may serve only objects that a ref points to.
    await this.#fetch([tag ?? commit], { what: this.#attemptOf(commit), options: ['--depth=1', ...options] }, signal)
  }

  /**
   * Fetches blobs. If the server lacks one, it refuses the whole batch and names the blob; the rest is requested again.
   */
  async #fetchBlobs(ids: readonly ObjectId[], signal: AbortSignal): Promise<void> {
    let wanted = ids
    for (let refusals = 0; wanted.length > 0; refusals += 1) {
      const refused = await this.#refusedLot(wanted, signal)
      if (refused === undefined) return
      // A server of protocol version 0 may leave files out but then refuse to serve them by id. In that case everything
      // is fetched.
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

  async #refusedLot(ids: readonly ObjectId[], signal: AbortSignal): Promise<ObjectsRefusedError | undefined> {
    try {
      await this.#fetch(ids, { what: this.#attemptOf('the files') }, signal)
      return undefined
    } catch (error) {
      if (error instanceof ObjectsRefusedError) return error
      throw error
    }
  }

  async #fetch(
    ids: readonly ObjectId[],
    { what, options = [], packBytes = this.#reach.limits.packBytes }: Fetching,
    signal: AbortSignal,
  ): Promise<void> {
    const config = join(this.#git.folder, REPOSITORY, 'config')
    const before = await inScratch(readFile(config))
    const args = [...this.#at(), 'fetch', ...FETCH, ...options, '--stdin', '--end-of-options', this.#git.address]
    const input = ids.map((id) => `${id}\n`).join('')
    const fileBytes = packBytes - this.#packBytes + INDEX_BYTES
    try {
      await this.#git.ask({ args, input, fileBytes }, what, signal)
    } finally {
      // git records the remote for missing objects, and would contact it for each of them.
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
    throw new SyncError('limit-exceeded', `${what}: more comes than ${namedLimit('packBytes', limits)} bytes`, {
      place: LIMIT_KEYS.packBytes,
    })
  }

  #attemptOf(what: string): string {
    return `Cannot fetch ${what} of "${this.#git.address}"`
  }
}

/** One run of `git fetch`: the attempt for messages, its options, and the limit on its packs. */
interface Fetching {
  readonly what: string
  readonly options?: readonly string[]
  readonly packBytes?: number
}

function unlessRefused(cause: unknown): void {
  if (!(cause instanceof ObjectsRefusedError)) throw cause
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

/** An index is small next to its pack, but larger for a tiny pack. The total of the packs is checked afterwards. */
const INDEX_BYTES = 2 ** 20
/** The maximum number of retried batches per fetch. A repository with more missing blobs is broken. */
const MOST_REFUSALS = 64
