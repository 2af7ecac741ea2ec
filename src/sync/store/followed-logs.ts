import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { isTexts, parseJson } from '../../base/json-value.ts'
import { isSourceId } from '../model/source-id.ts'
import type { SourceId } from '../model/source-id.ts'
import type { ChannelSource } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { isEdge } from '../transparency-log/log-edge.ts'
import type { LogEdge } from '../transparency-log/log-edge.ts'
import { HASH_BYTES } from '../transparency-log/merkle-tree.ts'
import { parseProof, ProofRefusedError } from '../transparency-log/tlog-proof.ts'
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
  /** The public keys of the known witnesses that have cosigned it, as texts. */
  readonly cosignedBy: readonly string[]
  /** The proof of the newest entry, with its bytes, as text (c2sp.org/tlog-proof). */
  readonly proof: string | undefined
  /** For each source that follows the log: the object that was last taken into the store, whole. */
  readonly taken: ReadonlyMap<SourceId, Digest>
  /** The objects of the sources of the hub, in its order, in the newest entry; only if each is followed by itself. */
  readonly sources?: ReadonlyMap<SourceId, Digest>
  /** The object with the recalls of the newest entry, or the SHA-256 of no bytes; absent if that is not known. */
  readonly recalls?: Digest
  /** The random id by which its hub knows this follower of the log; 32 lower-case hex digits. */
  readonly follower: string
}

/** The log of a channel as it was followed now, and the entries that are new. */
export interface ChannelLook {
  readonly record: FollowedRecord
  readonly news: NewEntries
}

/** The entries of a log from an index until a size. */
export interface NewEntries {
  readonly from: number
  readonly size: number
}

/** The source that follows a log, or `all-sources` for the sources that follow it together. */
export type LogFollower = SourceId | 'all-sources'

/** The sources that take one source of the hub each follow its log together. */
export function followerOf({ id, isNamesake }: ChannelSource): LogFollower {
  return isNamesake ? 'all-sources' : id
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
  async read(id: LogFollower): Promise<FollowedRecord | undefined> {
    const file = this.#fileOf(id)
    const text = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
    if (text === undefined) return undefined
    const record = parseRecord(parseJson(text))
    if (record !== undefined) return record
    const message = `Cannot read "${file}": it is damaged; remove it, and the next pull trusts the log of the channel as it is then`
    throw new SyncError('store-failed', message)
  }

  /** Writes the record, unless more of the same log was seen by another pull meanwhile. What was taken of it stays. */
  async write(id: LogFollower, record: Omit<FollowedRecord, 'taken' | 'follower'>): Promise<void> {
    await this.#queue.next(async () => {
      const before = await this.read(id)
      const isSameLog = before?.origin === record.origin
      if (isSameLog && before.edge.size > record.edge.size) return
      const taken = isSameLog ? before.taken : new Map<SourceId, Digest>()
      await this.#write(id, { ...record, taken, follower: (isSameLog && before.follower) || newFollower() })
    })
  }

  /** Writes that a source has taken an object of the log into the store, whole. */
  async took(id: LogFollower, source: SourceId, object: Digest): Promise<void> {
    await this.#queue.next(async () => {
      const record = await this.read(id)
      if (record === undefined || record.taken.get(source) === object) return
      await this.#write(id, { ...record, taken: new Map([...record.taken, [source, object]]) })
    })
  }

  async #write(id: LogFollower, { edge, taken, sources, ...rest }: FollowedRecord): Promise<void> {
    const hashes = edge.hashes.map((hash) => Buffer.from(hash).toString('hex'))
    const maps = { taken: [...taken], ...(sources && { sources: [...sources] }) }
    await this.#state.writeShared('logs', nameOf(id), canonicalJson({ ...rest, ...maps, size: edge.size, hashes }))
  }

  #fileOf(id: LogFollower): string {
    return this.#state.at('logs', nameOf(id))
  }
}

function newFollower(): string {
  return randomBytes(16).toString('hex')
}

function nameOf(id: LogFollower): string {
  return id === 'all-sources' ? 'followed.json' : `${id}.followed.json`
}

function parseRecord(value: unknown): FollowedRecord | undefined {
  if (!isObject(value)) return undefined
  const {
    origin,
    size,
    hashes,
    entry,
    url,
    etag,
    signedBy = [],
    cosignedBy = [],
    proof,
    taken = [],
    sources,
    recalls,
    follower = '',
  } = value
  if (typeof origin !== 'string' || typeof url !== 'string' || typeof size !== 'number') return undefined
  if (!isTexts(hashes) || !hashes.every(isDigest)) return undefined
  const edge = { size, hashes: hashes.map((hash) => Buffer.from(hash, 'hex').subarray(0, HASH_BYTES)) }
  if (!isEdge(edge) || !isEntry(entry)) return undefined
  if ((etag !== undefined && typeof etag !== 'string') || !isTexts(signedBy) || !isTexts(cosignedBy)) return undefined
  // Without it the next pull requests the checkpoint again: the log must not be forgotten because of it.
  const proofText = typeof proof === 'string' && isProof(proof) ? proof : undefined
  const [takenBy, ofHub] = [parseDigests(taken), parseDigests(sources)]
  if (takenBy === undefined || (sources !== undefined && ofHub === undefined)) return undefined
  const by = { signedBy, cosignedBy }
  const seen = {
    origin,
    edge,
    entry: { at: entry.at, head: entry.head },
    url,
    etag,
    ...by,
    proof: proofText,
    taken: takenBy,
  }
  if (recalls !== undefined && (typeof recalls !== 'string' || !isDigest(recalls))) return undefined
  if (typeof follower !== 'string' || !/^[\da-f]{0,32}$/.test(follower)) return undefined
  return { ...seen, follower, ...(ofHub && { sources: ofHub }), ...(recalls !== undefined && { recalls }) }
}

/** Pairs, since the order of the sources is that of the hub. */
function parseDigests(value: unknown): ReadonlyMap<SourceId, Digest> | undefined {
  if (!Array.isArray(value)) return undefined
  const digests = new Map<SourceId, Digest>()
  for (const pair of value) {
    const [id, digest]: readonly unknown[] = Array.isArray(pair) ? pair : []
    if (typeof id !== 'string' || !isSourceId(id) || typeof digest !== 'string' || !isDigest(digest)) return undefined
    digests.set(id, digest)
  }
  return digests
}

function isEntry(value: unknown): value is FollowedRecord['entry'] {
  if (!isObject(value)) return false
  const { at, head } = value
  return isTime(at) && typeof head === 'string' && isDigest(head)
}

function isProof(text: string): boolean {
  try {
    parseProof(text)
    return true
  } catch (error) {
    if (error instanceof ProofRefusedError) return false
    throw error
  }
}
