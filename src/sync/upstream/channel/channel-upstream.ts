import { matcher } from '../../../base/globs.ts'
import { inParallel } from '../../../base/parallel.ts'
import { joinPath } from '../../../base/paths.ts'
import { printablePath } from '../../../base/text/printable.ts'
import { parseEntry } from '../../channel/channel-entry.ts'
import { walkChannel } from '../../channel/walk-channel.ts'
import { openCheckpoint } from '../../log/checkpoint.ts'
import type { OpenedCheckpoint } from '../../log/checkpoint.ts'
import { followLog, LogRefused } from '../../log/follow-log.ts'
import type { LogReader } from '../../log/follow-log.ts'
import { EMPTY_EDGE, rootAt } from '../../log/log-edge.ts'
import { HASH_BYTES, isSameHash } from '../../log/merkle-tree.ts'
import { NoteRefused, parseVerifier, verifierText } from '../../log/signed-note.ts'
import type { NoteVerifier } from '../../log/signed-note.ts'
import { bundlePrefix, entriesPath, tilePath, TILE_WIDTH } from '../../log/tiles.ts'
import { CHANNEL_REF, isObjectId } from '../../model/revision.ts'
import type { ObjectId, Revision } from '../../model/revision.ts'
import { withheldSkill } from '../../model/skill.ts'
import type { Skill } from '../../model/skill.ts'
import type { ChannelSkills, KnownListSize } from '../../model/snapshot.ts'
import type { ChannelSource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { SyncErrorCode } from '../../model/sync-error.ts'
import type { FollowedLogs, FollowedRecord } from '../../store/followed-logs.ts'
import type { ObjectStore } from '../../store/objects/object-store.ts'
import { pathProblem } from '../../store/skills/stored-path.ts'
import type { HostAccess } from '../http/host-access.ts'
import { namedLimit } from '../upstream.ts'
import type { FetchLimits, PublishedRevision, PublishedUpstream, Relation } from '../upstream.ts'
import { ChannelObjects } from './channel-objects.ts'
import type { ChannelPlace } from './channel-place.ts'
import { FolderPlace } from './folder-place.ts'
import { HttpPlace } from './http-place.ts'

/** The context of the upstream of a channel. */
export interface ChannelReach {
  readonly limits: FetchLimits
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  readonly onReceived?: (bytes: number) => void
  /** The store that the objects are fetched into, and the logs that were followed before. */
  readonly followed?: { readonly objects: ObjectStore; readonly logs: FollowedLogs; readonly now: () => Date }
}

/** A channel as a source: the newest entry of its log is its present revision. */
export class ChannelUpstream implements PublishedUpstream {
  readonly kind = 'published'
  readonly #source: ChannelSource
  readonly #limits: FetchLimits
  readonly #keys: readonly NoteVerifier[]
  readonly #place: ChannelPlace
  readonly #followed: NonNullable<ChannelReach['followed']>
  /** The entries that the last `resolve` found to be new. */
  #news: { readonly from: number; readonly size: number } | undefined

  constructor(source: ChannelSource, reach: ChannelReach) {
    if (reach.followed === undefined) throw new TypeError(`No store was given for "${source.id}"`)
    this.#source = source
    this.#limits = reach.limits
    this.#keys = source.keys.flatMap((key) => parseVerifier(key) ?? [])
    this.#place = source.place.kind === 'folder' ? new FolderPlace(source.place.path) : new HttpPlace(source.url, reach)
    this.#followed = reach.followed
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    const { entry, taken } = await this.#follow(signal)
    const { head, at } = entry
    // A new entry is taken, however old it is: the one that is served is older still.
    if (taken === head) this.#expectFresh(at)
    if (!isObjectId(head)) throw new TypeError('A SHA-256 has 64 hex digits')
    return { asked: undefined, ref: CHANNEL_REF, commit: head }
  }

  async take({ commit }: Revision, known: KnownListSize, signal: AbortSignal): Promise<PublishedRevision> {
    const objects = new ChannelObjects(this.#place, this.#followed.objects)
    const { from, size } = this.#news ?? { from: 0, size: 0 }
    await objects.fetchChanges(from, size, signal)
    const read = (digests: readonly string[]) => objects.read(digests, MOST_OBJECT_BYTES, signal)
    const sources = this.#selected(await walkChannel(commit, read, { skills: this.#limits.files }, known))
    const parts = sources.flatMap((one) => one.parts)
    const files = parts.flatMap(({ skills }) => skills?.flatMap((skill) => skill.files) ?? [])
    await inParallel(parts, PARTS_AT_ONCE, async (part) => objects.fetchFiles(part, signal), signal)
    await objects.fetch(
      files.map((file) => ({ digest: file.sha256, size: file.size, mostBytes: file.size })),
      signal,
    )
    const record = await this.#followed.logs.read(this.#source.id)
    if (record !== undefined && record.taken !== commit)
      await this.#followed.logs.write(this.#source.id, { ...record, taken: commit })
    const entry = record?.entry.head === commit ? { index: record.edge.size - 1, at: record.entry.at } : undefined
    return { log: this.#origin, ...(entry && { entry }), sources }
  }

  /** The sources with those of their skills that the source selects by their paths below it. */
  #selected(sources: readonly ChannelSkills[]): readonly ChannelSkills[] {
    const { include, exclude } = this.#source
    const [isIncluded, isExcluded] = [matcher(include), matcher(exclude)]
    const isSelected = (path: string): boolean => isIncluded(path) && !isExcluded(path)
    return sources.map((one) => ({
      ...one,
      parts: one.parts.map(({ digest, skills }) => ({
        digest,
        skills: skills?.flatMap((skill) =>
          isSelected(joinPath(one.source, skill.path)) ? [this.#withinLimits(skill)] : [],
        ),
      })),
    }))
  }

  /** Withholds a skill that is over a limit of this machine: the hub may have larger ones. */
  #withinLimits(skill: Skill): Skill {
    const bytes = skill.files.reduce((sum, { size }) => sum + size, 0)
    if (bytes > this.#limits.blobBytes) {
      const message = `Its files have ${bytes} bytes, over ${namedLimit('blobBytes', this.#limits)}`
      return withheldSkill(skill, { rule: 'limit-bytes', path: skill.path, message })
    }
    for (const { path } of skill.files) {
      const problem = pathProblem(path, this.#limits)
      if (problem === undefined) continue
      const message = `The path ${printablePath(path)} ${problem}`
      return withheldSkill(skill, { rule: 'path-refused', path: skill.path, message })
    }
    return skill
  }

  /** The newest entry comes after all others. Of two earlier ones the order is not known here. */
  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    const record = await this.#followed.logs.read(this.#source.id)
    return from === to || to === record?.entry.head ? 'descends' : 'unknown'
  }

  /** Returns the newest entry, once the log is known to continue what was seen of it before. */
  async #follow(signal: AbortSignal): Promise<Pick<FollowedRecord, 'entry' | 'taken'>> {
    const { id, url, keys } = this.#source
    const origin = this.#origin
    const record = await this.#followed.logs.read(id)
    const known = record?.origin === origin ? record : undefined
    // A checkpoint of another key is requested again: one of the present keys must have signed it.
    const isOfKeys = known?.signedBy.some((key) => keys.includes(key)) === true
    const etag = isOfKeys && known.url === url ? known.etag : undefined
    const served = await this.#place.checkpoint(etag, signal)
    if (served.kind === 'unchanged') return this.#unchanged(etag === undefined ? undefined : known)
    const checkpoint = this.#opened(served.note)
    const signedBy = checkpoint.signers.map(verifierText)
    const seen = { origin, url, etag: served.etag, signedBy, taken: known?.taken }
    const next = { ...(await this.#continued(known, checkpoint, signal)), ...seen }
    await this.#followed.logs.write(id, next)
    return next
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
  ): Promise<Pick<FollowedRecord, 'edge' | 'entry'>> {
    const edge = known?.edge ?? EMPTY_EDGE
    const { size, root } = checkpoint
    if (size < edge.size)
      throw this.#refusal('log-rolled-back', `its log has ${size} entries, and had ${edge.size} before`)
    if (size === 0) throw this.#refusal('ref-not-found', 'nothing is published yet')
    if (known !== undefined && size === edge.size) {
      if (isSameHash(root, rootAt(edge))) return known
      throw this.#refusal('log-forked', `its log has other ${size} entries than before`)
    }
    const followed = await followLog(edge, checkpoint, this.#reader(signal)).catch((error: unknown) => {
      if (error instanceof LogRefused) throw this.#refusal(REFUSALS[error.kind], `of its log, ${error.message}`)
      throw error
    })
    const entry = parseEntry(followed.newest)
    if (entry === undefined) throw this.#refusal('content-refused', `entry ${size - 1} of its log has the wrong form`)
    this.#news = { from: edge.size, size }
    return { edge: followed.edge, entry }
  }

  #opened(note: string): OpenedCheckpoint {
    try {
      return openCheckpoint(note, this.#origin, this.#keys)
    } catch (error) {
      if (error instanceof NoteRefused) throw this.#refusal('log-unsigned', `of its checkpoint, ${error.message}`)
      throw error
    }
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

  #refusal(code: SyncErrorCode, why: string): SyncError {
    return new SyncError(code, `Cannot follow "${this.#source.url}": ${why}`)
  }
}

const REFUSALS: Readonly<Record<LogRefused['kind'], SyncErrorCode>> = {
  fork: 'log-forked',
  damaged: 'content-refused',
}

/** Packed files of two megabytes each that are in memory at once. */
const PARTS_AT_ONCE = 4

/** The most bytes of an object that is no file: a list of skills has a megabyte, and its last skill may be large. */
const MOST_OBJECT_BYTES = 2 ** 24

/** Room for entries of a kibibyte, ten times those of this version. */
const MOST_BUNDLE_BYTES = TILE_WIDTH * 2 ** 10
