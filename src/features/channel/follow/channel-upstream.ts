import { inParallel } from '../../../base/async/parallel.ts'
import type { RecallRule } from '../../../sync/model/decisions/rules.ts'
import { CHANNEL_REF, isObjectId } from '../../../sync/model/revision.ts'
import type { ObjectId, Revision } from '../../../sync/model/revision.ts'
import type { KnownListSize } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { ChannelSource } from '../../../sync/model/source.ts'
import { ASK_HUB, SyncError } from '../../../sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../sync/model/sync-error.ts'
import { parseEntry } from '../../../sync/store/channel-entry.ts'
import type { DecisionStore } from '../../../sync/store/decision-store.ts'
import { followerOf } from '../../../sync/store/followed-logs.ts'
import type { ChannelLook, FollowedLogs, FollowedRecord, NewEntries } from '../../../sync/store/followed-logs.ts'
import { sha256Of } from '../../../sync/store/objects/object-rows.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { openCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { followLog, LogRefusedError } from '../../../sync/transparency-log/follow-log.ts'
import type { LogReader } from '../../../sync/transparency-log/follow-log.ts'
import { EMPTY_EDGE, rootAt } from '../../../sync/transparency-log/log-edge.ts'
import { HASH_BYTES, isSameHash } from '../../../sync/transparency-log/merkle-tree.ts'
import type { TreeHead } from '../../../sync/transparency-log/merkle-tree.ts'
import { auditLog, proveEntry } from '../../../sync/transparency-log/prove-entry.ts'
import { NoteRefusedError, parseVerifier, verifierText } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'
import { bundlePrefix, entriesPath, tilePath, TILE_WIDTH } from '../../../sync/transparency-log/tiles.ts'
import { encodeProof, parseProof } from '../../../sync/transparency-log/tlog-proof.ts'
import type { LogProof } from '../../../sync/transparency-log/tlog-proof.ts'
import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'
import type { RequestedListing } from '../../../sync/upstream/shared-listings.ts'
import type {
  AskedAudit,
  FetchLimits,
  LogAudit,
  PublishedRevision,
  PublishedUpstream,
  Relation,
} from '../../../sync/upstream/upstream.ts'
import { followerHeader, reportText } from '../content/follower-report.ts'
import { recallsAt, recallsOf, sourcesIn, walkChannel, walkSources } from '../content/walk-channel.ts'
import type { ReadObjects } from '../content/walk-channel.ts'
import type { RecallCounts } from '../recall/follower-report.ts'
import { ChannelObjects, LackingObject } from './channel-objects.ts'
import type { ChannelPlace } from './channel-place.ts'
import { FolderPlace } from './folder-place.ts'
import { HttpPlace } from './http-place.ts'
import { findingOf, LOG_CODES, MOST_AUDITED, LogAuditor } from './log-auditor.ts'
import { selectedIn } from './selected-skills.ts'

/** The context of the upstream of a channel. */
export interface ChannelReach {
  readonly limits: FetchLimits
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  readonly onReceived?: (bytes: number) => void
  /** The store that the objects are fetched into, and the logs that were followed before. */
  readonly followed: FollowedParts
  /** The look at the log that the sources of one channel share; `undefined` to follow it alone. */
  readonly look?: RequestedListing<ChannelLook>
}

/** The parts of a store that a followed log needs. */
export interface FollowedParts {
  readonly objects: ObjectStore
  readonly logs: FollowedLogs
  readonly decisions: Pick<DecisionStore, 'obeyed' | 'obey'>
  readonly now: () => Date
  /** Called when recalls of the log are on the disk. `fresh`: those that are in force since. */
  readonly onRecalled?: (log: string, fresh: readonly RecallRule[]) => Promise<void>
  /** Returns the reports of the followers of this machine about recalls. */
  readonly below?: () => readonly RecallCounts[]
}

const NOTHING_NEW: NewEntries = { from: 0, size: 0 }

/** Stands for an object that the hub does not have, of a source or of recalls: the SHA-256 of no bytes. */
const NOTHING: Digest = sha256Of(new Uint8Array())

/** A channel as a source: the newest entry of its log is its present revision. */
export class ChannelUpstream implements PublishedUpstream {
  readonly kind = 'published'
  readonly #source: ChannelSource
  readonly #limits: FetchLimits
  readonly #keys: readonly NoteVerifier[]
  readonly #witnesses: readonly NoteVerifier[]
  readonly #place: ChannelPlace
  readonly #followed: FollowedParts
  readonly #look: ChannelReach['look']
  /** The entries that the last `resolve` found to be new. */
  #news = NOTHING_NEW
  /** The objects that came packed with new entries are requested once. */
  #fetched: { readonly news: NewEntries; readonly objects: ChannelObjects } | undefined

  constructor(source: ChannelSource, reach: ChannelReach) {
    this.#source = source
    this.#limits = reach.limits
    this.#keys = source.keys.flatMap((key) => parseVerifier(key) ?? [])
    this.#witnesses = source.witnesses.flatMap((key) => parseVerifier(key, 'cosignature') ?? [])
    this.#place = source.place.kind === 'folder' ? new FolderPlace(source.place.path) : new HttpPlace(source.url, reach)
    this.#followed = reach.followed
    this.#look = reach.look
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    const { record } = await this.#shared(signal)
    const object = this.#objectIn(record)
    // A new object is taken, however old its entry is: the one that is served is older still.
    if (record.taken.get(this.#source.id) === object) this.#expectFresh(record.entry.at)
    if (!isObjectId(object)) throw new TypeError('A SHA-256 has 64 hex digits')
    return { asked: undefined, ref: CHANNEL_REF, commit: object }
  }

  async take({ commit }: Revision, known: KnownListSize, signal: AbortSignal): Promise<PublishedRevision> {
    const { id, isNamesake } = this.#source
    const { objects, read } = await this.#reading(this.#news, signal)
    const limits = { skills: this.#limits.files }
    const walked = isNamesake
      ? await walkSources(commit === NOTHING ? [] : [commit], read, limits, known)
      : await walkChannel(commit, read, limits, known)
    if (isNamesake && walked.some(({ source }) => source !== id))
      throw this.#refusal('content-refused', `${commit} is not the source "${id}" of the hub`)
    const sources = selectedIn(walked, this.#source, this.#limits)
    const parts = sources.flatMap((one) => one.parts)
    const files = parts.flatMap(({ skills }) => skills?.flatMap((skill) => skill.files) ?? [])
    await inParallel(parts, PARTS_AT_ONCE, async (part) => objects.fetchFiles(part, signal), signal)
    await objects.fetch(
      files.map((file) => ({ digest: file.sha256, size: file.size, mostBytes: file.size })),
      signal,
    )
    await this.#followed.logs.took(followerOf(this.#source), id, commit)
    const record = await this.#followed.logs.read(followerOf(this.#source))
    const isNewest = record !== undefined && this.#objectIn(record) === commit
    const entry = isNewest ? { index: record.edge.size - 1, at: record.entry.at } : undefined
    return { log: this.#origin, ...(entry && { entry }), sources }
  }

  /**
   * The object of the newest entry that this source takes. A source that the hub has no more stays as it is until the
   * configuration says that it is gone: then it is one without skills.
   */
  #objectIn({ entry, sources, taken }: FollowedRecord): Digest {
    const { id, isNamesake, isGone } = this.#source
    if (!isNamesake) return entry.head
    return sources?.get(id) ?? (isGone === true ? undefined : taken.get(id)) ?? NOTHING
  }

  async #reading(
    news: NewEntries,
    signal: AbortSignal,
  ): Promise<{ readonly objects: ChannelObjects; readonly read: ReadObjects }> {
    if (this.#fetched?.news !== news) {
      const objects = new ChannelObjects(this.#place, this.#followed.objects)
      this.#fetched = { news, objects }
      await objects.fetchChanges(news.from, news.size, signal)
    }
    const { objects } = this.#fetched
    return { objects, read: (digests) => objects.read(digests, MOST_OBJECT_BYTES, signal) }
  }

  /** The newest entry comes after all others. Of two earlier ones the order is not known here. */
  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    const record = await this.#followed.logs.read(followerOf(this.#source))
    return from === to || (record !== undefined && to === this.#objectIn(record)) ? 'descends' : 'unknown'
  }

  /** `#followAndObey`, together with other sources of the channel that were requested before it began. */
  async #shared(signal: AbortSignal): Promise<ChannelLook> {
    const [look] = (await this.#look?.list([], async (_, until) => [await this.#followAndObey(until)], signal)) ?? [
      await this.#followAndObey(signal),
    ]
    if (look === undefined) throw new TypeError('A look at a channel has one result')
    this.#news = look.news
    return look
  }

  /** Follows the log once more if an entry was replaced while it was read: a recall must not wait for the next pull. */
  async #followAndObey(signal: AbortSignal): Promise<ChannelLook> {
    try {
      return await this.#followOnce(signal)
    } catch (error) {
      if (!(error instanceof LackingObject)) throw error
      return this.#followOnce(signal)
    }
  }

  async #followOnce(signal: AbortSignal): Promise<ChannelLook> {
    const look = await this.#follow(signal)
    const isNew = await this.#obey(look, signal)
    const below = this.#followed.below?.() ?? []
    const reported = reportedOf(this.#followed.logs)
    const to = `${followerOf(this.#source)} ${this.#origin}`
    const text = JSON.stringify(below)
    if (!isNew && text === (reported.get(to) ?? '[]')) return look
    // What did not arrive is sent again at the next look.
    if (await this.#report(below, signal)) reported.set(to, text)
    return look
  }

  /** Reports to the hub that this machine obeys by now, and what its own followers do. False if that did not arrive. */
  async #report(below: readonly RecallCounts[], signal: AbortSignal): Promise<boolean> {
    const record = await this.#followed.logs.read(followerOf(this.#source))
    if (record === undefined || record.follower === '') return false
    const { follower, edge } = record
    return this.#place.report(reportText({ follower, size: edge.size, below }), signal)
  }

  /** The follower as far as it obeys; `undefined` if the recalls of the known entry are not obeyed yet. */
  #headerOf({ follower, recalls, edge }: FollowedRecord): string | undefined {
    const isObeyed =
      recalls === NOTHING ||
      (recalls !== undefined && this.#followed.decisions.obeyed(followerOf(this.#source), this.#origin) === recalls)
    return isObeyed && follower !== '' ? followerHeader({ follower, size: edge.size }) : undefined
  }

  /** Returns the newest entry, once the log is known to continue what was seen of it before. */
  async #follow(signal: AbortSignal): Promise<ChannelLook> {
    const { url, isNamesake = false } = this.#source
    const origin = this.#origin
    const seen = await this.#followed.logs.read(followerOf(this.#source))
    const known = seen?.origin === origin ? seen : undefined
    // Otherwise it is requested again: the present keys must have signed it, and enough of the present witnesses.
    const isKept = known?.url === url && known.proof !== undefined && (known.sources !== undefined) === isNamesake
    const etag = isKept && this.#isTrusted(known) ? known.etag : undefined
    const served = await this.#place.checkpoint({ etag, follower: known && this.#headerOf(known) }, signal)
    if (served.kind === 'unchanged')
      return { record: this.#unchanged(etag === undefined ? undefined : known), news: NOTHING_NEW }
    const checkpoint = this.#opened(served.note)
    const by = { signedBy: checkpoint.signers.map(verifierText), cosignedBy: checkpoint.cosigners.map(verifierText) }
    const { proof, ...continued } = await this.#continued(known, checkpoint, signal)
    const news =
      known?.edge.size === checkpoint.size ? NOTHING_NEW : { from: known?.edge.size ?? 0, size: checkpoint.size }
    const sources = isNamesake ? await this.#sourcesIn(continued.entry.head, news, signal) : undefined
    const next = {
      ...continued,
      proof: encodeProof({ ...proof, checkpoint: served.note }),
      origin,
      url,
      etag: served.etag,
      ...by,
      ...(sources && { sources }),
    }
    await this.#followed.logs.write(followerOf(this.#source), next)
    return {
      record: { ...next, taken: known?.taken ?? new Map<SourceId, Digest>(), follower: known?.follower ?? '' },
      news,
    }
  }

  async #sourcesIn(head: Digest, news: NewEntries, signal: AbortSignal): Promise<ReadonlyMap<SourceId, Digest>> {
    const { read } = await this.#reading(news, signal)
    return sourcesIn(head, read, { skills: this.#limits.files })
  }

  /**
   * Obeys the recalls of the newest entry, whatever becomes of its content: a source that is locked or held does
   * too. Nothing is read if they are obeyed already. Returns true if they are news.
   */
  async #obey({ record, news }: ChannelLook, signal: AbortSignal): Promise<boolean> {
    const { decisions, onRecalled, now } = this.#followed
    const [log, follower] = [this.#origin, followerOf(this.#source)]
    const list = record.recalls ?? (await this.#recallsIn(record, news, signal))
    if (list === NOTHING || decisions.obeyed(follower, log) === list) return false
    const { read } = await this.#reading(news, signal)
    const recalls = await recallsAt(list, read)
    const below = this.#source.isNamesake === true ? undefined : this.#source.id
    const fresh = await decisions.obey(follower, { log, below, list, recalls, at: now().toISOString() })
    await onRecalled?.(log, fresh)
    return true
  }

  /** Finds them in the head of the newest entry, and remembers where they are. */
  async #recallsIn(record: FollowedRecord, news: NewEntries, signal: AbortSignal): Promise<Digest> {
    const { read } = await this.#reading(news, signal)
    const recalls = (await recallsOf(record.entry.head, read)) ?? NOTHING
    await this.#followed.logs.write(followerOf(this.#source), { ...record, recalls })
    return recalls
  }

  #isTrusted({ signedBy, cosignedBy }: FollowedRecord): boolean {
    const { keys, witnesses, quorum } = this.#source
    const isSigned = signedBy.some((key) => keys.includes(key))
    return isSigned && cosignedBy.filter((key) => witnesses.includes(key)).length >= quorum
  }

  /** A server that answers so must have been asked with the mark of the checkpoint that is known. */
  #unchanged(known: FollowedRecord | undefined): FollowedRecord {
    if (known !== undefined) return known
    throw this.#refusal('source-unreachable', 'it answers that nothing is new, and was not asked that')
  }

  async #continued(
    known: FollowedRecord | undefined,
    checkpoint: OpenedCheckpoint,
    signal: AbortSignal,
  ): Promise<Pick<FollowedRecord, 'edge' | 'entry'> & { readonly proof: Omit<LogProof, 'checkpoint'> }> {
    const edge = known?.edge ?? EMPTY_EDGE
    const { size, root } = checkpoint
    if (size < edge.size)
      throw this.#refusal('log-rolled-back', `its log has ${size} entries, and had ${edge.size} before`)
    if (size === 0) throw this.#refusal('ref-not-found', 'nothing is published yet')
    if (known !== undefined && size === edge.size) {
      if (isSameHash(root, rootAt(edge))) {
        const { edge: same, entry } = known
        return {
          edge: same,
          entry,
          proof: known.proof ? parseProof(known.proof) : await this.#proofAt(size - 1, checkpoint, signal),
        }
      }
      throw this.#refusal('log-forked', `its log has other ${size} entries than before`)
    }
    const followed = await followLog(edge, checkpoint, this.#reader(signal)).catch((error: unknown) => {
      throw this.#logRefusal(error)
    })
    const entry = followed.newest.length > MOST_ENTRY_BYTES ? undefined : parseEntry(followed.newest)
    if (entry === undefined) throw this.#refusal('content-refused', `entry ${size - 1} of its log has the wrong form`)
    return { edge: followed.edge, entry, proof: { index: size - 1, hashes: followed.path, extra: followed.newest } }
  }

  /** The proof of an entry that was followed, by the tiles of the channel. */
  async #proofAt(
    index: number,
    checkpoint: TreeHead,
    signal: AbortSignal,
  ): Promise<Omit<LogProof, 'checkpoint'> & { readonly extra: Uint8Array }> {
    const { entry, hashes } = await proveEntry(index, checkpoint, this.#reader(signal)).catch((error: unknown) => {
      throw this.#logRefusal(error)
    })
    return { index, hashes, extra: entry }
  }

  #logRefusal(error: unknown): unknown {
    return error instanceof LogRefusedError
      ? this.#refusal(REFUSALS[error.kind], `of its log, ${error.message}`)
      : error
  }

  async prove(head: ObjectId, index: number | undefined, signal: AbortSignal): Promise<string> {
    const record = await this.#recordOfLog()
    if (record.proof === undefined)
      throw this.#refusal('source-unreachable', 'nothing of its log is stored', 'Run skillsyncd sync first')
    if (this.#objectIn(record) === head) return record.proof
    const { checkpoint } = parseProof(record.proof)
    if (index === undefined) throw this.#refusal('ref-not-found', `the entry of ${head} is not known`)
    const { size } = record.edge
    const proof = await this.#proofAt(index, { size, root: rootAt(record.edge) }, signal)
    const named = parseEntry(proof.extra)?.head
    if (named === undefined || (await this.#objectAt(named, signal)) !== head)
      throw this.#refusal('content-refused', `entry ${index} of its log is not of ${head}`)
    return encodeProof({ ...proof, checkpoint })
  }

  async #recordOfLog(): Promise<FollowedRecord> {
    const record = await this.#followed.logs.read(followerOf(this.#source))
    if (record?.origin === this.#origin) return record
    throw this.#refusal('source-unreachable', 'nothing of its log is stored', 'Run skillsyncd sync first')
  }

  /** The object of an entry with this head that this source takes. */
  async #objectAt(head: Digest, signal: AbortSignal): Promise<Digest | undefined> {
    if (this.#source.isNamesake !== true) return head
    return (await this.#sourcesIn(head, NOTHING_NEW, signal)).get(this.#source.id)
  }

  async audit(
    { served, other }: AskedAudit,
    onRead: (entries: number) => void,
    signal: AbortSignal,
  ): Promise<LogAudit> {
    const findings: LogAudit['findings'][number][] = []
    await this.#follow(signal).catch((error: unknown) => {
      // The stored checkpoint is compared with what is served all the same.
      if (!(error instanceof SyncError) || !LOG_CODES.has(error.code)) throw error
      findings.push(findingOf(error))
    })
    const record = await this.#recordOfLog()
    const { size } = record.edge
    if (size > MOST_AUDITED) throw this.#refusal('limit-exceeded', `its log has ${size} entries, over ${MOST_AUDITED}`)
    // No entry names the object of one source; that of the newest is known.
    const isNewest = served !== undefined && this.#objectIn(record) === served
    const head = isNewest ? record.entry.head : this.#source.isNamesake ? undefined : served
    const seen = new LogAuditor(head, onRead)
    try {
      const compared = other === undefined ? undefined : this.#otherHead(other, size)
      const auditing = { reader: this.#reader(signal), onEntry: seen.add, other: compared, signal }
      const { differences, isForked } = await auditLog({ size, root: rootAt(record.edge) }, auditing)
      if (isForked)
        findings.push(
          findingOf(this.#refusal('log-forked', `the other machine has other ${compared?.size} entries of its log`)),
        )
      for (const why of differences) findings.push(findingOf(this.#refusal('content-refused', `of its log, ${why}`)))
    } catch (thrown) {
      const error = this.#logRefusal(thrown)
      // Of a log that is refused already, a part can be absent too.
      const isFinding = error instanceof SyncError && (LOG_CODES.has(error.code) || findings.length > 0)
      if (!isFinding) throw error
      findings.push(findingOf(error))
    }
    return { log: record.origin, entries: size, ...seen.result, findings }
  }

  /** The head that another machine has. Throws if this one has not seen so much of the log. */
  #otherHead(note: string, size: number): TreeHead {
    const other = this.#verified(note)
    if (other.size <= size) return other
    throw this.#refusal('log-rolled-back', `its log has ${size} entries, and the other machine has seen ${other.size}`)
  }

  #opened(note: string): OpenedCheckpoint {
    const opened = this.#verified(note)
    this.#expectCosigned(opened)
    return opened
  }

  #verified(note: string): OpenedCheckpoint {
    try {
      return openCheckpoint(note, this.#origin, [...this.#keys, ...this.#witnesses])
    } catch (error) {
      if (error instanceof NoteRefusedError) throw this.#refusal('log-unsigned', `of its checkpoint, ${error.message}`)
      throw error
    }
  }

  #expectCosigned({ cosigners }: OpenedCheckpoint): void {
    const { quorum, witnesses } = this.#source
    if (cosigners.length >= quorum) return
    const names = cosigners.length === 0 ? '' : ` (${cosigners.map(({ name }) => name).join(', ')})`
    throw this.#refusal(
      'log-unwitnessed',
      `of its checkpoint, ${cosigners.length} of the ${witnesses.length} witnesses${names} have cosigned it, and \`quorum\` is ${quorum}`,
    )
  }

  /** The name of the log, which all of its keys have. */
  get #origin(): string {
    return this.#keys[0]?.name ?? ''
  }

  #expectFresh(at: string): void {
    const { maxAgeMs } = this.#source
    if (maxAgeMs === undefined || this.#followed.now().getTime() - Date.parse(at) <= maxAgeMs) return
    throw this.#refusal('log-stale', `its newest entry is of ${at}, which is older than \`max_age\``)
  }

  #reader(signal: AbortSignal): LogReader {
    return {
      tile: async (tile) => {
        const mostBytes = TILE_WIDTH * HASH_BYTES
        const bytes = await this.#readEither(
          tilePath(tile),
          tilePath({ ...tile, width: TILE_WIDTH }),
          mostBytes,
          signal,
        )
        return bytes.subarray(0, tile.width * HASH_BYTES)
      },
      entries: async (index, width) => {
        const whole = entriesPath({ index, width: TILE_WIDTH })
        const bytes = await this.#readEither(entriesPath({ index, width }), whole, MOST_BUNDLE_BYTES, signal)
        return bundlePrefix(bytes, width)
      },
    }
  }

  /** A server may drop a partial tile once the whole one is there (c2sp.org/tlog-tiles). */
  async #readEither(path: string, whole: string, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const found =
      (await this.#place.read(path, mostBytes, signal)) ??
      (path === whole ? undefined : await this.#place.read(whole, mostBytes, signal))
    if (found !== undefined) return found
    throw this.#refusal('source-unreachable', `it has a checkpoint, and not "${path}" of its log`)
  }

  #refusal(code: SyncErrorCode, why: string, fix = OF_HUB.has(code) ? ASK_HUB : undefined): SyncError {
    return new SyncError(code, `Cannot follow "${this.#source.url}": ${why}`, { fix })
  }
}

/** The last report about the followers below, for each follower and log of a store. */
const REPORTED = new WeakMap<FollowedLogs, Map<string, string>>()

function reportedOf(logs: FollowedLogs): Map<string, string> {
  const reported = REPORTED.get(logs) ?? new Map<string, string>()
  REPORTED.set(logs, reported)
  return reported
}

/** The codes of what the hub alone can mend. */
const OF_HUB: ReadonlySet<SyncErrorCode> = new Set(['content-refused', 'limit-exceeded', 'source-unreachable'])

const REFUSALS: Readonly<Record<LogRefusedError['kind'], SyncErrorCode>> = {
  fork: 'log-forked',
  damaged: 'content-refused',
}

/** Packed files of two megabytes each that are in memory at once. */
const PARTS_AT_ONCE = 4

/** The most bytes of an object that is no file: a list of skills has a megabyte, and its last skill may be large. */
const MOST_OBJECT_BYTES = 2 ** 24

/** Forty times the entries of this version. A larger one would not fit into the record of the log. */
const MOST_ENTRY_BYTES = 2 ** 12

/** Room for entries of a kibibyte, ten times those of this version. */
const MOST_BUNDLE_BYTES = TILE_WIDTH * 2 ** 10
