import { isAbortError } from '../../../base/async/abort-error.ts'
import { printable } from '../../../base/text/printable.ts'
import type { Keyring } from '../../../daemon/access/keyring.ts'
import type { Config, ReachedHost } from '../../../daemon/config/config.ts'
import type { HostBackoff } from '../../../daemon/pull/schedule/host-backoff.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { backoffMs, Reaction } from '../../../daemon/runtime/reaction.ts'
import { publicationKeys, publicationMend } from '../../../daemon/status/publication-status.ts'
import type {
  PublicationProblem,
  PublicationEnd,
  PublicationStatus,
} from '../../../daemon/status/publication-status.ts'
import type { Registry } from '../../../serve/registry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isPassing, SyncError, unwrapSuppressed } from '../../../sync/model/sync-error.ts'
import { PushRemote } from '../git/push-remote.ts'
import type { Marketplaces, ServedMarketplace } from '../marketplaces.ts'
import type { Publication } from '../publication-config.ts'
import { ContentUnavailableError } from '../read-whole.ts'
import { publicationName } from './named-publication.ts'
import type { PublicationCounts } from './publication-counts.ts'
import { publishTree } from './publish-tree.ts'
import type { KnownCommit, Published } from './publish-tree.ts'

/** The parts that the publisher of one branch needs. */
export interface BranchPublisherParts extends DaemonContext {
  readonly config: Config
  readonly registry: Registry
  readonly hosts: HostBackoff
  readonly published: PublicationCounts
  readonly keyring: Keyring
  readonly marketplaces: Marketplaces
  /** The reason why nothing may be published now; `undefined` if it may. */
  readonly whyNot: () => string | undefined
  /** False for a branch that is published to once: its failure is not tried again. */
  readonly isKept: boolean
}

/** Keeps one branch of a repository at what is served. One attempt runs at a time, and at most one waits. */
export class BranchPublisher implements AsyncDisposable {
  readonly #publication: Publication
  readonly #parts: BranchPublisherParts
  readonly #reaction: Reaction
  readonly #reached: ReachedHost
  #known: KnownCommit | undefined
  /** The catalog whose marketplace the branch had when it was last read. */
  #current: Catalog | undefined
  #pushedAt: Date | undefined
  #failure: Failure | undefined
  #failures = 0

  constructor(publication: Publication, parts: BranchPublisherParts) {
    const { url, access, ca, proxy } = publication
    this.#publication = publication
    this.#parts = parts
    const { clock, registry } = parts
    this.#reaction = new Reaction({
      clock,
      on: () => registry.watch(() => this.#follow()),
      run: async (signal, isTimed) => void (await this.#attempt({ isDry: false, isAsked: isTimed }, signal)),
    })
    this.#reached = { source: { id: publicationName(publication), url, kind: 'git' }, access, ca, proxy }
  }

  get name(): string {
    return publicationName(this.#publication)
  }

  get status(): PublicationStatus {
    const failure = this.#failure
    return {
      ...publicationKeys(this.#publication),
      isCurrent: failure === undefined && this.#current === this.#parts.registry.catalog,
      ...(this.#known !== undefined && { commit: this.#known.commit }),
      ...(this.#pushedAt !== undefined && { pushedAt: this.#pushedAt.toISOString() }),
      ...(failure !== undefined && {
        problem: failure.problem,
        ...(failure.nextAttempt !== undefined && { nextAttempt: failure.nextAttempt.toISOString() }),
      }),
    }
  }

  /** Publishes what is served now, and each catalog from now on. */
  start(): void {
    this.#reaction.start()
    this.#follow()
  }

  /** After a failure the next attempt publishes what is served, but a refusal may concern that content alone. */
  #follow(): void {
    const failure = this.#failure
    const mayTry = failure === undefined || failure.problem.code === 'push-refused'
    if (mayTry && this.#parts.whyNot() === undefined) this.#reaction.trigger()
  }

  /** Publishes now, whatever failed before. */
  async publish(isDry: boolean, signal: AbortSignal): Promise<PublicationEnd> {
    const until = AbortSignal.any([signal, this.#reaction.signal])
    const end = await this.#reaction.inTurn(async () => this.#attempt({ isDry, isAsked: true }, until))
    until.throwIfAborted()
    if (end === undefined) throw new TypeError('A requested publication came to no end')
    return end
  }

  /** Ends the failure in the log. */
  recovered(): void {
    this.#parts.log.recovery(EVENT, '', undefined, this.name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction[Symbol.asyncDispose]()
  }

  /** `undefined` if there is nothing to do, or the attempt was aborted. */
  async #attempt(
    { isDry, isAsked }: { readonly isDry: boolean; readonly isAsked: boolean },
    signal: AbortSignal,
  ): Promise<PublicationEnd | undefined> {
    const { registry, marketplaces, whyNot } = this.#parts
    const { pack } = this.#publication
    let tree: string | undefined
    try {
      for (let round = 1; round <= MOST_ROUNDS; round += 1) {
        const why = whyNot()
        if (why !== undefined) throw new SyncError('store-failed', `Cannot publish: ${why}`)
        const { catalog } = registry
        const served = await marketplaces.serve({
          pack,
          packs: pack === undefined ? undefined : new Set([pack]),
          ring: undefined,
        })
        ;({ tree } = served.revision)
        if (!isAsked && this.#isDone(tree, catalog)) return undefined
        const published = await this.#publishTree(served, { isDry, catalog }, signal)
        if (published === undefined) continue
        if (!isDry) this.#succeeded(published, catalog)
        return this.#endOf(published, served)
      }
      throw new ContentUnavailableError('What is served changed all the time meanwhile')
    } catch (thrown) {
      const error = unwrapSuppressed(thrown)
      if (signal.aborted && isAbortError(error)) return undefined
      return this.#failed(this.#expected(error), { isDry, tree })
    } finally {
      const { clock } = this.#parts
      this.#reaction.runAfter(this.#failure && this.#failure.nextAttempt.getTime() - clock.now().getTime())
    }
  }

  /** The branch was read since the daemon started, and had this tree; or it refused just this tree. */
  #isDone(tree: string, catalog: Catalog): boolean {
    if (this.#failure !== undefined) return this.#failure.tree === tree
    if (this.#known?.tree !== tree) return false
    this.#current = catalog
    return true
  }

  async #publishTree(
    served: ServedMarketplace,
    { isDry, catalog }: { readonly isDry: boolean; readonly catalog: Catalog },
    signal: AbortSignal,
  ): Promise<Published | undefined> {
    const { store, clock, config, keyring, registry } = this.#parts
    const isCurrent = (): boolean => registry.catalog === catalog
    const { url, branch } = this.#publication
    const reached = this.#reached
    this.#expectOpen()
    await using scratch = await store.folder.scratch()
    const host = { scratch: scratch.path, limits: config.limits.fetch, way: keyring.wayTo(reached) }
    const target = { remote: new PushRemote(url, host), ref: `refs/heads/${branch}`, known: this.#known }
    try {
      const published = await publishTree(served, target, { clock, isDry, isCurrent, signal })
      await keyring.heard(reached, { kind: 'published' }, signal)
      return published
    } catch (error) {
      if (error instanceof SyncError) await keyring.heard(reached, { kind: 'failed', error }, signal)
      throw error
    }
  }

  /** A host that requested a pause, also of a source, is given it. */
  #expectOpen(): void {
    const { hosts } = this.#parts
    const leftMs = hosts.closedMs(this.#host)
    if (leftMs === 0) return
    const message = `Cannot publish: the host requested a pause, and ${Math.ceil(leftMs / 1000)} s of it are left`
    throw new SyncError('rate-limited', message, { retryAfterMs: leftMs })
  }

  get #host(): string {
    return new URL(this.#publication.url).host
  }

  #succeeded({ kind, at, parent }: Published, catalog: Catalog): void {
    const { log, clock, published } = this.#parts
    this.#known = at
    this.#current = catalog
    this.#failure = undefined
    this.#failures = 0
    this.recovered()
    if (kind !== 'pushed' || at === undefined) return
    this.#pushedAt = clock.now()
    published.add(this.name, 'pushed')
    log.info('published', { publication: this.name, commit: at.commit, parent, tree: at.tree })
  }

  #endOf({ kind, at, parent }: Published, { revision: { tree } }: ServedMarketplace): PublicationEnd {
    return {
      ...publicationKeys(this.#publication),
      kind,
      ...(at !== undefined && { commit: at.commit }),
      ...(parent !== undefined && { parent }),
      tree,
    }
  }

  #failed(
    error: SyncError,
    { isDry, tree }: { readonly isDry: boolean; readonly tree: string | undefined },
  ): PublicationEnd {
    const { log, clock, hosts, published, redactor, isKept } = this.#parts
    const { code, message, retryAfterMs } = error
    if (retryAfterMs !== undefined) hosts.close(this.#host, retryAfterMs)
    const isOnce = isDry || !isKept
    const fix = redactor.clean(publicationMend(error, !isOnce))
    // What is cut before it is cleaned may have the beginning of a secret.
    const said = printable(redactor.clean(message), MOST_SAID)
    const problem = { code, message: said, fix }
    const end = { ...publicationKeys(this.#publication), kind: 'failed', problem } as const
    if (isOnce) return end
    published.add(this.name, 'failed')
    log.failure('warn', EVENT, { source: '', publication: this.name, code, message: said }, said)
    const since = this.#failure?.problem.since ?? clock.now().toISOString()
    this.#retry({ ...problem, since }, tree)
    return end
  }

  /** The delay that the host asks for is bounded, whatever it sends. */
  #retry(problem: PublicationProblem, tree: string | undefined): void {
    const { clock, hosts } = this.#parts
    this.#failures += 1
    const pauseMs = isPassing(problem.code) ? backoffMs(BACKOFF, this.#failures) : BACKOFF.longestMs
    const ms = Math.max(pauseMs, hosts.closedMs(this.#host))
    this.#failure = { problem, tree, nextAttempt: new Date(clock.now().getTime() + ms) }
  }

  /** Turns what may fail into our error. */
  #expected(error: unknown): SyncError {
    if (error instanceof SyncError) return error
    if (!(error instanceof ContentUnavailableError)) throw error
    return new SyncError('store-failed', `Cannot publish: ${error.message}`, { cause: error })
  }
}

const EVENT = 'not-published'

/** The characters of a failure: a sentence of ours, and some of what the server says. */
const MOST_SAID = 500

/** A catalog that is replaced all the time must not keep this busy: it is tried again later. */
const MOST_ROUNDS = 4

interface Failure {
  readonly problem: PublicationProblem
  /** The tree that could not be published, if it was known. */
  readonly tree: string | undefined
  readonly nextAttempt: Date
}

/** Begins with the time that a restart of a host takes. */
const BACKOFF = { firstMs: 10_000, longestMs: 3_600_000 }
