import { readFile } from 'node:fs/promises'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { isTexts, parseJson } from '../../base/json-value.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import { isEdge } from '../log/log-edge.ts'
import type { LogEdge } from '../log/log-edge.ts'
import { HASH_BYTES } from '../log/merkle-tree.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './files/atomic.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'
import type { Digest } from './objects/object-store.ts'
import { isDigest } from './skills/stored-path.ts'

/** A log that a source follows, as far as it was seen. Whatever is served later must continue it. */
export interface FollowedRecord {
  /** The name of the log. */
  readonly origin: string
  readonly edge: LogEdge
  /** The newest entry: its time, and the object that it names. */
  readonly entry: { readonly at: string; readonly head: Digest }
  /** The address at which it was seen, and what its server compares a later request with. */
  readonly url: string
  readonly etag: string | undefined
  /** The public keys that have signed it, as texts. */
  readonly signedBy: readonly string[]
  /** The head that was last taken into the store, whole. */
  readonly taken: Digest | undefined
}

/**
 * The logs that the sources follow, one file for each. They are apart from the database, which can be lost and filled
 * again: a log that was rolled back or forked meanwhile is still refused.
 */
export class FollowedLogs {
  readonly #state: StateFolder
  readonly #queue = new SerialQueue()

  constructor(state: StateFolder) {
    this.#state = state
  }

  /**
   * `undefined` if the source has followed no log. Throws `store-failed` if the record is damaged: a log must not be
   * taken for a new one because of that.
   */
  async read(id: SourceId): Promise<FollowedRecord | undefined> {
    const file = this.#fileOf(id)
    const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
    if (text === undefined) return undefined
    const record = parseRecord(parseJson(text))
    if (record !== undefined) return record
    const message = `Cannot read "${file}": it is damaged; remove it, and the next pull trusts the log of the channel as it is then`
    throw new SyncError('store-failed', message)
  }

  /** Writes the record, unless more of the same log was seen by another pull meanwhile. */
  async write(id: SourceId, record: FollowedRecord): Promise<void> {
    await this.#queue.next(async () => {
      const before = await this.read(id)
      if (before?.origin === record.origin && before.edge.size > record.edge.size) return
      const { edge, ...rest } = record
      const hashes = edge.hashes.map((hash) => Buffer.from(hash).toString('hex'))
      await this.#state.expectRight()
      await writeWhole(this.#fileOf(id), canonicalJson({ ...rest, size: edge.size, hashes }))
    })
  }

  #fileOf(id: SourceId): string {
    return this.#state.at('logs', `${id}.followed.json`)
  }
}

function parseRecord(value: unknown): FollowedRecord | undefined {
  if (!isObject(value)) return undefined
  const { origin, size, hashes, entry, url, etag, signedBy = [], taken } = value
  if (typeof origin !== 'string' || typeof url !== 'string' || typeof size !== 'number') return undefined
  if (!isTexts(hashes) || !hashes.every(isDigest)) return undefined
  const edge = { size, hashes: hashes.map((hash) => Buffer.from(hash, 'hex').subarray(0, HASH_BYTES)) }
  if (!isEdge(edge) || !isEntry(entry)) return undefined
  if ((etag !== undefined && typeof etag !== 'string') || !isTexts(signedBy)) return undefined
  if (taken !== undefined && !(typeof taken === 'string' && isDigest(taken))) return undefined
  return { origin, edge, entry: { at: entry.at, head: entry.head }, url, etag, signedBy, taken }
}

function isEntry(value: unknown): value is FollowedRecord['entry'] {
  if (!isObject(value)) return false
  const { at, head } = value
  return isTime(at) && typeof head === 'string' && isDigest(head)
}
