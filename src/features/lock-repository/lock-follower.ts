import { ignoreAbort, isAbortError } from '../../base/async/abort-error.ts'
import type { Keyring } from '../../daemon/access/keyring.ts'
import type { LockOrigin } from '../../daemon/config/config.ts'
import { cleanProblem, newPullContext } from '../../daemon/pull/pull-context.ts'
import type { ReachingParts } from '../../daemon/pull/pull-context.ts'
import { hostOf } from '../../daemon/pull/schedule/host-backoff.ts'
import type { HostBackoff } from '../../daemon/pull/schedule/host-backoff.ts'
import { throttleUpstream } from '../../daemon/pull/schedule/throttled-upstream.ts'
import type { KnownLock } from '../../daemon/pull/trust/known-lock.ts'
import { nextMs } from '../../daemon/runtime/cron-time.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { Revision } from '../../sync/model/revision.ts'
import { isAway } from '../../sync/model/source.ts'
import { SyncError, unlessSyncError, unwrapSuppressed } from '../../sync/model/sync-error.ts'
import type { Tree, TreeEntry } from '../../sync/model/tree.ts'
import { lookPast } from '../../sync/pull/lagging-replica.ts'
import type { PullContext } from '../../sync/pull/pull-context.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { readFollowedLock, writeFollowedLock, writeLockOrigin } from '../../sync/store/followed-lock.ts'
import type { FollowedLock, LockProblem, TakenLock } from '../../sync/store/followed-lock.ts'
import { readLockText } from '../../sync/store/lock-text.ts'
import type { TreeUpstream } from '../../sync/upstream/upstream.ts'

export interface LockFollowerParts extends ReachingParts {
  readonly keyring: Keyring
  readonly hosts: HostBackoff
  readonly lock: Pick<KnownLock, 'read'>
  /** Called when another lock is in force: it moves the sources. */
  readonly onMoved: () => void
}

/**
 * Follows the lock in a git repository. The lock of a commit replaces the one in force if the commit continues that one,
 * has the signatures that the configuration requires, and has a readable lock. Otherwise the one in force stays. In a hub
 * of several processes, the one that leads follows it for all.
 */
export class LockFollower implements AsyncDisposable {
  readonly #parts: LockFollowerParts
  readonly #reaction: Reaction
  #known: FollowedLock = {}

  constructor(parts: LockFollowerParts) {
    this.#parts = parts
    const { clock, config } = parts
    this.#reaction = new Reaction({
      clock,
      run: async (signal) => config.lockFrom && this.#check(config.lockFrom, signal),
      againMs: () => {
        const nowMs = clock.now().getTime()
        return config.lockFrom && nextMs(config.lockFrom.repository.source.schedule, nowMs) - nowMs
      },
    })
  }

  /** The lock in force, as this process knows it. */
  get known(): FollowedLock {
    return this.#known
  }

  /** Checks the repository now, and again at each interval. */
  start(): void {
    if (this.#parts.config.lockFrom !== undefined) this.#reaction.start(0)
  }

  /** Checks the repository soon, because its host reported a change. */
  nudge(): void {
    const { config, replica } = this.#parts
    if (config.lockFrom === undefined) return
    // It rejects only with an error that must end the process.
    if (replica?.isLeading === false)
      void replica.pull(config.lockFrom.repository.source.id, 'webhook').catch(ignoreAbort)
    else this.#reaction.trigger()
  }

  /** Checks the repository now. A failure is reported, and leaves the lock in force. */
  async look(signal: AbortSignal): Promise<void> {
    const { lockFrom } = this.#parts.config
    if (lockFrom === undefined) return
    const until = AbortSignal.any([signal, this.#reaction.signal])
    await this.#reaction.inTurn(async () => this.#check(lockFrom, until), until)
  }

  /** Reads what was written last, here or by another process of the hub. */
  async refresh(): Promise<void> {
    const { config, lock } = this.#parts
    if (config.lockFrom === undefined) return
    try {
      this.#known = await readFollowedLock(config.state)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#known = { problem: this.#problemOf(error, undefined) }
    }
    await lock.read()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction[Symbol.asyncDispose]()
  }

  async #check(origin: LockOrigin, signal: AbortSignal): Promise<void> {
    const { config, log, store } = this.#parts
    const { id } = origin.repository.source
    let before = this.#known
    try {
      before = await readFollowedLock(config.state)
      const next = await this.#newer(origin, before.taken, signal)
      signal.throwIfAborted()
      if (next !== undefined) {
        const { text, ...taken } = next
        await writeFollowedLock(store.folder, text, taken)
        log.info('lock-moved', { source: id, commit: taken.commit, from: before.taken?.commit })
      } else if (before.problem !== undefined) await writeLockOrigin(store.folder, withoutProblem(before))
      log.recovery(EVENT, id)
      await this.refresh()
      if (next !== undefined) this.#parts.onMoved()
    } catch (thrown) {
      const error = unwrapSuppressed(thrown)
      if (isAbortError(error) && signal.aborted) return
      if (!(error instanceof SyncError)) throw error
      await this.#failed(origin, before, error)
    }
  }

  /** The lock of a newer commit; `undefined` if the one in force is that of the newest. */
  async #newer(
    origin: LockOrigin,
    taken: TakenLock | undefined,
    signal: AbortSignal,
  ): Promise<(TakenLock & { readonly text: string }) | undefined> {
    const { store, keyring, clock, config } = this.#parts
    const { repository, path } = origin
    const { source } = repository
    if (config.mode.offline && isAway(source)) return undefined
    const context = newPullContext(repository, this.#parts, keyring)
    await using workspace = await store.workspace(signal)
    try {
      const upstream = this.#upstreamOf(origin, context, workspace)
      const key = keyOf(origin)
      const seen = await upstream.resolve(signal)
      const looking = { current: undefined, upstream, signal, ...(context.wait && { wait: context.wait }) }
      const revision = taken?.origin === key ? await lookPast(seen, taken.commit, looking) : seen
      const isSame = taken?.origin === key && taken.commit === revision.commit
      if (!isSame)
        await expectContinued(origin, taken?.origin === key ? taken : undefined, { upstream, revision, signal })
      const next = isSame ? undefined : await lockTextAt({ upstream, revision, path, prove: context.prove }, signal)
      await keyring.heard(repository, { kind: 'taken' }, signal)
      if (next === undefined) return undefined
      const at = clock.now().toISOString()
      return { text: next, origin: key, commit: revision.commit, ref: revision.ref, at }
    } catch (error) {
      await keyring.heard(repository, { kind: 'failed', error }, signal)
      throw error
    }
  }

  #upstreamOf(
    { repository }: LockOrigin,
    { open }: PullContext,
    workspace: Parameters<PullContext['open']>[1],
  ): TreeUpstream {
    const { hosts } = this.#parts
    const { source } = repository
    const throttle = { source: source.id, host: hostOf(source), hosts, fetching: async () => {} }
    const upstream = throttleUpstream(open(source, workspace), throttle)
    if (upstream.kind !== 'tree') throw new TypeError('A lock is followed in a git repository')
    return upstream
  }

  async #failed({ repository }: LockOrigin, before: FollowedLock, error: SyncError): Promise<void> {
    const { log, store } = this.#parts
    const problem = this.#problemOf(error, before.problem)
    const { code, message } = problem
    log.failure('error', EVENT, { source: repository.source.id, code, message })
    this.#known = { ...withoutProblem(before), problem }
    // For the other processes, and for a status without this one. A disk that takes no writes keeps it from them.
    const isKnown = before.problem?.code === code && before.problem.message === message
    if (!isKnown) await writeLockOrigin(store.folder, this.#known).catch(unlessSyncError)
  }

  #problemOf(error: SyncError, before: LockProblem | undefined): LockProblem {
    const { clock, redactor } = this.#parts
    const since = before?.code === error.code ? before.since : clock.now().toISOString()
    return { ...cleanProblem(error, redactor), since }
  }
}

interface Candidate {
  readonly upstream: TreeUpstream
  readonly revision: Revision
  readonly signal: AbortSignal
}

/** Throws if the commit does not continue the one in force. Without that, an older lock could return unseen. */
async function expectContinued(
  { repository, accepted }: LockOrigin,
  taken: TakenLock | undefined,
  { upstream, revision, signal }: Candidate,
): Promise<void> {
  if (taken === undefined || accepted === revision.commit) return
  const relation = await upstream.relation(taken.commit, revision.commit, signal)
  if (relation === 'descends') return
  const moved = `${revision.ref} of ${repository.source.url} moved from ${taken.commit} to ${revision.commit}`
  if (relation === 'unknown')
    throw new SyncError('source-unreachable', `Cannot follow the lock: ${moved}, and cannot be compared with it now`)
  throw new SyncError('history-rewritten', `Cannot follow the lock: ${moved}, which does not lead to it`)
}

/** Equal for the same file of the same branch, at the same address. */
function keyOf({ repository: { source }, path }: LockOrigin): string {
  return JSON.stringify([source.url, source.ref ?? null, path])
}

function withoutProblem({ taken }: FollowedLock): FollowedLock {
  return taken === undefined ? {} : { taken }
}

const EVENT = 'lock-not-taken'

/** The place of a lock in a repository, and the check of the signatures that it needs. */
interface LockPlace {
  readonly upstream: TreeUpstream
  readonly revision: Revision
  /** The path of the file from the root of the repository. */
  readonly path: string
  readonly prove: PullContext['prove']
}

/**
 * Fetches the text of the lock in a commit: signed as required, and readable as a lock. Nothing else of the repository
 * is fetched but its trees.
 */
export async function lockTextAt({ upstream, revision, path, prove }: LockPlace, signal: AbortSignal): Promise<string> {
  await using tree = await upstream.fetch(revision, { byPath: new Map(), within: [path] }, signal)
  await prove?.(tree.proof, tree.revision, 'first')
  const entry = entryAt(tree, path)
  const place = `"${path}" in commit ${revision.commit}`
  if (entry === undefined) throw new SyncError('lock-mismatch', `Cannot follow the lock: there is no ${place}`)
  if (entry.kind !== 'file' && entry.kind !== 'executable')
    throw new SyncError('lock-mismatch', `Cannot follow the lock: ${place} is not a plain file`)
  const blob = (await tree.take([entry.id], signal)).get(entry.id)
  if (blob?.kind === 'refused' && blob.reason === 'too-large')
    throw new SyncError('limit-exceeded', `Cannot follow the lock: ${place} is over limits.skill.bytes`, {
      place: 'limits.skill.bytes',
    })
  if (blob?.kind !== 'blob')
    throw new SyncError('source-unreachable', `Cannot follow the lock: the repository did not send ${place}`)
  const text = utf8(tree.bytesOf(blob))
  if (text === undefined) throw new SyncError('lock-mismatch', `Cannot follow the lock: ${place} is not valid UTF-8`)
  readLockText(text, `${path} in commit ${revision.commit}`)
  return text
}

function entryAt(tree: Tree, path: string): TreeEntry | undefined {
  const names = path.split('/')
  let folder = tree.root
  let found: TreeEntry | undefined
  for (const name of names) {
    if (found !== undefined) {
      if (found.kind !== 'folder') return undefined
      folder = found.id
    }
    found = tree.list(folder).find((entry) => entry.name === name)
    if (found === undefined) return undefined
  }
  return found
}
