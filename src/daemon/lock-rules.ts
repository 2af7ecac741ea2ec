import { mismatchesOf, mismatchesWith } from '../sync/model/lock.ts'
import type { Lock, LockEntry, Mismatch } from '../sync/model/lock.ts'
import { packMismatches } from '../sync/model/pack.ts'
import type { Source } from '../sync/model/source.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { readLock } from '../sync/store/lock-file.ts'
import type { Config } from './config.ts'

/**
 * The lock does not have what it would have to have. That there is none to read is the plain `SyncError`: it may be in the middle
 * of a merge, and what is served was in it when it was last read.
 */
export class NotLocked extends SyncError {
  constructor(message: string) {
    super('lock-mismatch', message)
  }
}

/** The lock as it was read: undefined where there is no file, the error where it cannot be read. */
export type LockRead = Lock | SyncError | undefined

/** What has a source follow the lock; undefined where nothing does. */
export type FollowedBy = '--locked' | 'update: locked'

/** How a source stands to the lock, as plain data. */
export interface LockStanding {
  /**
   * `followed`: what the lock has is served and nothing else. `differs`: it has another configuration of the source. `absent`: it
   * has nothing of the source. `missing`: there is no lock. `unreadable`: nobody knows what it has. `ignored`: it is not followed.
   */
  readonly state: 'followed' | 'differs' | 'absent' | 'missing' | 'unreadable' | 'ignored'
  /** Why it has to be followed, where it has to. */
  readonly by?: FollowedBy
  /** The locked commit, followed or not. */
  readonly commit?: string
}

export function followedBy({ mode }: Config, source: Source): FollowedBy | undefined {
  if (mode.locked) return '--locked'
  return source.update === 'locked' ? 'update: locked' : undefined
}

/** Whether only what the lock names is served of a source. */
export function followsLock(config: Config, source: Source): boolean {
  return followedBy(config, source) !== undefined
}

/** Reads the lock of a configuration. */
export async function lockRead({ lock }: Config): Promise<LockRead> {
  try {
    return lock === undefined ? undefined : await readLock(lock)
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}

export function standingIn(read: LockRead, config: Config, source: Source): LockStanding {
  const by = followedBy(config, source)
  const told = by === undefined ? {} : { by }
  if (read instanceof SyncError) return { state: by === undefined ? 'ignored' : 'unreadable', ...told }
  const entry = read?.sources.get(source.id)
  const commit = entry === undefined ? {} : { commit: entry.revision.commit }
  if (by === undefined) return { state: read === undefined ? 'missing' : 'ignored', ...commit }
  if (read === undefined) return { state: 'missing', ...told }
  if (entry === undefined) return { state: 'absent', ...told }
  return { state: mismatchesWith(entry, source).length === 0 ? 'followed' : 'differs', ...told, ...commit }
}

/**
 * What the lock says of a source that follows it; undefined for one that does not. Read anew each time: a lock comes and
 * goes with the team's repository. One that is missing, or says something else than the configuration, is `lock-mismatch`.
 */
export async function lockedEntry(config: Config, source: Source): Promise<LockEntry | undefined> {
  return followsLock(config, source) ? entryIn(await lockRead(config), config, source) : undefined
}

/** The same, of a lock that was read. */
export function entryIn(read: LockRead, config: Config, source: Source): LockEntry | undefined {
  if (!followsLock(config, source)) return undefined
  const lock = expected(read, config)
  const entry = lock.sources.get(source.id)
  const mismatches = mismatchesWith(entry, source)
  if (entry !== undefined && mismatches.length === 0) return entry
  throw unfit(config, mismatches)
}

/** For `--locked`: throws, with a line for each way in which lock and configuration differ. */
export async function expectLock(config: Config): Promise<void> {
  if (!config.mode.locked) return
  const sources = config.sources.map(({ source }) => source)
  const lock = expected(await lockRead(config), config)
  const mismatches = [...mismatchesOf(lock, sources), ...packMismatches(lock.packs, config.packs)]
  if (mismatches.length === 0) return
  throw unfit(config, mismatches)
}

function expected(read: LockRead, config: Config): Lock {
  const file = lockFileOf(config)
  if (read instanceof SyncError) throw read
  if (read === undefined)
    throw new SyncError('lock-mismatch', `Cannot follow the lock "${file}": there is none; skillsyncd lock makes one`)
  return read
}

function unfit({ lock }: Config, mismatches: readonly Mismatch[]): NotLocked {
  return new NotLocked(`Cannot follow the lock "${lock}": ${mismatches.map(sentence).join('; ')}`)
}

export function sentence({ source, message }: Mismatch): string {
  return `"${source}" ${message}`
}

/** Where a configuration has its lock. Sources of a command line have none. */
export function lockFileOf({ lock }: Config): string {
  if (lock !== undefined) return lock
  throw new SyncError(
    'lock-mismatch',
    'Cannot use a lock: it belongs to a configuration file, and there is none; name one with --config',
  )
}
