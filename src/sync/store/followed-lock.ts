import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { isObjectId, type ObjectId } from '../model/revision.ts'
import { problemIn, SyncError, type Problem } from '../model/sync-error.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'

// The lock that is followed from a repository. Its text is a file of its own, which is read as any lock, and the origin
// of the text is in a second one. Both are small files that the processes of a hub share.

const TEXT_NAME = 'lock-in-force.json'
const RECORD_NAME = 'lock-origin.json'

/** The name of the text among the files that the processes of a hub share. */
export const FOLLOWED_LOCK_TEXT = `logs/${TEXT_NAME}`

/** The name of its origin among them. */
export const FOLLOWED_LOCK_ORIGIN = `logs/${RECORD_NAME}`

/** The path of the lock that is followed, which need not exist yet. */
export function followedLockFile(state: string): string {
  return join(state, 'logs', TEXT_NAME)
}

/** The origin of the lock in force, and the problem of its repository. Times are ISO 8601, UTC. */
export interface FollowedLock {
  /** The commit whose lock is in force; absent before the first. */
  readonly taken?: TakenLock
  /** The problem of the repository since then; absent while all is well. */
  readonly problem?: LockProblem
}

/** The commit whose lock is in force. */
export interface TakenLock {
  /** Equal for commits of one file at one address. A commit of another one is not compared with it. */
  readonly origin: string
  readonly commit: ObjectId
  /** The full name of the ref that led to the commit. */
  readonly ref: string
  /** The time at which it was taken. */
  readonly at: string
}

/** The reason why a newer commit is not in force. */
export interface LockProblem extends Problem {
  readonly since: string
}

/** The record; empty if none was written yet. Throws `store-failed` for a damaged one: any lock would continue it. */
export async function readFollowedLock(state: string): Promise<FollowedLock> {
  const file = join(state, 'logs', RECORD_NAME)
  const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  const record = text === undefined ? {} : parseRecord(parseJson(text))
  if (record !== undefined) return record
  const message = `Cannot read "${file}": it is damaged; remove it, and the next check takes the lock of its repository as it is then`
  throw new SyncError('store-failed', message)
}

function parseRecord(value: unknown): FollowedLock | undefined {
  if (!isObject(value)) return undefined
  const [taken, problem] = [takenIn(value['taken']), lockProblemIn(value['problem'])]
  if (taken === undefined && value['taken'] !== undefined) return undefined
  return { ...(taken && { taken }), ...(problem && { problem }) }
}

/** Puts a lock into force, on the disk before it resolves. The text is written first: a kill in between repeats the rest. */
export async function writeFollowedLock(state: StateFolder, text: string, taken: TakenLock): Promise<void> {
  await state.writeShared('logs', TEXT_NAME, text)
  await writeLockOrigin(state, { taken })
}

/** Writes the record alone. */
export async function writeLockOrigin(state: StateFolder, record: FollowedLock): Promise<void> {
  await state.writeShared('logs', RECORD_NAME, canonicalJson(record))
}

function takenIn(value: unknown): TakenLock | undefined {
  if (!isObject(value)) return undefined
  const { origin, commit, ref, at } = value
  if (typeof origin !== 'string' || typeof ref !== 'string' || !isTime(at)) return undefined
  return typeof commit === 'string' && isObjectId(commit) ? { origin, commit, ref, at } : undefined
}

function lockProblemIn(value: unknown): LockProblem | undefined {
  const [problem, since] = [problemIn(value), isObject(value) ? value['since'] : undefined]
  return problem && isTime(since) ? { ...problem, since } : undefined
}
