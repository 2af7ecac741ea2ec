import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { Decisions } from '../../sync/model/decisions/decisions.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import type { Store } from '../../sync/store/store.ts'
import type { Config } from '../config/config.ts'
import { mustFollowLock, lockStateOf } from '../pull/trust/lock-rules.ts'
import type { LockRead } from '../pull/trust/lock-rules.ts'
import { isFollowed, lockStandingText } from './lock-text.ts'

/** A change of behavior since the version that last wrote the state folder, if it affects this installation. */
export type UpgradeDiagnostic = Diagnostic<UpgradeCode>

/** The changes of behavior. */
export type UpgradeCode = 'lock-followed'

/** The data for finding out which changes apply. */
export interface NoticeParts {
  readonly config: Config
  readonly store: Store
  readonly lock: LockRead
  readonly decisions: Decisions
}

/**
 * The changes of behavior that operators are notified of, in order. A state folder records how many of them it has been
 * served with.
 */
const CHANGES: readonly ((parts: NoticeParts) => UpgradeDiagnostic | undefined)[] = [lockIsFollowed]

/**
 * The diagnostics that are still due for this state folder. A new folder has none, because nothing changed for it. They
 * stay due until `remember` is called.
 */
export async function upgradeDiagnostics(parts: NoticeParts): Promise<readonly UpgradeDiagnostic[]> {
  if (await isNew(parts.store)) return []
  const known = await knownIn(parts.store)
  return CHANGES.slice(known).flatMap((noticeOf) => noticeOf(parts) ?? [])
}

/** Records that the folder has been served with all changes. A higher number from a later version stays. */
export async function remember(store: Store): Promise<void> {
  if ((await knownIn(store)) >= CHANGES.length) return
  await store.folder.expectRight()
  await writeWhole(fileOf(store), `${CHANGES.length}\n`)
}

/** True if nothing was ever served from it. */
export async function isNew(store: Store): Promise<boolean> {
  return (await store.generations.numbers()).length === 0
}

/** The number of changes with which the folder was served; 0 if the file holds no number. */
async function knownIn(store: Store): Promise<number> {
  const file = fileOf(store)
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  return text !== undefined && /^\d{1,6}\n$/.test(text) ? Number(text) : 0
}

function fileOf({ folder }: Store): string {
  return join(folder.path, 'changes')
}

/** Previous versions followed a lock only with `--locked` or `update: locked`. */
function lockIsFollowed({ config, lock, decisions }: NoticeParts): UpgradeDiagnostic | undefined {
  const sources = config.sources.flatMap(({ source }): string[] => {
    const standing = lockStateOf(lock, config, source, decisions.get(source.id))
    if (standing.by !== undefined || !mustFollowLock(standing)) return []
    if (isFollowed(standing) && standing.commit !== undefined)
      return [`"${source.id}" stays at ${standing.commit.slice(0, 12)}`]
    return [`"${source.id}": it ${lockStandingText(standing)}`]
  })
  if (sources.length === 0) return undefined
  const some = sources.slice(0, MOST_NAMED)
  const more = sources.length > some.length ? `; and ${sources.length - some.length} more` : ''
  const message = `The lock "${config.lock}" is followed now, as it is with --locked: ${some.join('; ')}${more}; "lock: ignore" in the configuration keeps the old behaviour`
  return { code: 'lock-followed', message }
}

const MOST_NAMED = 10

/** The value, or a fallback if it cannot be read or written. Serving continues without notices. */
export async function unlessUnreadable<Value>(value: Promise<Value>, otherwise: Value): Promise<Value> {
  return value.catch((error: unknown) => {
    if (error instanceof SyncError) return otherwise
    throw error
  })
}
