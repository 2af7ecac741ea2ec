import { systemClock } from '../../../base/async/clock.ts'
import { countOf } from '../../../base/text/plural.ts'
import { lockEntryOf } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isGoneAtHub } from '../../../sync/model/source.ts'
import type { Source } from '../../../sync/model/source.ts'
import { changeLock, readLock } from '../../../sync/store/lock-file.ts'
import { recordAt } from '../../../sync/store/source-records.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { withHubLook, withWriter } from '../../cli/daemon-client.ts'
import { pullOneSource } from '../../cli/pull-results.ts'
import { readCandidate, eachCounted, expectLockable, failureIn, withStoreAndWriter } from '../../cli/store-reader.ts'
import type { SourceFailure, SourceReader } from '../../cli/store-reader.ts'
import { configuredIn } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { heldAtCommit } from '../../pull/rollback.ts'
import { linesOfProofs } from '../../pull/trust/lock-proof.ts'
import type { ProofEnd } from '../../pull/trust/lock-proof.ts'
import { followsLock } from '../../pull/trust/lock-rules.ts'
import { expectNotRecalled } from '../../pull/trust/recalled-lock.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { lockUseText } from '../../status/lock-text.ts'
import { changedLockOf, LOCK_OPTION, withLockOption } from './lock-option.ts'
import { linesOfPack, lockPacks } from './lock-packs.ts'
import type { PackEnd } from './lock-packs.ts'

export const lock: Command = {
  name: 'lock',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  The lock is skills.lock beside the configuration, for your repository. From then on the locked commits are served,
  unless the configuration says lock: ignore. Existing entries stay; skillsyncd update moves them. Of a source that
  follows a channel, skills.lock.SOURCE.tlog-proof beside it proves that the log of the channel has the locked entry.
`,
  examples: ['skillsyncd lock', 'skillsyncd lock --prune'],
  options: {
    lock: LOCK_OPTION,
    prune: {
      type: 'boolean',
      help: 'remove entries of sources that are no longer configured, or that a followed hub has no more',
    },
  },
  async run(context) {
    const config = await withHubLook(context, withLockOption(context, await configFor(context)))
    const file = changedLockOf(config)
    const before = await readLock(file)
    const missing = [...new Set(sourcesNamed(context.operands, config))].filter(
      (id) => before?.sources.has(id) !== true,
    )
    const ends = missing.length === 0 ? [] : await entriesFor(missing, context, config)
    const added = ends.flatMap(({ id, entry }) => (entry === undefined ? [] : [[id, entry] as const]))
    // If nothing can be locked, no empty lock is created either.
    const isKept = before === undefined && missing.length > 0 && added.length === 0
    const isWritten = !isKept && (await write(file, (now) => mergeEntries(now, added, config, context), context))
    const looked = ends.flatMap(({ snapshot }) => snapshot ?? [])
    const packs = isKept ? { isWritten, ends: [] } : await lockPacks(config, file, looked, context.signal)
    const proofs = await context.features.writeLockProofs(config, file, async (...asked) =>
      withWriter(context, config, async (ask) => ask(...asked)),
    )
    if (context.values['lock'] === undefined) await follow(ends, context, config)
    print(context, config, file, { isKept, isWritten: isWritten || packs.isWritten, ends, packs: packs.ends, proofs })
    return ends.some(({ entry }) => entry === undefined) || packs.ends.some(({ why }) => why !== undefined) ? 1 : 0
  },
}

interface End {
  readonly id: SourceId
  readonly entry: LockEntry | undefined
  readonly snapshot?: Snapshot
  /** The reason why it is not locked. */
  readonly problem?: SourceFailure
}

interface Done {
  /** True if there was no lock, and there still is none. */
  readonly isKept: boolean
  readonly isWritten: boolean
  readonly ends: readonly End[]
  readonly packs: readonly PackEnd[]
  readonly proofs: readonly ProofEnd[]
}

/** Locks what is served after a pull: locking must not approve a revision that waits for a decision. */
async function entriesFor(ids: readonly SourceId[], context: Context, config: ServedConfig): Promise<End[]> {
  const sources = ids.map((id) => configuredIn(config, id))
  return withStoreAndWriter(context, config, (looking) =>
    eachCounted(context, sources, 'checked', ({ source }) => entryFor(source, looking)),
  )
}

async function entryFor(source: Source, looking: SourceReader): Promise<End> {
  const { id } = source
  try {
    const { locked } = recordAt(await looking.store.records.read(id), source)
    const snapshot = await snapshotToLock(source, locked, looking)
    if ('code' in snapshot) return { id, entry: undefined, problem: snapshot }
    expectLockable(source, snapshot)
    await expectNotRecalled(snapshot, looking.store)
    return { id, entry: lockEntryOf(source, snapshot), snapshot }
  } catch (error) {
    return { id, entry: undefined, problem: failureIn(error) }
  }
}

/** `locked`: the commit that a lock had of the source, which lost it. Nothing newer is locked than that, or what is served. */
async function snapshotToLock(
  source: Source,
  locked: ObjectId | undefined,
  looking: SourceReader,
): Promise<Snapshot | SourceFailure> {
  const { id } = source
  const { ask, store } = looking
  // A source that follows the lock serves nothing before it is locked.
  if (locked === undefined && source.update === 'locked') return readCandidate(looking, id)
  const end = locked === undefined ? await pullOneSource(id, ask) : undefined
  const held = (await store.generations.current())?.sources.find((candidate) => candidate.source === id)
  const { problem = { code: 'nothing-served', message: 'nothing of it is served' } } = end ?? {}
  if (end?.outcome === 'failed') return problem
  const kept = held ?? (locked && (await heldAtCommit(store, id, locked)))
  if (kept === undefined) return locked === undefined ? problem : readCandidate(looking, id, locked)
  const snapshot = 'held' in kept ? kept.snapshot : await store.snapshots.read(kept.snapshot)
  // The content can be from another address than the configuration names now.
  if (snapshot.url === source.url) return snapshot
  const why = end?.problem?.message ?? `skillsyncd update ${id} locks what ${source.url} has`
  return { ...problem, message: `what ${held ? 'is served' : 'was locked'} is of ${snapshot.url}; ${why}` }
}

/** Has the locked sources follow the lock at once: from then on, no loss of the lock lets them move. */
async function follow(ends: readonly End[], context: Context, config: ServedConfig): Promise<void> {
  const locked = ends.filter(
    ({ id, entry }) => entry !== undefined && followsLock(config, configuredIn(config, id).source),
  )
  if (locked.length > 0)
    await withWriter(context, config, (ask) => Promise.all(locked.map(({ id }) => pullOneSource(id, ask))))
}

async function write(file: string, change: (now: Lock) => Lock, { signal }: Context): Promise<boolean> {
  return changeLock(file, change, () => systemClock.now().getTime(), signal)
}

/** Another process may have written the lock meanwhile: existing entries stay. */
function mergeEntries(
  now: Lock,
  added: readonly (readonly [SourceId, LockEntry])[],
  config: ServedConfig,
  { values }: Context,
): Lock {
  const sources = new Map([...added, ...now.sources])
  const known = new Set<SourceId>(config.sources.flatMap(({ source }) => (isGoneAtHub(source) ? [] : [source.id])))
  if (values['prune'] === true) for (const id of sources.keys()) if (!known.has(id)) sources.delete(id)
  return { ...now, sources }
}

function print(
  context: Context,
  config: ServedConfig,
  file: string,
  { isKept, isWritten, ends, packs, proofs }: Done,
): void {
  if (context.json) {
    const sources = ends.map(({ id, entry, problem }) => ({
      source: id,
      ...(entry === undefined
        ? { problem }
        : { commit: entry.revision.commit, ref: entry.revision.ref, skills: entry.skills.size }),
    }))
    const use = config.lockUse
    printJson(context, {
      lock: file,
      use,
      written: isWritten,
      sources,
      ...(packs.length > 0 && { packs }),
      ...(proofs.length > 0 && { proofs }),
    })
    return
  }
  const lines = ends.map(({ id, entry, problem }) =>
    entry === undefined
      ? `${id}: not locked: ${printableLine(problem?.message ?? '')}`
      : `${id}: locked ${printableLine(entry.revision.ref)} at ${entry.revision.commit}, ${countOf(entry.skills.size, 'skill')}`,
  )
  printLines(context, [
    ...lines,
    ...packs.flatMap(linesOfPack),
    ...linesOfProofs(proofs),
    isKept
      ? `${file} was not written`
      : `${isWritten ? `wrote ${file}` : `${file} is as it was`}: ${lockUseText(config)}`,
  ])
}
