import { packMismatches } from '../../../sync/catalog/pack.ts'
import { UNDECIDED, type SourceDecision } from '../../../sync/model/decisions/decisions.ts'
import { isOfSameRef, mismatchesOf, mismatchesWith } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockEntry, Mismatch } from '../../../sync/model/decisions/lock.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import type { SourceRecord } from '../../../sync/store/source-records.ts'
import type { Config } from '../../config/config.ts'
import { expectProof } from './lock-proof.ts'

/**
 * The error if the lock lacks what it must have. An unreadable lock is a plain `SyncError`: it may be in the middle of
 * a merge, and the served content was in it when it was last read.
 */
export class NotLockedError extends SyncError {
  constructor(message: string) {
    super('lock-mismatch', message)
  }
}

/** The result of reading the lock: `undefined` if there is no file, the error if it cannot be read. */
export type LockRead = Lock | SyncError | undefined

/**
 * The setting that requires a source to follow the lock. `undefined` if the lock is followed only for sources that it
 * contains.
 */
export type FollowedBy = '--locked' | 'update: locked'

/** The relation of a source to the lock, as plain data. */
export interface LockStanding {
  /**
   * `followed`: only the locked content is served. `other-rules`: the locked commit is served, with the skills that the
   * configuration selects. `differs`: the lock has another url or ref of the source, or other rules although it must be
   * followed. `absent`: it has no entry for the source. `missing`: there is no lock. `lost`: either, and the source followed a
   * lock before. `unreadable`: it cannot be read.
   * `ignored`: the configuration ignores it. `overruled`: the source is held.
   */
  readonly state:
    | 'followed'
    | 'other-rules'
    | 'differs'
    | 'absent'
    | 'missing'
    | 'lost'
    | 'unreadable'
    | 'ignored'
    | 'overruled'
  /** The setting that requires the lock, if any: without its entry nothing is served. */
  readonly by?: FollowedBy
  /** The locked commit, followed or not; of a lost lock the last one. */
  readonly commit?: string
}

/**
 * The decision that matters in addition to the lock. An operator that holds a source on this machine overrules a lock
 * that no setting requires.
 */
export type Holding = Pick<SourceDecision, 'hold'>

/** The record of the source, as far as it matters: a lock that lost its entry lets nothing move. */
export type LockRecord = Pick<SourceRecord, 'locked'>

export function followedBy({ mode }: Config, source: Source): FollowedBy | undefined {
  if (mode.locked) return '--locked'
  return source.update === 'locked' ? 'update: locked' : undefined
}

/** True if an entry of the lock would determine what is served of a source. */
export function followsLock(config: Config, source: Source, { hold }: Holding = UNDECIDED): boolean {
  if (followedBy(config, source) !== undefined) return true
  return config.lock !== undefined && config.lockUse === 'follow' && hold === undefined
}

/** True if the lock determines, or may determine, what is served of the source. */
export function mustFollowLock({ state, by }: LockStanding): boolean {
  return by !== undefined || (state !== 'absent' && state !== 'missing' && state !== 'ignored' && state !== 'overruled')
}

/** Reads the lock of a configuration. One that is followed from a repository is never absent: before the first it is an error. */
export async function lockRead(config: Config): Promise<LockRead> {
  const { lock, lockFrom } = config
  try {
    const read = lock === undefined ? undefined : await readLock(lock)
    return read === undefined && lockFrom !== undefined ? notYet(config) : read
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}

export function lockStateOf(
  read: LockRead,
  config: Config,
  source: Source,
  decision: Holding = UNDECIDED,
  { locked }: LockRecord = {},
): LockStanding {
  const by = followedBy(config, source)
  const entry = read instanceof SyncError ? undefined : read?.sources.get(source.id)
  const isLost = locked !== undefined && entry === undefined && !(read instanceof SyncError)
  if (isLost && followsLock(config, source, decision)) return { state: 'lost', ...(by && { by }), commit: locked }
  const told = { ...(by !== undefined && { by }), ...(entry !== undefined && { commit: entry.revision.commit }) }
  if (read === undefined) return { state: 'missing', ...told }
  if (by === undefined && config.lockUse === 'ignore') return { state: 'ignored', ...told }
  if (read instanceof SyncError) return { state: 'unreadable', ...told }
  if (entry === undefined) return { state: 'absent', ...told }
  if (!followsLock(config, source, decision)) return { state: 'overruled', ...told }
  if (mismatchesWith(entry, source).length === 0) return { state: 'followed', ...told }
  return { state: by === undefined && isOfSameRef(entry, source) ? 'other-rules' : 'differs', ...told }
}

/**
 * The lock's entry for the source; `undefined` if the lock does not apply. An entry that does not fit the configuration
 * is `lock-mismatch`, and so is a required entry that is missing.
 */
export function entryIn(
  read: LockRead,
  config: Config,
  source: Source,
  decision: Holding,
  record?: LockRecord,
): LockEntry | undefined {
  const { state, by, commit } = lockStateOf(read, config, source, decision, record)
  if (by === undefined && state === 'differs') throw differing(read, config, source)
  if (by === undefined && state === 'lost' && commit !== undefined) throw lostLock(read, config, source, commit)
  return bindingIn(read, config, source, decision)
}

/**
 * Like `entryIn`, for what may be served: an entry for another url or ref is ignored here, unless the lock is required.
 */
export function bindingIn(read: LockRead, config: Config, source: Source, decision: Holding): LockEntry | undefined {
  const { state, by } = lockStateOf(read, config, source, decision)
  if (by === undefined && (!followsLock(config, source, decision) || read === undefined)) return undefined
  const lock = expectRead(read, config)
  const entry = lock.sources.get(source.id)
  if (entry !== undefined && state === 'followed') return entry
  if (entry !== undefined && state === 'other-rules') return { ...entry, byOtherRules: true }
  if (by === undefined) return undefined
  throw unfit(config, mismatchesWith(entry, source))
}

/** Served content stays: this lock was not made for it, so it does not revoke it. */
function differing(read: LockRead, config: Config, source: Source): SyncError {
  const entry = expectRead(read, config).sources.get(source.id)
  const { message } = unfit(config, mismatchesWith(entry, source))
  const mend = config.lockFrom === undefined ? `skillsyncd update ${source.id} moves the lock` : 'correct it there'
  return new SyncError('lock-mismatch', `${message}; ${mend}`)
}

/** Served content stays, and nothing newer comes: the loss of a lock is no decision. */
export function lostLock(read: LockRead, config: Config, { id }: Source, commit: string): SyncError {
  const what = read === undefined ? `it is gone, and "${id}" was` : `it has nothing of "${id}" any more, which was`
  const again = config.lockFrom === undefined ? `skillsyncd lock ${id} locks it again` : 'Put it back there'
  const fix = `${again}, as it is served; skillsyncd release ${id} lets it move`
  return new SyncError('lock-mismatch', `Cannot follow the ${lockNameOf(config)}: ${what} locked at ${commit}`, { fix })
}

/** The lock of a repository of which nothing was taken yet. */
function notYet(config: Config): SyncError {
  const message = `Cannot follow the ${lockNameOf(config)}: no commit of it was taken yet; skillsyncd status says why`
  return new SyncError('lock-mismatch', message)
}

/** The lock in messages: the file, or the file and its repository if the lock is followed from there. */
function lockNameOf({ lock, lockFrom }: Config): string {
  if (lockFrom === undefined) return `lock "${lock}"`
  return `lock "${lockFrom.path}" of ${lockFrom.repository.source.url}`
}

/**
 * For `--locked`: throws an error that lists each difference between lock and configuration, or that names a proof beside the
 * lock which is refused.
 */
export async function expectLock(config: Config): Promise<void> {
  if (!config.mode.locked) return
  const sources = config.sources.map(({ source }) => source)
  const read = await lockRead(config)
  // The process takes it when it runs; until then it serves nothing.
  if (config.lockFrom !== undefined && read instanceof SyncError) return
  const lock = expectRead(read, config)
  const mismatches = [...mismatchesOf(lock, sources), ...packMismatches(lock.packs, config.packs)]
  if (mismatches.length > 0) throw unfit(config, mismatches)
  for (const source of sources) {
    const entry = lock.sources.get(source.id)
    if (entry !== undefined) await expectProof(lockFileOf(config), source, entry.revision.commit)
  }
}

function expectRead(read: LockRead, config: Config): Lock {
  if (read instanceof SyncError) throw read
  const file = lockFileOf(config)
  if (read === undefined)
    throw new SyncError('lock-mismatch', `Cannot follow the lock "${file}": there is none; skillsyncd lock makes one`)
  return read
}

function unfit(config: Config, mismatches: readonly Mismatch[]): NotLockedError {
  return new NotLockedError(`Cannot follow the ${lockNameOf(config)}: ${mismatches.map(mismatchText).join('; ')}`)
}

export function mismatchText({ source, message }: Mismatch): string {
  return `"${source}" ${message}`
}

/** The lock file of a configuration, which may be the copy of another one. Sources from the command line have none. */
export function lockFileOf({ lock }: Config): string {
  if (lock !== undefined) return lock
  throw new SyncError(
    'lock-mismatch',
    'Cannot use a lock: it belongs to a configuration file, and there is none; name one with --config',
  )
}
