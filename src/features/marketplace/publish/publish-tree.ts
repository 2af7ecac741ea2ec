import type { Clock } from '../../../base/async/clock.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { historyCommit } from '../../../sync/upstream/objects/synthetic-commit.ts'
import type { PushRemote } from '../git/push-remote.ts'
import type { PushEnd, Receiver } from '../git/receive-pack.ts'
import { packEntry } from '../marketplace-packfile.ts'
import type { ServedMarketplace } from '../marketplaces.ts'

/** The branch that is published to, and what is known of it. */
export interface PublishedBranch {
  readonly remote: Pick<PushRemote, 'receiver' | 'treeOf' | 'push'>
  /** A full name: `refs/heads/main`. */
  readonly ref: string
  /** The commit that was last seen there, which need not be fetched again. */
  readonly known: KnownCommit | undefined
}

/** A commit of the branch, with its tree. */
export interface KnownCommit {
  readonly commit: ObjectId
  readonly tree: ObjectId
  /** The ids of the objects of the tree, if this process has pushed it: they need not be sent again. */
  readonly objects?: ReadonlySet<string>
}

/** The end of a publication: the commit that the branch is at now, and the one before if it was pushed. */
export interface Published {
  readonly kind: 'pushed' | 'unchanged' | 'would-push'
  /** `undefined` if nothing is pushed and the branch is not there. */
  readonly at: KnownCommit | undefined
  readonly parent: ObjectId | undefined
}

/** The circumstances of a publication. */
export interface PublishOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly isDry: boolean
  /** False once something else is served: what was withdrawn meanwhile would stay in the history of the branch. */
  readonly isCurrent: () => boolean
  readonly signal: AbortSignal
}

/**
 * Appends a commit with the tree of the marketplace to the branch, if the tree differs from that of its tip. The branch
 * is never forced: one that moves on meanwhile is read again. Pushes nothing and returns `undefined` if something else is
 * served by then.
 */
export async function publishTree(
  served: ServedMarketplace,
  { remote, ref, known }: PublishedBranch,
  { clock, isDry, isCurrent, signal }: PublishOptions,
): Promise<Published | undefined> {
  const { tree } = served.revision
  let refused: { readonly tip: ObjectId | undefined; readonly why: string } | undefined
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
    const receiver = await remote.receiver(ref, signal)
    const { tip } = receiver
    const at = tip === undefined ? undefined : await commitAt(tip, known, () => remote.treeOf(tip, signal))
    if (at?.tree === tree) return { kind: 'unchanged', at, parent: undefined }
    // A branch that is where it was has not moved on: the server meant what it said.
    if (refused !== undefined && refused.tip === tip) throw refusal(refused.why)
    if (isDry) return { kind: 'would-push', at, parent: tip }
    const pushing = { receiver, ref, at, served, made: clock.now(), isCurrent }
    const pushed = await pushOn(remote, pushing, signal)
    if (pushed === undefined) return undefined
    const { commit, end } = pushed
    if (end.kind === 'taken') {
      const objects = new Set(served.revision.objects.keys())
      return { kind: 'pushed', at: { commit, tree, objects }, parent: tip }
    }
    refused = { tip, why: end.why }
  }
  throw new SyncError('source-unreachable', `Cannot publish: the branch moved on ${MOST_ATTEMPTS} times meanwhile`, {
    fix: 'Publish again; something else pushes to this branch',
  })
}

/** Another program that pushes all the time must not keep this one busy: it is tried again later. */
const MOST_ATTEMPTS = 4

async function commitAt(
  tip: ObjectId,
  known: KnownCommit | undefined,
  fetch: () => Promise<ObjectId>,
): Promise<KnownCommit> {
  return known?.commit === tip ? known : { commit: tip, tree: await fetch() }
}

interface Pushing {
  readonly receiver: Receiver
  readonly ref: string
  readonly at: KnownCommit | undefined
  readonly served: ServedMarketplace
  readonly made: Date
  readonly isCurrent: () => boolean
}

async function pushOn(
  remote: PublishedBranch['remote'],
  { receiver, ref, at, served, made, isCurrent }: Pushing,
  signal: AbortSignal,
): Promise<{ readonly commit: ObjectId; readonly end: PushEnd } | undefined> {
  const { tip, tree, message, objects } = served.revision
  const { id, bytes } = historyCommit(tree, at?.commit, { message, at: made })
  const added = [await packEntry('commit', bytes)]
  const sent = [...objects.keys()].filter((object) => object !== tip && at?.objects?.has(object) !== true)
  await using open = await served.open()
  const { packfile } = open
  const pack = {
    byteLength: packfile.bytesOf(sent, added),
    pieces: () => copied(packfile.only(sent, Buffer.allocUnsafe(PIECE_BYTES), added)),
  }
  if (!isCurrent()) return undefined
  return { commit: id, end: await remote.push(receiver, { branch: ref, to: id, pack }, signal) }
}

const PIECE_BYTES = 2 ** 16

/** The client of HTTP may read ahead, and the pieces share one buffer. */
async function* copied(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece)
}

function refusal(why: string): SyncError {
  return new SyncError('push-refused', `Cannot publish: the server refuses the push: ${why}`)
}
