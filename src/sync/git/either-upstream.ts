import type { ObjectId, Revision } from '../model/revision.ts'
import { CredentialRefused, isPassing, RequestForbidden, SyncError } from '../model/sync-error.ts'
import type { Tree } from '../model/tree.ts'
import type { KnownTrees, Relation, TreeUpstream } from '../upstream/upstream.ts'

/**
 * A git source over http(s) that our own reader reads, or the git program where the host refuses our reader. The program
 * is tried once for each address; without one, the error names the setting.
 */
export class EitherUpstream implements TreeUpstream {
  readonly kind = 'tree'
  readonly #url: string
  readonly #own: TreeUpstream
  readonly #program: TreeUpstream | undefined

  constructor(url: string, own: TreeUpstream, program: TreeUpstream | undefined) {
    this.#url = url
    this.#own = own
    this.#program = program
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    return this.#either((upstream) => upstream.resolve(signal), isRefusal, signal)
  }

  async fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree> {
    return this.#either((upstream) => upstream.fetch(revision, known, signal), isRefusalOfFetch, signal)
  }

  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    const upstream = PROGRAM_READS.get(this.#url) === true ? this.#program : undefined
    return (upstream ?? this.#own).relation(from, to, signal)
  }

  async #either<Result>(
    ask: (upstream: TreeUpstream) => Promise<Result>,
    isRefused: (cause: unknown) => cause is SyncError,
    signal: AbortSignal,
  ): Promise<Result> {
    const program = this.#program
    if (program !== undefined && PROGRAM_READS.get(this.#url) === true) {
      return ask(program).catch((cause: unknown) => {
        // The host may have changed, and speak with our own reader again.
        PROGRAM_READS.delete(this.#url)
        throw cause
      })
    }
    try {
      return await ask(this.#own)
    } catch (cause) {
      if (signal.aborted || !isRefused(cause)) throw cause
      if (program === undefined) throw withMore(cause, '`backend: system` may read it with the git program')
      if (PROGRAM_READS.get(this.#url) === false) throw withMore(cause, 'the git program does not read it either')
      return this.#byProgram(() => ask(program), cause, signal)
    }
  }

  async #byProgram<Result>(ask: () => Promise<Result>, refusal: SyncError, signal: AbortSignal): Promise<Result> {
    try {
      const result = await ask()
      remember(this.#url, true)
      return result
    } catch (cause) {
      if (signal.aborted || !(cause instanceof SyncError)) throw cause
      if (cause.code === 'git-missing')
        throw withMore(refusal, 'the git program, which may read it (`backend: system`), is not there')
      if (!isPassing(cause.code)) remember(this.#url, false)
      throw withMore(refusal, 'the git program does not read it either')
    }
  }
}

/** True if the host refuses our reader, as such or its request, which says nothing about the git program. */
function isRefusal(cause: unknown): cause is SyncError {
  if (cause instanceof RequestForbidden) return true
  return cause instanceof SyncError && (cause.code === 'protocol-not-spoken' || cause.code === 'unsupported')
}

/** After a listing, a refusal of the credential is one of the request: the listing needed the credential too. */
function isRefusalOfFetch(cause: unknown): cause is SyncError {
  if (isRefusal(cause)) return true
  return cause instanceof SyncError && cause.code === 'credentials-rejected' && !(cause instanceof CredentialRefused)
}

function withMore(cause: SyncError, more: string): SyncError {
  return new SyncError(cause.code, `${cause.message}; ${more}`, { cause, fix: cause.fix, place: cause.place })
}

/** The addresses that the git program was tried on, and true for those that it reads. Kept in this process. */
const PROGRAM_READS = new Map<string, boolean>()

function remember(url: string, isRead: boolean): void {
  if (PROGRAM_READS.size >= MOST_REMEMBERED) PROGRAM_READS.clear()
  PROGRAM_READS.set(url, isRead)
}

const MOST_REMEMBERED = 1000
