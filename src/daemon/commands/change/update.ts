import { systemClock } from '../../../base/async/clock.ts'
import { changeGroups, skillChanges, skillStatesOf } from '../../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup, SkillStates } from '../../../sync/model/changes/skill-changes.ts'
import { UNDECIDED, identityOf, isAbout, isWanted } from '../../../sync/model/decisions/decisions.ts'
import { lockEntryOf } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockEntry } from '../../../sync/model/decisions/lock.ts'
import { isObjectId, type ObjectId } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isGoneAtHub } from '../../../sync/model/source.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError, isByChoice, isSyncErrorCode } from '../../../sync/model/sync-error.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import { changeLock, readLock } from '../../../sync/store/lock-file.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { withHubLook } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { pullOneSource } from '../../cli/pull-results.ts'
import { readCandidate, eachCounted, expectLockable, failureIn, withStoreAndWriter } from '../../cli/store-reader.ts'
import type { SourceFailure, SourceReader } from '../../cli/store-reader.ts'
import { configuredIn } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { isWaiting } from '../../pull/decide.ts'
import { fullCommit, heldAtCommit } from '../../pull/rollback.ts'
import { linesOfProofs } from '../../pull/trust/lock-proof.ts'
import { followedBy } from '../../pull/trust/lock-rules.ts'
import { expectNotRecalled } from '../../pull/trust/recalled-lock.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { lockUseText } from '../../status/lock-text.ts'
import type { SyncEnd } from '../../status/pull-result.ts'
import { commitNamed } from './commit-operand.ts'
import { decideRequest } from './decide-requests.ts'
import { changedLockOf, LOCK_OPTION, withLockOption } from './lock-option.ts'
import { linesOfPack, lockPacks } from './lock-packs.ts'
import { lockReview } from './lock-review.ts'
import type { ReviewedSource } from './lock-review.ts'
import { pullRequestText } from './pull-request-text.ts'
import { jsonOfUpdate, linesOfUpdate, statusOfUpdate } from './update-result.ts'
import type { LockUpdated, UpdateEnd } from './update-result.ts'

export const update: Command = {
  name: 'update',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  Missing entries are added, and then the sources are pulled. A source that fails keeps its entry. A revision that
  waits for approval stays waiting, unless --precise names it: that approves it. A source with update: review is
  locked only at approved commits, or at the one that --precise names.
`,
  examples: ['skillsyncd update', 'skillsyncd update team --precise 4f2c81d', 'skillsyncd update --pr > body.md'],
  options: {
    precise: {
      type: 'string',
      value: 'COMMIT',
      help: 'the commit to lock, with exactly one SOURCE; the first digits are enough for a stored commit',
    },
    lock: LOCK_OPTION,
    pr: { type: 'boolean', help: 'print the text of a pull request with the new lock, as Markdown' },
  },
  async run(context) {
    const config = await withHubLook(context, withLockOption(context, await configFor(context)))
    const file = changedLockOf(config)
    const ids = [...new Set(sourcesNamed(context.operands, config))]
    const precise = preciseOf(context)
    // An unreadable lock is reported before anything is fetched.
    await readLock(file)
    const isForReview = context.values['pr'] === true
    const done = await updateLock(context, config, { file, ids, precise, isForReview })
    const text = done.review && context.redactor.clean(pullRequestText(done.review))
    if (context.json)
      printJson(context, {
        ...jsonOfUpdate(file, config, done),
        ...(done.proofs.length > 0 && { proofs: done.proofs }),
        ...(text !== undefined && { pullRequest: text }),
      })
    else if (text !== undefined) context.streams.stdout.write(text)
    else {
      const wrote = `${file} is ${done.isWritten ? 'written' : 'as it was'}: ${lockUseText(config)}`
      printLines(context, [
        ...done.ends.flatMap(linesOfUpdate),
        ...done.packs.flatMap(linesOfPack),
        ...linesOfProofs(done.proofs),
        wrote,
      ])
    }
    return done.packs.some(({ why }) => why !== undefined) ? 1 : statusOfUpdate(done.ends)
  },
}

function preciseOf({ values, operands }: Context): string | undefined {
  const { precise } = values
  if (typeof precise !== 'string') return undefined
  if (operands.length !== 1) throw new UsageError('--precise wants exactly one source beside it')
  return commitNamed(precise)
}

/** The full id of the commit that the operator names. The first digits are enough for a commit that is stored. */
async function preciseCommit({ ids, precise }: LockUpdate, { store }: SourceReader): Promise<ObjectId | undefined> {
  const [id] = ids
  if (precise === undefined || isObjectId(precise)) return precise
  if (id === undefined) throw new TypeError('A commit is named with exactly one source')
  return (await heldAtCommit(store, id, precise))?.snapshot.revision.commit ?? fullCommit(id, precise)
}

/** The changes from the locked skills to those of a snapshot. Of the withheld ones, those that were locked are news. */
function changesOf(locked: SkillStates, snapshot: Snapshot): readonly ChangeGroup[] {
  const now = [...skillStatesOf(snapshot)].filter(([path, { digest }]) => digest !== undefined || locked.has(path))
  return changeGroups(skillChanges(locked, new Map(now)))
}

interface LockUpdate {
  readonly file: string
  readonly ids: readonly SourceId[]
  /** The commit to lock, if the operator names it. */
  readonly precise: string | undefined
  /** True if the changes are collected for a reviewer. */
  readonly isForReview: boolean
}

async function updateLock(context: Context, config: ServedConfig, update: LockUpdate): Promise<LockUpdated> {
  const { file, ids, isForReview } = update
  const former = isForReview ? await readLock(file) : undefined
  return withStoreAndWriter(context, config, async (looking) => {
    const precise = await preciseCommit(update, looking)
    const sources = ids.map((id) => configuredIn(config, id))
    const looks = await eachCounted(context, sources, 'checked', ({ source }) => lookAt(source, looking, precise))
    const { isWritten, moves } = await writeLock(file, looks, context.signal)
    // A source that must follow the lock takes no entry whose proof is of another.
    const proofs = await context.features.writeLockProofs(config, file, looking.ask)
    const ends = await eachCounted(context, looks, 'pulled', async (look): Promise<UpdateEnd> => {
      const { id } = look.source
      const move = moves.get(id)
      if ('failure' in look) return { id, failure: look.failure }
      if (move === undefined) throw new TypeError('A source that was looked at has no entry')
      const { before, after } = move
      const isNamed = precise !== undefined
      const end = isNamed
        ? await servedAsNamed(look.source, after, looking.ask, config)
        : await pullOne(id, looking.ask)
      const changes = changesOf(before?.skills ?? new Map(), look.snapshot)
      return { id, before, after, changes, sync: await besideUpstream(end, looking.ask) }
    })
    const looked = looks.flatMap((look) => ('snapshot' in look ? [look.snapshot] : []))
    // If no source could be checked, no empty lock is created either.
    const packs = looked.length === 0 ? { isWritten, ends: [] } : await lockPacks(config, file, looked, context.signal)
    const done = { isWritten: isWritten || packs.isWritten, ends, packs: packs.ends, proofs }
    if (!isForReview) return done
    const locks = { before: former?.packs ?? new Map(), after: (await readLock(file))?.packs ?? new Map() }
    return { ...done, review: await lockReview(reviewedIn(ends, looked), { ...locks, ends: packs.ends }, looking) }
  })
}

function reviewedIn(ends: readonly UpdateEnd[], looked: readonly Snapshot[]): ReviewedSource[] {
  return ends.map((end) => {
    if ('failure' in end) return end
    const snapshot = looked.find(({ source }) => source === end.id)
    if (snapshot === undefined) throw new TypeError('A source with an entry has a snapshot')
    return { id: end.id, before: end.before, after: end.after, snapshot }
  })
}

type Look =
  | { readonly source: Source; readonly snapshot: Snapshot }
  | { readonly source: Source; readonly failure: SourceFailure }

async function lookAt(source: Source, looking: SourceReader, precise: ObjectId | undefined): Promise<Look> {
  try {
    expectAtHub(source)
    const snapshot = await readCandidate(looking, source.id, precise)
    expectLockable(source, snapshot)
    await expectNotRecalled(snapshot, looking.store)
    if (source.update === 'review' && precise === undefined) await expectSeen(source, snapshot, looking)
    return { source, snapshot }
  } catch (error) {
    return { source, failure: failureIn(error) }
  }
}

/** Throws for a source that the hub has no more: its entry would become one without skills. */
function expectAtHub(source: Source): void {
  if (!isGoneAtHub(source)) return
  const message = `Cannot lock "${source.id}": the hub has it no more; skillsyncd lock --prune removes its entry`
  throw new SyncError('ref-not-found', message)
}

/**
 * Throws for a commit that no operator has seen. A lock allows a commit to be served, so such a commit must not get
 * into it as a side effect.
 */
async function expectSeen({ id }: Source, { revision }: Snapshot, { store }: SourceReader): Promise<void> {
  const held = (await store.generations.current())?.sources.find(({ source }) => source === id)
  const served = held && (await store.snapshots.readWhole(held.snapshot))?.revision
  if (served !== undefined && isAbout(identityOf(served), revision)) return
  if (isWanted((await store.decisions.read()).get(id) ?? UNDECIDED, revision)) return
  const message = `Cannot lock "${id}" at ${revisionText(revision)}: its source has \`update: review\`, so only a commit that you name is locked: skillsyncd update ${id} --precise ${revision.commit}`
  throw new SyncError('awaiting-approval', message)
}

interface Move {
  readonly before: LockEntry | undefined
  readonly after: LockEntry
}

/** Changes the lock as it is when this process gets its turn: other processes may have written it since it was read. */
async function writeLock(
  file: string,
  looks: readonly Look[],
  signal: AbortSignal,
): Promise<{ readonly isWritten: boolean; readonly moves: ReadonlyMap<SourceId, Move> }> {
  const moves = new Map<SourceId, Move>()
  // If there is nothing to write, no empty lock is created either.
  if (looks.every((look) => 'failure' in look)) return { isWritten: false, moves }
  const change = (lock: Lock): Lock => {
    const sources = new Map(lock.sources)
    for (const look of looks) {
      if ('failure' in look) continue
      const { source, snapshot } = look
      const before = lock.sources.get(source.id)
      const after = lockEntryOf(source, snapshot, before)
      moves.set(source.id, { before, after })
      sources.set(source.id, after)
    }
    return { ...lock, sources }
  }
  const isWritten = await changeLock(file, change, () => systemClock.now().getTime(), signal)
  return { isWritten, moves }
}

/** Pulls the source to the named commit. If exactly that commit waits for approval, naming it counts as approval. */
async function servedAsNamed(
  source: Source,
  locked: LockEntry,
  ask: AskWriter,
  config: ServedConfig,
): Promise<SyncEnd> {
  const { id } = source
  const first = await pullOne(id, ask)
  // The first pull only repaired what was served before.
  const end = first.outcome === 'updated' && isForPerson(first) ? await pullOne(id, ask) : first
  const { commit } = locked.revision
  if (followedBy(config, source) !== undefined || end.commit !== commit || !waitsForYes(end)) return end
  try {
    await ask(decideRequest, { source: id, verb: 'approve', commit })
  } catch (error) {
    // Another decision was made meanwhile: the next pull reports its result.
    if (!(error instanceof OperatorError) || error.code !== 'nothing-to-decide') throw error
  }
  return pullOne(id, ask)
}

/** A pull from the store says nothing about upstream, so this pulls again to complete the status. */
async function besideUpstream(end: SyncEnd, ask: AskWriter): Promise<SyncEnd> {
  if (end.outcome !== 'updated' || end.upstream !== undefined) return end
  const { upstream } = await pullOne(end.source, ask)
  return { ...end, ...(upstream !== undefined && { upstream }) }
}

/** A revision that was rejected on purpose is not approved as a side effect. */
function waitsForYes(end: SyncEnd): boolean {
  return end.outcome === 'waiting' && isForPerson(end)
}

function isForPerson({ problem }: SyncEnd): boolean {
  const code = problem?.code
  return code !== undefined && isSyncErrorCode(code) && isWaiting(code) && !isByChoice(code)
}

async function pullOne(id: string, ask: AskWriter): Promise<SyncEnd> {
  const end = await pullOneSource(id, ask)
  if (end === undefined)
    throw new OperatorError('bad-answer', `The daemon does not report the result of the pull of "${id}"`)
  return end
}
