import { readFile } from 'node:fs/promises'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { isObjectId, type AskedRef, type ObjectId, type Revision } from '../model/revision.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Source } from '../model/source.ts'
import { problemIn, type Problem } from '../model/sync-error.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import { isDiskError } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'

/** The history of a source. A restart that finds none starts a new one. Times are ISO 8601, UTC. */
export interface SourceRecord {
  /**
   * The URL of the source at the last check; every field except `followed` and `locked` is about it. Records without it are older,
   * and count for the present URL.
   */
  readonly url?: string | undefined
  readonly lastAttempt: string | undefined
  readonly lastSuccess: string | undefined
  /** The current failure; `undefined` while all is well. */
  readonly problem: Problem | undefined
  /** The revision at the last answer of the source, taken or not. */
  readonly revision: Revision | undefined
  /** The address that the host redirected to at the last check, if it differs. */
  readonly movedTo?: string | undefined
  /** The revision that the ref last led to and that was followed. */
  readonly followed?: TrackedRef | undefined
  /** The commit that the lock had last, if a lock was followed: a lock that is lost does not let the source move. */
  readonly locked?: ObjectId | undefined
}

/**
 * Returns what the record says about the present URL of the source. If the record is about another URL, only `followed`
 * and `locked` count.
 */
export function recordAt(record: SourceRecord | undefined, { url }: Pick<Source, 'url'>): SourceRecord {
  if (record === undefined) return NEVER
  const isThere = record.url === undefined || record.url === url
  return isThere ? record : { ...NEVER, followed: record.followed, locked: record.locked }
}

const NEVER: SourceRecord = {
  lastAttempt: undefined,
  lastSuccess: undefined,
  problem: undefined,
  revision: undefined,
}

/** The records of the sources, one file `sources/<id>.json` each. */
export class SourceRecords {
  readonly #state: StateFolder

  constructor(state: StateFolder) {
    this.#state = state
  }

  /** `undefined` if there is no readable record. */
  async read(id: SourceId): Promise<SourceRecord | undefined> {
    const file = this.#fileOf(id)
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (isDiskError(error)) return undefined
      throw error
    })
    return text === undefined ? undefined : parseRecord(text)
  }

  async write(id: SourceId, record: SourceRecord): Promise<void> {
    await this.#state.writeShared('sources', fileNameOf(id), canonicalJson(record))
  }

  #fileOf(id: SourceId): string {
    return this.#state.at('sources', fileNameOf(id))
  }
}

function fileNameOf(id: SourceId): string {
  return `${id}.json`
}

/** The name of the record among the small files that the processes of a hub share. */
export function recordNameOf(id: SourceId): string {
  return `sources/${fileNameOf(id)}`
}

/** A damaged history counts as none, but never costs the commit of the lock. */
function parseRecord(text: string): SourceRecord | undefined {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const { locked } = value
  const history = historyIn(value)
  return isText(locked) && isObjectId(locked) ? { ...(history ?? NEVER), locked } : history
}

function historyIn(value: Readonly<Record<string, unknown>>): SourceRecord | undefined {
  const { url, movedTo, lastAttempt, lastSuccess, revision, followed } = value
  if (!isAbsentOr(isText)(url) || !isAbsentOr(isText)(movedTo)) return undefined
  if (!isAbsentOr(isTime)(lastAttempt) || !isAbsentOr(isTime)(lastSuccess)) return undefined
  const problem = problemIn(value['problem'])
  if ((value['problem'] !== undefined && problem === undefined) || !isAbsentOr(isRevision)(revision)) return undefined
  const at = { url, ...(movedTo !== undefined && { movedTo }) }
  return { ...at, lastAttempt, lastSuccess, problem, revision, ...(isFollowed(followed) && { followed }) }
}

function isAbsentOr<Kind>(is: (value: unknown) => value is Kind): (value: unknown) => value is Kind | undefined {
  return (value) => value === undefined || is(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isFollowed(value: unknown): value is TrackedRef {
  if (!isObject(value)) return false
  return typeof value['url'] === 'string' && typeof value['skills'] === 'number' && isRevision(value['revision'])
}

function isRevision(value: unknown): value is Revision {
  if (!isObject(value)) return false
  const { asked, ref, commit, tag } = value
  if (!isAsked(asked)) return false
  if (typeof ref !== 'string' || typeof commit !== 'string' || !isObjectId(commit)) return false
  return tag === undefined || (typeof tag === 'string' && isObjectId(tag))
}

function isAsked(value: unknown): value is AskedRef {
  if (value === undefined || typeof value === 'string') return true
  if (!isObject(value)) return false
  const { range, prefix, prereleases } = value
  return typeof range === 'string' && typeof prefix === 'string' && typeof prereleases === 'boolean'
}
