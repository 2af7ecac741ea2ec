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

/** Whether only what the lock names is served of a source. */
export function followsLock({ mode }: Config, source: Source): boolean {
  return mode.locked || source.update === 'locked'
}

/**
 * What the lock says of a source that follows it; undefined for one that does not. Read anew each time: a lock comes and
 * goes with the team's repository. One that is missing, or says something else than the configuration, is `lock-mismatch`.
 */
export async function lockedEntry(config: Config, source: Source): Promise<LockEntry | undefined> {
  if (!followsLock(config, source)) return undefined
  const lock = await presentLock(config)
  const entry = lock.sources.get(source.id)
  const mismatches = mismatchesWith(entry, source)
  if (entry !== undefined && mismatches.length === 0) return entry
  throw unfit(config, mismatches)
}

/** For `--locked`: throws, with a line for each way in which lock and configuration differ. */
export async function expectLock(config: Config): Promise<void> {
  if (!config.mode.locked) return
  const sources = config.sources.map(({ source }) => source)
  const lock = await presentLock(config)
  const mismatches = [...mismatchesOf(lock, sources), ...packMismatches(lock.packs, config.packs)]
  if (mismatches.length === 0) return
  throw unfit(config, mismatches)
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

async function presentLock(config: Config): Promise<Lock> {
  const file = lockFileOf(config)
  const lock = await readLock(file)
  if (lock === undefined)
    throw new SyncError('lock-mismatch', `Cannot follow the lock "${file}": there is none; skillsyncd lock makes one`)
  return lock
}
