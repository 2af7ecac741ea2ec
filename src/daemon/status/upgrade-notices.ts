import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Decisions } from '../../sync/decisions/decisions.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import type { Store } from '../../sync/store/store.ts'
import type { Config } from '../config/config.ts'
import { isBound, standingIn } from '../trust/lock-rules.ts'
import type { LockRead } from '../trust/lock-rules.ts'
import { isFollowed, standingText } from './lock-text.ts'

/** What this version does otherwise than the one that wrote the state folder before, where this installation meets it. */
export interface Notice {
  /** Which change of behaviour it is about. */
  readonly change: string
  readonly message: string
}

/** What the changes are judged by. */
export interface NoticeParts {
  readonly config: Config
  readonly store: Store
  readonly lock: LockRead
  readonly decisions: Decisions
}

/** Each change of behaviour that an operator is told of, in order: a state folder remembers how many of them it was served with. */
const CHANGES: readonly ((parts: NoticeParts) => Notice | undefined)[] = [lockIsFollowed]

/**
 * The notices that this state folder was not told yet. A new folder has none: nothing was otherwise for it. They stay until
 * `remember` is called.
 */
export async function noticesOf(parts: NoticeParts): Promise<readonly Notice[]> {
  if (await isNew(parts.store)) return []
  const known = await knownIn(parts.store)
  return CHANGES.slice(known).flatMap((noticeOf) => noticeOf(parts) ?? [])
}

/** From now on the folder was served with all changes. One that a later version wrote stays as it is. */
export async function remember(store: Store): Promise<void> {
  if ((await knownIn(store)) >= CHANGES.length) return
  await store.folder.expectRight()
  await writeWhole(fileOf(store), `${CHANGES.length}\n`)
}

/** Whether nothing was ever served of it. */
export async function isNew(store: Store): Promise<boolean> {
  return (await store.generations.numbers()).length === 0
}

/** How many of the changes the folder was served with; what cannot be read as a number is none. */
async function knownIn(store: Store): Promise<number> {
  const file = fileOf(store)
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  return text !== undefined && /^\d{1,6}\n$/.test(text) ? Number(text) : 0
}

function fileOf({ folder }: Store): string {
  return join(folder.path, 'changes')
}

/** Before, a lock was followed where `--locked` or `update: locked` said so. */
function lockIsFollowed({ config, lock, decisions }: NoticeParts): Notice | undefined {
  const sources = config.sources.flatMap(({ source }): string[] => {
    const standing = standingIn(lock, config, source, decisions.get(source.id))
    if (standing.by !== undefined || !isBound(standing)) return []
    if (isFollowed(standing) && standing.commit !== undefined)
      return [`"${source.id}" stays at ${standing.commit.slice(0, 12)}`]
    return [`"${source.id}": it ${standingText(standing)}`]
  })
  if (sources.length === 0) return undefined
  const some = sources.slice(0, MOST_NAMED)
  const more = sources.length > some.length ? `; and ${sources.length - some.length} more` : ''
  const message = `The lock "${config.lock}" is followed now, as it is with --locked: ${some.join('; ')}${more}; "lock: ignore" in the configuration keeps the old behaviour`
  return { change: 'lock-followed', message }
}

const MOST_NAMED = 10

/** That they cannot be found out or remembered keeps nothing from being served. */
export async function unlessUnreadable<Value>(value: Promise<Value>, otherwise: Value): Promise<Value> {
  return value.catch((error: unknown) => {
    if (error instanceof SyncError) return otherwise
    throw error
  })
}
